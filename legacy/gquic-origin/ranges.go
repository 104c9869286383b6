package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A byteRange is the one range a request asks for (RFC 9110 section 14): from `first` to `last`, or
// the last `last` bytes. Several at once may be ignored, and are.
type byteRange struct {
	first, last uint64
	suffix      bool
}

// A part of an object that a recorded body holds, of `total` bytes if that is known.
type part struct {
	start, length uint64
	total         *uint64
}

// rangeOf gives nil if the request asks for no range, or for something that is to be ignored.
func rangeOf(request *Request) *byteRange {
	value, ok := request.Headers.get("range")
	if !ok || request.Method != "GET" {
		return nil
	}
	spec, ok := cutPrefix(strings.TrimSpace(value), "bytes=")
	if !ok {
		return nil
	}
	from, to, ok := strings.Cut(spec, "-")
	if !ok {
		return nil
	}
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	if from == "" {
		count, err := strconv.ParseUint(to, 10, 64)
		if err != nil {
			return nil
		}
		return &byteRange{last: count, suffix: true}
	}
	first, err := strconv.ParseUint(from, 10, 64)
	if err != nil {
		return nil
	}
	if to == "" {
		return &byteRange{first: first, last: math.MaxUint64}
	}
	last, err := strconv.ParseUint(to, 10, 64)
	if err != nil || first > last {
		return nil
	}
	return &byteRange{first: first, last: last}
}

func wholePart(length int) part {
	n := uint64(length)
	return part{length: n, total: &n}
}

// recordedPart reads the recorded content-range. What was cut off when recorded is not there.
func recordedPart(headers Headers, length int) (part, bool) {
	value, ok := headers.get("content-range")
	if !ok {
		return part{}, false
	}
	rest, ok := cutPrefix(strings.TrimSpace(value), "bytes ")
	if !ok {
		return part{}, false
	}
	span, size, ok := strings.Cut(rest, "/")
	if !ok {
		return part{}, false
	}
	from, _, ok := strings.Cut(span, "-")
	if !ok {
		return part{}, false
	}
	start, err := strconv.ParseUint(strings.TrimSpace(from), 10, 64)
	if err != nil {
		return part{}, false
	}
	held := part{start: start, length: uint64(length)}
	if total, err := strconv.ParseUint(strings.TrimSpace(size), 10, 64); err == nil {
		held.total = &total
	}
	return held, true
}

func (p part) holds(at uint64) bool { return at >= p.start && at-p.start < p.length }

// cut gives the asked bytes as a slice of the body, and their content-range.
func (p part) cut(asked *byteRange) (from, to uint64, contentRange string, ok bool) {
	end := p.start + p.length
	if end < p.start {
		return 0, 0, "", false
	}
	first, last := asked.first, asked.last
	if asked.suffix {
		if last == 0 {
			return 0, 0, "", false
		}
		size := end
		if p.total != nil {
			size = *p.total
		}
		first = 0
		if last < size {
			first = size - last
		}
		last = math.MaxUint64
	}
	if !p.holds(first) {
		return 0, 0, "", false
	}
	stop := end
	if last < end-1 {
		stop = last + 1
	}
	total := "*"
	if p.total != nil {
		total = strconv.FormatUint(*p.total, 10)
	}
	return first - p.start, stop - p.start, fmt.Sprintf("bytes %d-%d/%s", first, stop-1, total), true
}

// unsatisfied is the content-range of a 416.
func (p part) unsatisfied() string {
	total := p.start + p.length
	if p.total != nil {
		total = *p.total
	}
	return fmt.Sprintf("bytes */%d", total)
}
