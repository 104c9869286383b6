package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// An Origin is what its transports share: certificates, the recording, the log, the connections.
type Origin struct {
	Log    Log
	chains map[string]*tls.Certificate
	replay atomic.Value // *Replay

	watches []*Watch

	mutex sync.Mutex
	open  map[*link]struct{}
	work  sync.WaitGroup // requests under way
}

// A link is an open connection that can be ended.
type link struct {
	quic bool
	end  func()
}

// NewOrigin serves nothing yet. `chains` has a certificate for each host.
func NewOrigin(chains map[string]*tls.Certificate) *Origin {
	origin := &Origin{chains: chains, open: map[*link]struct{}{}}
	origin.replay.Store(NewReplay(&Recording{}))
	return origin
}

// Certificate is what a client that asks for a name gets.
func (o *Origin) Certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	chain, ok := o.chains[strings.ToLower(hello.ServerName)]
	if !ok {
		return nil, fmt.Errorf("no certificate for %q", hello.ServerName)
	}
	return chain, nil
}

// Page serves this recording from now on, with `think` as slowly as the recorded servers.
func (o *Origin) Page(path string, think bool) (*Recording, error) {
	recording, err := OpenRecording(path)
	if err != nil {
		return nil, err
	}
	if !think {
		for _, entry := range recording.Entries {
			entry.Think = 0
		}
	}
	o.replay.Store(NewReplay(recording))
	return recording, nil
}

// Opened registers a connection; what it returns forgets it again.
func (o *Origin) Opened(quic bool, end func()) func() {
	opened := &link{quic: quic, end: end}
	o.mutex.Lock()
	o.open[opened] = struct{}{}
	o.mutex.Unlock()
	return func() {
		o.mutex.Lock()
		delete(o.open, opened)
		o.mutex.Unlock()
	}
}

// Close ends every connection, waits until nothing of them runs any more, and starts repeated
// entries from the first again. Whatever lets clients resume stays good.
func (o *Origin) Close() (tcp, quic int) {
	o.mutex.Lock()
	var ends sync.WaitGroup
	for opened := range o.open {
		if opened.quic {
			quic++
		} else {
			tcp++
		}
		ends.Add(1)
		go func(end func()) {
			defer ends.Done()
			end()
		}(opened.end)
	}
	o.open = map[*link]struct{}{}
	o.mutex.Unlock()
	ends.Wait()
	o.work.Wait()
	for _, watch := range o.watches {
		for client, began := range watch.Over() {
			o.Log.failed(client, began)
		}
	}
	o.replay.Load().(*Replay).Rewind()
	return tcp, quic
}

// Answer answers a request: `begin` sends status and headers, `write` the body, and its log line
// is finished when the last byte is handed over. `alive` ends with the connection.
func (o *Origin) Answer(
	alive context.Context, request *Request, line Served, send func(Answer) error,
) {
	answer := o.replay.Load().(*Replay).Answer(request)
	line.TUs = nowUs()
	line.Host, line.Method = request.Host, request.Method
	line.Status, line.BodyBytes, line.Match = answer.Status, len(answer.Body), answer.Match
	line.Digest = answer.Digest
	if wait(alive, answer.Think) && send(answer) == nil {
		line.EndUs = nowUs()
	}
	o.Log.served(line)
}

func wait(alive context.Context, think time.Duration) bool {
	if think == 0 {
		return true
	}
	timer := time.NewTimer(think)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-alive.Done():
		return false
	}
}
