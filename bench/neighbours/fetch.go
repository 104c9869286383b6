// Round trip and rate of Go's net/http: go run fetch.go http://ADDRESS:PORT [BYTES]
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"
)

func get(url string) io.ReadCloser {
	answer, err := http.Get(url)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return answer.Body
}

func main() {
	url, size := os.Args[1], 3000000
	if len(os.Args) > 2 {
		size, _ = strconv.Atoi(os.Args[2])
	}
	least := time.Hour
	for i := 0; i < 6; i++ {
		began := time.Now()
		body := get(url + "/1")
		io.Copy(io.Discard, body)
		body.Close()
		if took := time.Since(began); i > 0 && took < least { // the first opens the connection
			least = took
		}
	}
	body := get(fmt.Sprintf("%s/%d", url, size))
	io.CopyN(io.Discard, body, int64(size/3)) // past slow start
	began := time.Now()
	got, _ := io.Copy(io.Discard, body)
	rate := float64(got) * 8 / time.Since(began).Seconds() / 1e6
	json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"round_trip_ms": float64(least.Microseconds()) / 1000, "mbps": rate,
	})
}
