// gquic-origin serves a page file over gQUIC Q043, and over HTTP/2 for comparison with other servers,
// as dragstrip-origin serves it over HTTP/1.1, 2 and 3: see docs/reference/processes.md.
package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
)

const version = "0.1.0"

func main() {
	certificates := flag.String("certificates", "", "JSON with `key` and `chains` by host, PEM")
	port := flag.Int("port", 443, "port, UDP's and TCP's")
	addresses := flag.String("addresses", "", "where to listen, separated by commas")
	plain := flag.String("plain", "", "Unix socket to answer on as well")
	flag.Parse()
	if err := run(*certificates, *addresses, *port, *plain); err != nil {
		fmt.Fprintln(os.Stderr, "gquic-origin:", err)
		os.Exit(1)
	}
}

func run(certificates, addresses string, port int, plain string) error {
	chains, err := readChains(certificates)
	if err != nil {
		return fmt.Errorf("--certificates %s: %w", certificates, err)
	}
	origin := NewOrigin(chains)
	// Every address by name: on the wildcard, answers would leave from the route's own address.
	for _, address := range strings.Split(addresses, ",") {
		both := fmt.Sprintf("%s:%d", address, port)
		listener, err := net.Listen("tcp", both)
		if err != nil {
			return err
		}
		origin.ServeTCP(listener)
		socket, err := net.ListenPacket("udp", both)
		if err != nil {
			return err
		}
		if err := origin.ServeGQUIC(socket); err != nil {
			return err
		}
	}
	if plain != "" {
		if err := origin.ServePlain(plain); err != nil {
			return err
		}
	}
	return obey(origin, os.Stdin, os.Stdout)
}

func readChains(path string) (map[string]*tls.Certificate, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var given struct {
		Key    string            `json:"key"`
		Chains map[string]string `json:"chains"`
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, err
	}
	chains := map[string]*tls.Certificate{}
	for host, chain := range given.Chains {
		pair, err := tls.X509KeyPair([]byte(chain), []byte(given.Key))
		if err != nil {
			return nil, fmt.Errorf("chains.%s: %w", host, err)
		}
		chains[host] = &pair
	}
	return chains, nil
}

// A command is one line of stdin; answers are one line of stdout each.
type command struct {
	Cmd   string `json:"cmd"`
	Path  string `json:"path"`
	Think bool   `json:"think"`
}

type reply = map[string]any

// obey answers commands until `in` ends or says quit.
func obey(origin *Origin, in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewScanner(in), json.NewEncoder(out)
	lines.Buffer(nil, 1<<20)
	if err := answers.Encode(reply{"ok": true, "ready": "gquic-origin", "version": version}); err != nil {
		return err
	}
	for lines.Scan() {
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		var said command
		if err := decoder.Decode(&said); err != nil {
			said.Cmd = ""
			if err := answers.Encode(refusal(fmt.Errorf("command not understood: %w", err))); err != nil {
				return err
			}
			continue
		}
		if err := answers.Encode(do(origin, said)); err != nil || said.Cmd == "quit" {
			return err
		}
	}
	return lines.Err()
}

func do(origin *Origin, said command) any {
	switch said.Cmd {
	case "page":
		recording, err := origin.Page(said.Path, said.Think)
		if err != nil {
			return refusal(err)
		}
		return reply{
			"ok": true, "name": recording.Name, "hosts": recording.Hosts(),
			"objects": len(recording.Entries),
		}
	case "close":
		tcp, quic := origin.Close()
		return reply{"ok": true, "tcp": tcp, "quic": quic}
	case "log":
		return origin.Log.Drain()
	case "quit":
		return reply{"ok": true}
	}
	return refusal(fmt.Errorf("command not understood: %q", said.Cmd))
}

func refusal(err error) reply { return reply{"ok": false, "error": err.Error()} }
