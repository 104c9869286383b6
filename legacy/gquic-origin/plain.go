package main

import (
	"net"
	"net/http"
	"strings"
)

// ServePlain answers HTTP/1.1 without TLS on a Unix socket as well, so that its answers can be held
// against the other origin's. Such requests belong to no visit and are not logged.
func (o *Origin) ServePlain(path string) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(listener, http.HandlerFunc(o.plain)) }()
	return nil
}

func (o *Origin) plain(writer http.ResponseWriter, asked *http.Request) {
	request := &Request{Method: asked.Method, Host: hostOf(asked.Host), Target: asked.RequestURI}
	for name, values := range asked.Header {
		for _, value := range values {
			request.Headers = append(request.Headers, Header{strings.ToLower(name), value})
		}
	}
	answer := o.replay.Load().(*Replay).Answer(request)
	headers := writer.Header()
	headers["Date"], headers["Content-Type"] = nil, nil // nothing that was not recorded
	for _, header := range answer.Headers {
		name := http.CanonicalHeaderKey(header.Name)
		headers[name] = append(headers[name], header.Value)
	}
	writer.WriteHeader(answer.Status)
	_, _ = writer.Write(answer.Body)
}
