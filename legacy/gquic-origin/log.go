package main

import (
	"net"
	"sort"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A Served is one request as the log tells it (dragstrip.model.visit.Served). Times are
// microseconds of the Unix epoch.
type Served struct {
	TUs        int64  `json:"t_us"`   // request headers complete
	EndUs      int64  `json:"end_us"` // last byte handed to the transport; 0 if it never was
	Host       string `json:"host"`
	Method     string `json:"method"`
	URL        string `json:"url"`
	Protocol   string `json:"protocol"`
	Connection uint64 `json:"connection"`
	ClientPort int    `json:"client_port"`
	Resumed    bool   `json:"resumed"`
	Early      bool   `json:"early"`
	Status     int    `json:"status"`
	BodyBytes  int    `json:"body_bytes"`
	Match      string `json:"match"`
	Digest     string `json:"digest"` // of the recorded body of which this is the answer, or a part
}

// A Connection as the log tells it (dragstrip.model.visit.Connection).
type Connection struct {
	ID         uint64  `json:"id"`
	Protocol   *string `json:"protocol"` // nil if the handshake failed
	Host       string  `json:"host"`     // the name the client asked for
	ClientPort int     `json:"client_port"`
	TUs        int64   `json:"t_us"` // when its first packet came
	Resumed    bool    `json:"resumed"`
	Error      string  `json:"error,omitempty"`
}

// Entries are what happened since the last look.
type Entries struct {
	OK          bool         `json:"ok"`
	Requests    []Served     `json:"requests"`
	Connections []Connection `json:"connections"`
	CPUSeconds  float64      `json:"cpu_s"` // of this process since it started
}

// A Log collects in memory.
type Log struct {
	mutex       sync.Mutex
	requests    []Served
	connections []Connection
	last        uint64
}

func (l *Log) served(request Served) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.requests = append(l.requests, request)
}

// connected logs a connection under a number of its own, which it returns.
func (l *Log) connected(connection Connection) uint64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.last++
	connection.ID = l.last
	l.connections = append(l.connections, connection)
	return l.last
}

// failed logs a QUIC client, `address:port`, whose handshake did not come to its end.
func (l *Log) failed(client string, began time.Time) {
	_, text, _ := net.SplitHostPort(client)
	port, _ := strconv.Atoi(text)
	l.connected(Connection{
		ClientPort: port, TUs: began.UnixMicro(), Error: "the handshake did not come to its end",
	})
}

// Drain gives everything since the last call, by time.
func (l *Log) Drain() Entries {
	l.mutex.Lock()
	requests, connections := l.requests, l.connections
	l.requests, l.connections = nil, nil
	l.mutex.Unlock()
	sort.SliceStable(requests, func(i, j int) bool { return requests[i].TUs < requests[j].TUs })
	sort.SliceStable(connections, func(i, j int) bool { return connections[i].TUs < connections[j].TUs })
	return Entries{
		OK:          true,
		Requests:    append([]Served{}, requests...),
		Connections: append([]Connection{}, connections...),
		CPUSeconds:  cpuSeconds(),
	}
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func nowUs() int64 { return time.Now().UnixMicro() }
