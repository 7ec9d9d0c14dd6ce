import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.zip.Deflater;

/** A server with a pool and a timer. It ends by itself after some milliseconds. */
public class Server {
    static volatile long sink;
    static final byte[] BLOCK = new byte[1 << 18];

    static {
        new java.util.Random(7).nextBytes(BLOCK);
    }


    /** In the C code of zlib, which has a name also where compiled Java has none. */
    static void encode(int cost) {
        byte[] out = new byte[1 << 16];
        for (int i = 0; i < cost; i++) {
            Deflater deflater = new Deflater(9);
            deflater.setInput(BLOCK);
            deflater.finish();
            while (!deflater.finished()) {
                sink += deflater.deflate(out);
            }
            deflater.end();
        }
    }

    static void serve(Socket client, int cost) {
        try (client) {
            for (int next = client.getInputStream().read(); next >= 0; next = client.getInputStream().read()) {
                encode(cost);
                client.getOutputStream().write(next);
            }
        } catch (IOException gone) {
            sink++;
        }
    }

    public static void main(String[] words) throws Exception {
        int cost = Integer.parseInt(words[2]);
        var timers = Executors.newScheduledThreadPool(2);
        timers.schedule(() -> Runtime.getRuntime().halt(0), Integer.parseInt(words[1]), TimeUnit.MILLISECONDS);
        timers.scheduleAtFixedRate(() -> sink++, 20, 20, TimeUnit.MILLISECONDS);
        var pool = Executors.newFixedThreadPool(4);
        try (var listener = new ServerSocket(0, 16, InetAddress.getLoopbackAddress())) {
            Files.writeString(Path.of("port.part"), Integer.toString(listener.getLocalPort()));
            Files.move(Path.of("port.part"), Path.of(words[0]));
            while (true) {
                Socket client = listener.accept();
                pool.execute(() -> serve(client, cost));
            }
        }
    }
}
