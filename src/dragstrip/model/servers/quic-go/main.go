// Serves a recording over h1, h2 and h3. The origin behind a Unix socket has every answer.
package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

type settings struct {
	Addresses  []string
	Port       int
	Protocol   string
	TLS        string
	Resumption bool
	EarlyData  bool   `json:"early_data"`
	TicketKey  string `json:"ticket_key"`
	Upstream   string
	ECH        []struct {
		Config, Key              []byte
		Certificate, Private string
	}
	Log        string
	Servers    []struct {
		Certificates []struct{ Certificate, Key string }
	}
}

type line struct {
	Began    float64 `json:"began"`
	Took     float64 `json:"took"`
	Port     string  `json:"port"`
	Protocol string  `json:"protocol"`
	Method   string  `json:"method"`
	Host     string  `json:"host"`
	Path     string  `json:"path"`
	Status   int     `json:"status"`
	Bytes    int64   `json:"bytes"`
	Resumed  bool    `json:"resumed"`
	ECH      bool    `json:"ech"`
}

// A response that counts what is written to it.
type counted struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (c *counted) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *counted) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *counted) Write(data []byte) (int, error) {
	n, err := c.ResponseWriter.Write(data)
	c.bytes += int64(n)
	return n, err
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func read(path string) (s settings) {
	text, err := os.ReadFile(path)
	must(err)
	must(json.Unmarshal(text, &s))
	return s
}

func security(s settings) *tls.Config {
	made := &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: []string{"h2", "http/1.1"}}
	if s.TLS == "1.2" {
		made.MinVersion, made.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	}
	if s.Protocol == "h1" {
		made.NextProtos = []string{"http/1.1"}
	}
	for _, server := range s.Servers {
		for _, shown := range server.Certificates {
			pair, err := tls.LoadX509KeyPair(shown.Certificate, shown.Key)
			must(err)
			made.Certificates = append(made.Certificates, pair)
		}
	}
	for _, own := range s.ECH {
		pair, err := tls.LoadX509KeyPair(own.Certificate, own.Private)
		must(err)
		made.Certificates = append(made.Certificates, pair)
		made.EncryptedClientHelloKeys = append(made.EncryptedClientHelloKeys,
			tls.EncryptedClientHelloKey{Config: own.Config, PrivateKey: own.Key, SendAsRetry: true})
	}
	made.SessionTicketsDisabled = !s.Resumption
	if s.Resumption {
		text, err := os.ReadFile(s.TicketKey)
		must(err)
		made.SetSessionTicketKeys([][32]byte{[32]byte(text[:32])})
	}
	return made
}

func pages(s settings) http.Handler {
	transport := &http.Transport{
		DisableCompression:  true,
		MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", s.Upstream)
		},
	}
	origin := &url.URL{Scheme: "http", Host: "origin.test"}
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(origin)
			r.Out.Host = r.In.Host
		},
	}
	file, err := os.OpenFile(s.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	must(err)
	var one sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, answer := time.Now(), &counted{ResponseWriter: w, status: http.StatusOK}
		if s.Protocol == "h3" {
			w.Header().Set("Alt-Svc", `h3=":443"; ma=86400`)
		}
		defer func() {
			_, port, _ := net.SplitHostPort(r.RemoteAddr)
			text, _ := json.Marshal(line{
				Began: float64(began.UnixMicro()) / 1e6, Took: time.Since(began).Seconds(),
				Port: port, Protocol: r.Proto, Method: r.Method, Host: r.Host, Path: r.RequestURI,
				Status: answer.status, Bytes: answer.bytes, Resumed: r.TLS.DidResume,
				ECH: r.TLS.ECHAccepted,
			})
			one.Lock()
			defer one.Unlock()
			file.Write(append(text, '\n'))
		}()
		proxy.ServeHTTP(answer, r)
	})
}

func main() {
	s := read(os.Args[1])
	secure, handler := security(s), pages(s)
	failed := make(chan error)
	for _, address := range s.Addresses {
		place := net.JoinHostPort(address, strconv.Itoa(s.Port))
		over, err := tls.Listen("tcp", place, secure)
		must(err)
		server := &http.Server{Handler: handler, TLSConfig: secure}
		go func() { failed <- server.Serve(over) }()
		if s.Protocol == "h3" {
			packets, err := net.ListenPacket("udp", place)
			must(err)
			quick := &http3.Server{
				Handler:    handler,
				TLSConfig:  http3.ConfigureTLSConfig(secure),
				QUICConfig: &quic.Config{Allow0RTT: s.EarlyData},
			}
			go func() { failed <- quick.Serve(packets) }()
		}
	}
	must(<-failed)
}
