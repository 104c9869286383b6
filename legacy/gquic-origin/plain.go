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
	plain := func(writer http.ResponseWriter, asked *http.Request) {
		_ = give(writer, o.replay.Load().(*Replay).Answer(requestFrom(asked)))
	}
	go func() { _ = http.Serve(listener, http.HandlerFunc(plain)) }()
	return nil
}

// requestFrom is a request of the standard library's in our words.
func requestFrom(asked *http.Request) *Request {
	request := &Request{Method: asked.Method, Host: hostOf(asked.Host), Target: asked.RequestURI}
	for name, values := range asked.Header {
		for _, value := range values {
			request.Headers = append(request.Headers, Header{strings.ToLower(name), value})
		}
	}
	return request
}

// give gives an answer through the standard library.
func give(writer http.ResponseWriter, answer Answer) error {
	headers := writer.Header()
	headers["Date"], headers["Content-Type"] = nil, nil // nothing that was not recorded
	for _, header := range answer.Headers {
		name := http.CanonicalHeaderKey(header.Name)
		headers[name] = append(headers[name], header.Value)
	}
	writer.WriteHeader(answer.Status)
	if len(answer.Body) == 0 {
		return nil
	}
	_, err := writer.Write(answer.Body)
	return err
}
