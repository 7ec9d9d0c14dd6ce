"""A server with a pool, a timer and a thread that waits for ever. It ends by itself after some milliseconds.
python3 server.py FILE-FOR-THE-PORT MILLISECONDS COST"""
import hashlib, os, queue, signal, socketserver, sys, threading, time

signal.setitimer(signal.ITIMER_REAL, int(sys.argv[2]) / 1000)
cost = int(sys.argv[3])
tasks = queue.Queue()


def worker():
    while True:
        done = tasks.get()
        hashlib.pbkdf2_hmac("sha256", b"password", b"salt", cost)
        done.set()


def timer():
    while True:
        time.sleep(0.05)


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        while byte := self.request.recv(1):
            done = threading.Event()
            tasks.put(done)
            done.wait()
            self.request.sendall(byte)


server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
for work in [worker] * 4 + [timer, threading.Event().wait]:
    threading.Thread(target=work, daemon=True).start()
with open("port.part", "w") as port:
    port.write(str(server.server_address[1]))
os.rename("port.part", sys.argv[1])
server.serve_forever()
