package main

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"

	"golang.org/x/net/http2"
)

const h2Name = "h2"

// ServeTCP serves HTTP/2 over TLS 1.2 on a listener until that is closed: a protocol that other
// servers speak as well, over which this one can be measured beside them.
func (o *Origin) ServeTCP(listener net.Listener) {
	config := &tls.Config{
		GetCertificate: o.Certificate,
		NextProtos:     []string{h2Name},
		MinVersion:     tls.VersionTLS12,
		MaxVersion:     tls.VersionTLS12,
	}
	server := &http2.Server{MaxConcurrentStreams: maxStreams}
	go func() {
		for {
			socket, err := listener.Accept()
			if err != nil {
				return
			}
			go o.serveTLS(tls.Server(socket, config), server)
		}
	}()
}

func (o *Origin) serveTLS(secure *tls.Conn, server *http2.Server) {
	name := h2Name
	connection := Connection{
		Protocol: &name, ClientPort: secure.RemoteAddr().(*net.TCPAddr).Port, TUs: nowUs(),
	}
	forget := o.Opened(false, func() { _ = secure.NetConn().Close() })
	defer forget()
	defer secure.Close()
	err := secure.Handshake()
	state := secure.ConnectionState()
	connection.Host, connection.Resumed = state.ServerName, state.DidResume
	if err != nil || state.NegotiatedProtocol != h2Name {
		connection.Protocol, connection.Error = nil, "the client did not agree to h2"
		if err != nil {
			connection.Error = err.Error()
		}
		o.Log.connected(connection)
		return
	}
	about := Served{
		Protocol: name, Connection: o.Log.connected(connection),
		ClientPort: connection.ClientPort, Resumed: connection.Resumed,
	}
	alive, over := context.WithCancel(context.Background())
	defer over()
	server.ServeConn(secure, &http2.ServeConnOpts{
		Context: alive,
		Handler: http.HandlerFunc(func(writer http.ResponseWriter, asked *http.Request) {
			o.work.Add(1)
			defer o.work.Done()
			line := about
			line.URL = "https://" + asked.Host + asked.RequestURI
			o.Answer(asked.Context(), requestFrom(asked), line, func(answer Answer) error {
				return give(writer, answer)
			})
		}),
	})
}
