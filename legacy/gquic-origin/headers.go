package main

import "strings"

// A Header has a lower-case name.
type Header struct{ Name, Value string }

// Headers keep their order, and repeated ones.
type Headers []Header

// get gives the first value of that name.
func (h Headers) get(name string) (string, bool) {
	for _, header := range h {
		if header.Name == name {
			return header.Value, true
		}
	}
	return "", false
}

func (h Headers) has(name string) bool {
	_, ok := h.get(name)
	return ok
}

// joined gives all values of that name, separated by commas.
func (h Headers) joined(name string) string {
	var values []string
	for _, header := range h {
		if header.Name == name {
			values = append(values, header.Value)
		}
	}
	return strings.Join(values, ",")
}

// without gives a copy that lacks these names.
func (h Headers) without(names ...string) Headers {
	kept := make(Headers, 0, len(h)+1)
next:
	for _, header := range h {
		for _, name := range names {
			if header.Name == name {
				continue next
			}
		}
		kept = append(kept, header)
	}
	return kept
}

// with gives a copy in which this name has one value: in its old place if it had one, else last.
func (h Headers) with(name, value string) Headers {
	changed, placed := make(Headers, 0, len(h)+1), false
	for _, header := range h {
		if header.Name == name {
			if placed {
				continue
			}
			header.Value, placed = value, true
		}
		changed = append(changed, header)
	}
	if !placed {
		changed = append(changed, Header{name, value})
	}
	return changed
}
