package main

import (
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// No browser waits longer for an answer.
const longestThink = 600 * time.Second

const harMember = "har.har"

// connectionHeaders describe the recorded connection and are never served.
var connectionHeaders = map[string]bool{
	"alt-svc": true, "connection": true, "content-length": true, "keep-alive": true,
	"strict-transport-security": true, "te": true, "trailer": true,
	"transfer-encoding": true, "upgrade": true,
}

// A Recording is a page file (docs/reference/page-format.md) in memory, bodies included.
type Recording struct {
	Name    string
	URL     string // where a visit starts
	Entries []*Entry
}

// An Entry is one recorded request and its answer.
type Entry struct {
	Method  string
	Host    string // lower case, without port
	Target  string // path with query, as in the request line
	Status  int
	Headers Headers // in recorded order, without those of the recorded connection
	Wire    []byte  // the body as it crosses the wire
	Decoded []byte  // the body without content encoding, if Coded
	Coded   bool
	Digest  string        // of the body without content encoding: first 16 hex digits of its SHA-256
	Think   time.Duration // how long the recorded server took
}

type harFile struct {
	Log struct {
		Entries []harEntry `json:"entries"`
		Page    struct {
			Format int    `json:"format"`
			Name   string `json:"name"`
			URL    string `json:"url"`
		} `json:"_dragstrip"`
	} `json:"log"`
}

type harEntry struct {
	Request struct {
		Method string `json:"method"`
		URL    string `json:"url"`
	} `json:"request"`
	Response struct {
		Status  int `json:"status"`
		Headers []struct {
			Name  string `json:"name"`
			Value string `json:"value"`
		} `json:"headers"`
		Content struct {
			File string `json:"_file"`
		} `json:"content"`
		Extra struct {
			WireFile string `json:"wire_file"`
		} `json:"_dragstrip"`
	} `json:"response"`
	Extra struct {
		ThinkMs float64 `json:"think_ms"`
	} `json:"_dragstrip"`
}

// OpenRecording reads a .har.zip whole. Errors name the file, the place in it and what is wrong.
func OpenRecording(path string) (*Recording, error) {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer archive.Close()
	recording, err := readRecording(&archive.Reader)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", path, harMember, err)
	}
	return recording, nil
}

func readRecording(archive *zip.Reader) (*Recording, error) {
	read := map[string][]byte{} // equal bodies share their memory
	member := func(name string) ([]byte, error) {
		if body, ok := read[name]; ok {
			return body, nil
		}
		file, err := archive.Open(name)
		if err != nil {
			return nil, fmt.Errorf("the archive has no member %q", name)
		}
		defer file.Close()
		body, err := io.ReadAll(file)
		read[name] = body
		return body, err
	}
	text, err := member(harMember)
	if err != nil {
		return nil, err
	}
	var har harFile
	if err := json.Unmarshal(text, &har); err != nil {
		return nil, err
	}
	if format := har.Log.Page.Format; format != 1 {
		return nil, fmt.Errorf("log._dragstrip.format is %d, this version reads format 1", format)
	}
	recording := &Recording{Name: har.Log.Page.Name, URL: har.Log.Page.URL}
	for index, recorded := range har.Log.Entries {
		entry, err := newEntry(recorded, member)
		if err != nil {
			return nil, fmt.Errorf("log.entries[%d]: %w", index, err)
		}
		recording.Entries = append(recording.Entries, entry)
	}
	return recording, nil
}

func newEntry(recorded harEntry, member func(string) ([]byte, error)) (*Entry, error) {
	host, target, ok := splitURL(recorded.Request.URL)
	if !ok {
		return nil, fmt.Errorf("request.url: %q is not an absolute https URL", recorded.Request.URL)
	}
	think := time.Duration(recorded.Extra.ThinkMs * float64(time.Millisecond))
	if think < 0 || think > longestThink {
		return nil, fmt.Errorf("_dragstrip.think_ms: %g is no think time", recorded.Extra.ThinkMs)
	}
	if status := recorded.Response.Status; status < 200 || status > 999 {
		return nil, fmt.Errorf("response.status: %d cannot be replayed", status)
	}
	entry := &Entry{
		Method: recorded.Request.Method, Host: host, Target: target,
		Status: recorded.Response.Status, Think: think,
	}
	var err error
	if name := recorded.Response.Content.File; name != "" {
		if entry.Wire, err = member(name); err != nil {
			return nil, fmt.Errorf("response.content._file: %w", err)
		}
	}
	for index, header := range recorded.Response.Headers {
		name := strings.ToLower(header.Name)
		if strings.HasPrefix(name, ":") || strings.HasPrefix(name, "proxy-") || connectionHeaders[name] {
			continue
		}
		// Browsers' HAR exports join repeated headers by line breaks.
		for _, value := range strings.Split(header.Value, "\n") {
			if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return nil, fmt.Errorf("response.headers[%d]: %q is not a valid header", index, header.Name)
			}
			entry.Headers = append(entry.Headers, Header{name, value})
		}
	}
	entry.Digest = digestOf(entry.Wire)
	if name := recorded.Response.Extra.WireFile; name != "" {
		entry.Decoded, entry.Coded = entry.Wire, true
		if entry.Wire, err = member(name); err != nil {
			return nil, fmt.Errorf("response._dragstrip.wire_file: %w", err)
		}
	} else {
		// Without a wire body the decoded one crosses the wire, whatever the recorder noted.
		entry.Headers = entry.Headers.without("content-encoding")
	}
	return entry, nil
}

// Hosts gives every host once, the document's own first.
func (r *Recording) Hosts() []string {
	hosts, seen := []string{}, map[string]bool{}
	add := func(host string) {
		if !seen[host] {
			seen[host] = true
			hosts = append(hosts, host)
		}
	}
	if host, _, ok := splitURL(r.URL); ok {
		add(host)
	}
	for _, entry := range r.Entries {
		add(entry.Host)
	}
	return hosts
}

// splitURL gives host (lower case, no port) and path with query of an absolute https URL.
func splitURL(url string) (host, target string, ok bool) {
	rest, ok := cutPrefix(url, "https://")
	if !ok {
		return "", "", false
	}
	rest, _, _ = strings.Cut(rest, "#")
	authority := rest
	if at := strings.IndexAny(rest, "/?"); at >= 0 {
		authority, target = rest[:at], rest[at:]
	}
	if !strings.HasPrefix(target, "/") {
		target = "/" + target
	}
	host = hostOf(authority)
	return host, target, host != ""
}

func hostOf(authority string) string {
	host, _, _ := strings.Cut(authority, ":")
	return strings.ToLower(host)
}

func cutPrefix(text, prefix string) (string, bool) {
	return strings.TrimPrefix(text, prefix), strings.HasPrefix(text, prefix)
}

func digestOf(body []byte) string {
	hash := sha256.Sum256(body)
	return hex.EncodeToString(hash[:8])
}
