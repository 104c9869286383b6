package main

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"reflect"
	"strconv"
	"sync"

	quic "github.com/lucas-clemente/quic-go"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	gquicName = "gquic"
	// Streams a client may have open at once, as at the other origin.
	maxStreams = 256
	// The largest frame every HTTP/2 peer takes (RFC 9113 section 4.2).
	maxFrame = 16384
	// As Google's servers told. A browser that was made to speak QUIC and is told of it by nobody
	// takes the host for one without priorities, and has it answer six images at a time.
	here       = `quic=":443"; ma=2592000; v="43"`
	hpackTable = 4096
)

// A session is a connection of the library, with what its interface leaves out: HTTP over gQUIC has
// all headers on one stream, which names the streams of the bodies.
type session interface {
	quic.Session
	GetOrOpenStream(quic.StreamID) (quic.Stream, error)
}

// ServeGQUIC serves gQUIC Q043 on a UDP socket until that is closed.
func (o *Origin) ServeGQUIC(socket net.PacketConn) error {
	watch := Watched(socket)
	config := &quic.Config{
		Versions:           []quic.VersionNumber{quic.VersionGQUIC43},
		MaxIncomingStreams: maxStreams,
		// A client need not prove its address: the rejection of its first hello then carries the
		// certificate, and a first connection costs two round trips instead of three.
		AcceptCookie: func(net.Addr, *quic.Cookie) bool { return true },
	}
	listener, err := quic.Listen(watch, &tls.Config{GetCertificate: o.Certificate}, config)
	if err != nil {
		return err
	}
	o.watches = append(o.watches, watch)
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			go o.serveSession(accepted.(session), watch)
		}
	}()
	return nil
}

func (o *Origin) serveSession(session session, watch *Watch) {
	began, resumed := watch.Accepted(session.RemoteAddr())
	name, port := gquicName, session.RemoteAddr().(*net.UDPAddr).Port
	about := Served{Protocol: name, ClientPort: port, Resumed: resumed}
	about.Connection = o.Log.connected(Connection{
		Protocol: &name, Host: session.ConnectionState().ServerName, ClientPort: port,
		TUs: began.UnixMicro(), Resumed: resumed,
	})
	forget := o.Opened(true, func() { _ = session.Close() })
	defer forget()
	headers, err := session.AcceptStream()
	if err != nil {
		return
	}
	out := newHeaderWriter(headers)
	decoder := hpack.NewDecoder(hpackTable, nil)
	framer := http2.NewFramer(nil, headers)
	framer.SetMaxReadFrameSize(1<<24 - 1)
	for {
		id, request, ended, err := readRequest(framer, decoder)
		if err != nil {
			_ = session.Close()
			return
		}
		line := about
		// Until the client shows its forward-secure keys it has not heard the server's hello.
		line.Early = resumed && !session.ConnectionState().HandshakeComplete
		stream, err := session.GetOrOpenStream(id)
		if err != nil || stream == nil {
			continue // the client has given it up already
		}
		o.work.Add(1)
		go func() {
			defer o.work.Done()
			take(stream, ended)
			line.URL = "https://" + request.authority + request.Target
			o.Answer(session.Context(), &request.Request, line, func(answer Answer) error {
				if err := out.write(uint32(id), answer); err != nil {
					return err
				}
				if _, err := stream.Write(answer.Body); err != nil {
					return err
				}
				return stream.Close()
			})
		}()
	}
}

// take lets go of a request's body: none of our answers depends on one.
func take(stream quic.Stream, ended bool) {
	if !ended {
		go func() { _, _ = io.Copy(io.Discard, stream) }()
		return
	}
	// END_STREAM stands on the stream of headers, so this one must be told that nothing will come,
	// at offset 0; the offset's type cannot be named outside the library.
	closeRemote := reflect.ValueOf(stream).MethodByName("CloseRemote")
	closeRemote.Call([]reflect.Value{reflect.Zero(closeRemote.Type().In(0))})
	_, _ = stream.Read([]byte{0})
}

type authorised struct {
	Request
	authority string
}

// readRequest reads the next request from the stream of headers.
func readRequest(framer *http2.Framer, decoder *hpack.Decoder) (quic.StreamID, *authorised, bool, error) {
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return 0, nil, false, err
		}
		begun, ok := frame.(*http2.HeadersFrame)
		if !ok {
			continue // priorities and settings
		}
		id, ended := quic.StreamID(begun.StreamID), begun.StreamEnded()
		block := append([]byte{}, begun.HeaderBlockFragment()...)
		for complete := begun.HeadersEnded(); !complete; {
			frame, err := framer.ReadFrame()
			if err != nil {
				return 0, nil, false, err
			}
			if more, ok := frame.(*http2.ContinuationFrame); ok {
				block = append(block, more.HeaderBlockFragment()...)
				complete = more.HeadersEnded()
			}
		}
		fields, err := decoder.DecodeFull(block)
		if err != nil {
			return 0, nil, false, err
		}
		return id, requestOf(fields), ended, nil
	}
}

func requestOf(fields []hpack.HeaderField) *authorised {
	request := &authorised{}
	for _, field := range fields {
		switch field.Name {
		case ":method":
			request.Method = field.Value
		case ":path":
			request.Target = field.Value
		case ":authority":
			request.authority, request.Host = field.Value, hostOf(field.Value)
		default:
			request.Headers = append(request.Headers, Header{field.Name, field.Value})
		}
	}
	return request
}

// A headerWriter writes answers' headers, one at a time, for their compression has one state.
type headerWriter struct {
	mutex   sync.Mutex
	framer  *http2.Framer
	encoder *hpack.Encoder
	block   bytes.Buffer
}

func newHeaderWriter(stream io.Writer) *headerWriter {
	w := &headerWriter{framer: http2.NewFramer(stream, nil)}
	w.encoder = hpack.NewEncoder(&w.block)
	return w
}

func (w *headerWriter) write(id uint32, answer Answer) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.block.Reset()
	fields := append(Headers{{":status", strconv.Itoa(answer.Status)}, {"alt-svc", here}}, answer.Headers...)
	for _, field := range fields {
		if err := w.encoder.WriteField(hpack.HeaderField{Name: field.Name, Value: field.Value}); err != nil {
			return err
		}
	}
	first := w.block.Next(maxFrame)
	err := w.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: first, EndHeaders: w.block.Len() == 0,
	})
	for err == nil && w.block.Len() > 0 {
		more := w.block.Next(maxFrame)
		err = w.framer.WriteContinuation(id, w.block.Len() == 0, more)
	}
	return err
}
