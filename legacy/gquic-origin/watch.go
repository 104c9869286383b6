package main

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// A Watch is a UDP socket that remembers of each client what the library does not tell: when its
// connection began, and whether its first hello was turned down.
//
// A gQUIC handshake is not encrypted until the client knows the server's configuration. A server
// that cannot go on from the client's hello answers REJ (QUIC Crypto, "Client handshake"); a client
// that gets none has resumed.
type Watch struct {
	net.PacketConn
	mutex   sync.Mutex
	clients map[string]*greeting
}

type greeting struct {
	began    time.Time
	sent     int
	rejected bool
	accepted bool // by the application
	over     bool
}

const (
	versionFlag    = 0x01 // public header: the client does not yet know that the server speaks it
	smallestHello  = 1024 // a hello is padded to more
	greetingLength = 4    // a rejection begins within so many of the server's packets
)

// rejection is how a REJ message with fewer than 256 tags begins (its tag, their number, padding).
var rejection = []byte("REJ\x00")

// Watched is `socket`, watched.
func Watched(socket net.PacketConn) *Watch {
	return &Watch{PacketConn: socket, clients: map[string]*greeting{}}
}

// ReadFrom takes note of hellos.
func (w *Watch) ReadFrom(packet []byte) (int, net.Addr, error) {
	n, from, err := w.PacketConn.ReadFrom(packet)
	if err == nil && n >= smallestHello && packet[0]&versionFlag != 0 {
		w.mutex.Lock()
		if client := w.clients[from.String()]; client == nil || client.over {
			w.clients[from.String()] = &greeting{began: time.Now()}
		}
		w.mutex.Unlock()
	}
	return n, from, err
}

// WriteTo takes note of rejections.
func (w *Watch) WriteTo(packet []byte, to net.Addr) (int, error) {
	w.mutex.Lock()
	if client := w.clients[to.String()]; client != nil && client.sent < greetingLength {
		client.sent++
		client.rejected = client.rejected || isRejection(packet)
	}
	w.mutex.Unlock()
	return w.PacketConn.WriteTo(packet, to)
}

func isRejection(packet []byte) bool {
	at := bytes.Index(packet, rejection)
	// Encrypted bytes may happen to read so: the number's high byte and the padding are zero too.
	return at >= 0 && at+8 <= len(packet) && bytes.Equal(packet[at+5:at+8], []byte{0, 0, 0})
}

// Accepted tells of a client whose connection the application has just got.
func (w *Watch) Accepted(client net.Addr) (began time.Time, resumed bool) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	greeting := w.clients[client.String()]
	if greeting == nil {
		return time.Now(), false
	}
	greeting.accepted = true
	return greeting.began, !greeting.rejected
}

// Over forgets every client, whose late packets then mean nothing, and returns those whose handshake
// never came to its end.
func (w *Watch) Over() (failed map[string]time.Time) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	failed = map[string]time.Time{}
	for client, greeting := range w.clients {
		if !greeting.accepted && !greeting.over {
			failed[client] = greeting.began
		}
		greeting.over = true
	}
	return failed
}
