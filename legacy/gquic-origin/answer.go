package main

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A clock: a recording is served since `began`, and the request at hand at `now`.
type clock struct{ began, now time.Time }

const lastSecond = 253402300799 // of the year 9999, the last an HTTP date can name

// recorded makes of a recorded answer the one for this request: coding, validators, ranges, dates.
func recorded(entry *Entry, match string, request *Request, at clock) Answer {
	headers, body, status := entry.Headers, entry.Wire, entry.Status
	if entry.Coded && !accepts(request.Headers, headers) {
		headers = headers.without("content-encoding")
		body = entry.Decoded
	}
	headers = refresh(headers, at)
	if status == http.StatusOK && unchanged(request.Headers, headers) {
		status = http.StatusNotModified
		headers = headers.without("content-encoding", "content-type", "content-range")
	} else {
		status, headers, body = ranged(status, request, headers, body)
	}
	bodiless := status == http.StatusNoContent || status == http.StatusNotModified
	if !bodiless {
		headers = headers.with("content-length", strconv.Itoa(len(body)))
	}
	if bodiless || request.Method == http.MethodHead {
		body = nil
	}
	return Answer{Status: status, Headers: headers, Body: body, Match: match, Digest: entry.Digest, Think: entry.Think}
}

// ranged cuts out the part that is asked for (RFC 9110 section 14). A recorded part is all there is
// of its object; whoever asks for the whole gets it as if it were that.
func ranged(status int, request *Request, headers Headers, body []byte) (int, Headers, []byte) {
	held := wholePart(len(body))
	switch status {
	case http.StatusOK:
	case http.StatusPartialContent:
		var ok bool
		if held, ok = recordedPart(headers, len(body)); !ok {
			return status, headers, body
		}
	default:
		return status, headers, body
	}
	asked := rangeOf(request)
	if asked == nil || !sameAsBefore(request.Headers, headers) {
		return http.StatusOK, headers.without("content-range"), body
	}
	from, to, contentRange, ok := held.cut(asked)
	if !ok {
		return http.StatusRequestedRangeNotSatisfiable, headers.with("content-range", held.unsatisfied()), nil
	}
	return http.StatusPartialContent, headers.with("content-range", contentRange), body[from:to]
}

// sameAsBefore: if-range (RFC 9110 section 13.1.5): the client's part belongs to this very object.
func sameAsBefore(request, answer Headers) bool {
	validator, ok := request.get("if-range")
	if !ok {
		return true
	}
	for _, name := range []string{"etag", "last-modified"} {
		if value, ok := answer.get(name); ok && value == validator {
			return true
		}
	}
	return false
}

// unchanged: whether a conditional request (RFC 9110 section 13) already has this object.
func unchanged(request, answer Headers) bool {
	strip := func(tag string) string {
		tag = strings.TrimSpace(tag)
		for strings.HasPrefix(tag, "W/") {
			tag = strings.TrimPrefix(tag, "W/")
		}
		return tag
	}
	if known, ok := request.get("if-none-match"); ok {
		tag, ok := answer.get("etag")
		if !ok {
			return false
		}
		for _, k := range strings.Split(known, ",") {
			if strings.TrimSpace(k) == "*" || strip(k) == strip(tag) {
				return true
			}
		}
		return false
	}
	since, asked := date(request, "if-modified-since")
	changed, told := date(answer, "last-modified")
	return asked && told && !changed.After(since)
}

// refresh moves the recorded dates to today. An answer that was fresh when recorded is fresh again,
// and a stale one stale: with the old dates every cache would hold all of it for years out of date.
func refresh(headers Headers, at clock) Headers {
	recorded, ok := date(headers, "date")
	if !ok {
		return headers
	}
	age := int64(0)
	if text, ok := headers.get("age"); ok {
		if n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32); err == nil {
			age = int64(n)
		}
	}
	// What a validator says must not change between a visit and its repetition.
	for _, moved := range []struct {
		name string
		to   time.Time
	}{{"date", at.now}, {"expires", at.now}, {"last-modified", at.began}} {
		then, ok := date(headers, moved.name)
		if !ok {
			continue
		}
		second := moved.to.Unix() - age + then.Unix() - recorded.Unix()
		if second >= 0 && second <= lastSecond {
			text := time.Unix(second, 0).UTC().Format(http.TimeFormat)
			headers = headers.with(moved.name, text)
		}
	}
	return headers
}

func date(headers Headers, name string) (time.Time, bool) {
	text, ok := headers.get(name)
	if !ok {
		return time.Time{}, false
	}
	parsed, err := http.ParseTime(text)
	return parsed, err == nil
}

// accepts: whether the client takes every coding of the answer.
func accepts(request, answer Headers) bool {
	encoding, ok := answer.get("content-encoding")
	if !ok {
		return true
	}
	offers := strings.Split(strings.ToLower(request.joined("accept-encoding")), ",")
	for _, coding := range strings.Split(strings.ToLower(encoding), ",") {
		if !offered(offers, strings.TrimSpace(coding)) {
			return false
		}
	}
	return true
}

func offered(offers []string, coding string) bool {
	for _, offer := range offers {
		name, weight, _ := strings.Cut(offer, ";")
		name = strings.TrimSpace(name)
		if name != coding && name != "*" {
			continue
		}
		value, weighed := cutPrefix(strings.TrimSpace(weight), "q=")
		if q, err := strconv.ParseFloat(value, 64); !weighed || err != nil || q != 0 {
			return true
		}
	}
	return false
}
