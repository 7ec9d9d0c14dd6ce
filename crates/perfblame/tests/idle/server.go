// A server with a goroutine for each connection and a ticker. It ends by itself after some milliseconds.
package main

import (
	"net"
	"os"
	"strconv"
	"time"
)

var sink uint32

//go:noinline
func parse() {
	for i := 0; i < 400000; i++ {
		sink = sink*1664525 + 1013904223
	}
}

//go:noinline
func encode(cost int) {
	for i := 0; i < cost; i++ {
		sink = sink*22695477 + 1
	}
}

func serve(client net.Conn, cost int) {
	byte := make([]byte, 1)
	for {
		if _, err := client.Read(byte); err != nil {
			return
		}
		parse()
		encode(cost)
		client.Write(byte)
	}
}

func main() {
	length, _ := strconv.Atoi(os.Args[2])
	cost, _ := strconv.Atoi(os.Args[3])
	time.AfterFunc(time.Duration(length)*time.Millisecond, func() { os.Exit(0) })
	go func() {
		for range time.Tick(20 * time.Millisecond) {
			sink++
		}
	}()
	listener, _ := net.Listen("tcp", "127.0.0.1:0")
	port := strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
	os.WriteFile("port.part", []byte(port), 0o644)
	os.Rename("port.part", os.Args[1])
	for {
		client, err := listener.Accept()
		if err == nil {
			go serve(client, cost)
		}
	}
}
