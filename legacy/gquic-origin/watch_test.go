package main

import (
	"net"
	"testing"
	"time"
)

// A socket that gives one packet and forgets what is written.
type fake struct {
	net.PacketConn
	packet []byte
}

var client = &net.UDPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 4000}

func (f fake) ReadFrom(into []byte) (int, net.Addr, error) {
	return copy(into, f.packet), client, nil
}

func (f fake) WriteTo(packet []byte, _ net.Addr) (int, error) { return len(packet), nil }

func hello() []byte {
	packet := make([]byte, 1300)
	packet[0] = versionFlag | 0x08
	return packet
}

// As it stands in a packet: header, hash, stream frame, then the message with seven tags.
func rejecting() []byte {
	packet := make([]byte, 200)
	copy(packet[40:], "REJ\x00\x07\x00\x00\x00STK\x00")
	return packet
}

func greeted(packets ...[]byte) (*Watch, bool) {
	watch := Watched(fake{packet: hello()})
	_, _, _ = watch.ReadFrom(make([]byte, 1500))
	for _, packet := range packets {
		_, _ = watch.WriteTo(packet, client)
	}
	_, resumed := watch.Accepted(client)
	return watch, resumed
}

func TestAClientThatWasNotRejectedHasResumed(t *testing.T) {
	if _, resumed := greeted(make([]byte, 200)); !resumed {
		t.Error("no rejection was sent")
	}
	if _, resumed := greeted(rejecting()); resumed {
		t.Error("a rejection was sent")
	}
}

func TestEncryptedBytesThatReadLikeATagAreNoRejection(t *testing.T) {
	packet := rejecting()
	packet[40+5] = 0x31 // the high byte of the number of tags
	if _, resumed := greeted(packet); !resumed {
		t.Error("taken for a rejection")
	}
}

func TestAHelloAfterTheEndBeginsAnew(t *testing.T) {
	watch, _ := greeted(rejecting())
	if failed := watch.Over(); len(failed) != 0 {
		t.Errorf("accepted, and yet failed: %v", failed)
	}
	before := time.Now()
	_, _, _ = watch.ReadFrom(make([]byte, 1500))
	if began, resumed := watch.Accepted(client); !resumed || began.Before(before) {
		t.Error("the old connection is remembered")
	}
}

func TestAHandshakeWithoutEndIsTold(t *testing.T) {
	watch := Watched(fake{packet: hello()})
	_, _, _ = watch.ReadFrom(make([]byte, 1500))
	if failed := watch.Over(); len(failed) != 1 {
		t.Errorf("%d failed", len(failed))
	}
	late := Watched(fake{packet: make([]byte, 40)})
	_, _, _ = late.ReadFrom(make([]byte, 1500))
	if failed := late.Over(); len(failed) != 0 {
		t.Error("a late packet is no handshake")
	}
}
