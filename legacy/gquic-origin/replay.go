package main

import (
	"strings"
	"sync"
	"time"
)

// How the recording answered a request (docs/explanation/replay.md).
const (
	Exact     = "exact"
	Query     = "query"
	Preflight = "preflight"
	Miss      = "miss"
)

// A Request as far as an answer depends on it.
type Request struct {
	Method  string
	Host    string // without port
	Target  string
	Headers Headers
}

// An Answer goes back over any protocol. `content-length` is among the headers where it belongs.
type Answer struct {
	Status  int
	Headers Headers
	Body    []byte
	Match   string
	Digest  string        // of the recorded body, whole; empty if nothing recorded answers
	Think   time.Duration // how long to wait before answering
}

// A Replay is a recording and each request's place in it, by the rules of docs/explanation/replay.md.
type Replay struct {
	mutex     sync.Mutex
	recording *Recording
	paths     map[[2]string][]*variant // by host and path
	began     time.Time
}

// A variant has the entries of one method and URL, in recorded order.
type variant struct {
	method  string
	query   string // with the mark it begins with
	entries []*Entry
	served  int
}

// NewReplay replays a recording from its beginning.
func NewReplay(recording *Recording) *Replay {
	replay := &Replay{recording: recording, paths: map[[2]string][]*variant{}, began: time.Now()}
	for _, entry := range recording.Entries {
		path, query := splitQuery(entry.Target)
		key := [2]string{entry.Host, path}
		var found *variant
		for _, v := range replay.paths[key] {
			if v.method == entry.Method && v.query == query {
				found = v
				break
			}
		}
		if found == nil {
			found = &variant{method: entry.Method, query: query}
			replay.paths[key] = append(replay.paths[key], found)
		}
		found.entries = append(found.entries, entry)
	}
	return replay
}

// Rewind lets repeated entries start again from the first.
func (r *Replay) Rewind() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, variants := range r.paths {
		for _, v := range variants {
			v.served = 0
		}
	}
}

// Answer gives the recorded answer, a preflight's consent, or a marked 404.
func (r *Replay) Answer(request *Request) Answer {
	if entry, match := r.find(request); entry != nil {
		return recorded(entry, match, request, clock{began: r.began, now: time.Now()})
	}
	if answer, ok := preflight(request); ok {
		return answer
	}
	return Answer{
		Status:  404,
		Headers: Headers{{"x-dragstrip", "replay-miss"}, {"content-length", "0"}},
		Match:   Miss,
	}
}

// find: several entries of one method and URL come in recorded order, the last again for good.
func (r *Replay) find(request *Request) (*Entry, string) {
	path, query := splitQuery(request.Target)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	nearest := pick(r.paths[[2]string{request.Host, path}], request.Method, query)
	if nearest == nil {
		return nil, Miss
	}
	match := Query
	if nearest.query == query {
		match = Exact
	}
	if part := holder(nearest.entries, request); part != nil {
		return part, match
	}
	suiting := suiting(nearest.entries, request)
	index := nearest.served
	if index >= len(suiting) {
		index = len(suiting) - 1
	}
	nearest.served++
	return suiting[index], match
}

// holder gives the recorded part of an object that holds the first byte a request asks for.
func holder(entries []*Entry, request *Request) *Entry {
	asked := rangeOf(request)
	if asked == nil || asked.suffix {
		return nil
	}
	for _, entry := range entries {
		if entry.Status == 206 {
			if part, ok := recordedPart(entry.Headers, len(entry.Wire)); ok && part.holds(asked.first) {
				return entry
			}
		}
	}
	return nil
}

// suiting gives the entries that can answer this request at all, else every one: a recorded part
// only whoever asked for a range, "not modified" only whoever has an object already.
func suiting(entries []*Entry, request *Request) []*Entry {
	var found []*Entry
	for _, entry := range entries {
		suits := true
		switch entry.Status {
		case 206:
			suits = rangeOf(request) != nil
		case 304:
			suits = request.Headers.has("if-none-match") || request.Headers.has("if-modified-since")
		}
		if suits {
			found = append(found, entry)
		}
	}
	if found == nil {
		return entries
	}
	return found
}

// pick gives the variant of this query, else the one that has most parameters in common with it,
// then the one that shares the longest beginning (the rule of Mahimahi's replay server), then the
// first recorded. A GET answers HEAD as well.
func pick(variants []*variant, method, query string) *variant {
	var best *variant
	var nearest [4]int
	for _, v := range variants {
		if v.method != method && !(method == "HEAD" && v.method == "GET") {
			continue
		}
		nearness := [4]int{
			truth(v.query == query), common(v.query, query), shared(v.query, query),
			truth(v.method == method),
		}
		if best == nil || less(nearest, nearness) {
			best, nearest = v, nearness
		}
	}
	return best
}

func less(a, b [4]int) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

func truth(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func shared(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// common: how many name=value of b stand in a as well.
func common(a, b string) int {
	parameters := func(query string) []string {
		return strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune("?&;", r) })
	}
	left := map[string]int{}
	for _, part := range parameters(a) {
		left[part]++
	}
	n := 0
	for _, part := range parameters(b) {
		if left[part] > 0 {
			left[part]--
			n++
		}
	}
	return n
}

// splitQuery: what follows a semicolon (RFC 3986 section 3.3) is as random as a query in practice,
// and belongs to it.
func splitQuery(target string) (path, query string) {
	if at := strings.IndexAny(target, "?;"); at >= 0 {
		return target[:at], target[at:]
	}
	return target, ""
}

// preflight: a CORS preflight nobody recorded is answered as asked; recorders often leave them out.
func preflight(request *Request) (Answer, bool) {
	method, asks := request.Headers.get("access-control-request-method")
	origin, named := request.Headers.get("origin")
	if request.Method != "OPTIONS" || !asks || !named {
		return Answer{}, false
	}
	headers := Headers{
		{"access-control-allow-origin", origin},
		{"access-control-allow-methods", method},
		{"access-control-allow-credentials", "true"},
	}
	if names, ok := request.Headers.get("access-control-request-headers"); ok {
		headers = append(headers, Header{"access-control-allow-headers", names})
	}
	return Answer{Status: 204, Headers: headers, Match: Preflight}, true
}
