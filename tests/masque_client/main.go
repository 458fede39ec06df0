// A client of proxies over HTTP/3, on the library quic-go: it asks an exit for a connection of TCP, or for packets of UDP,
// and prints what came of it as JSON. The tests of exits run it.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/http3"
)

// What came of a request.
type outcome struct {
	// Status of the answer, and what its header says of the reason.
	Status      int    `json:"status"`
	ProxyStatus string `json:"proxy_status"`
	// Header capsule-protocol of the answer.
	Capsules string `json:"capsules"`
	// Bytes that came back, and whether they are those that were sent.
	Received int64 `json:"received"`
	Same     bool  `json:"same"`
	// Packets that came back in datagrams and in capsules.
	Datagrams int `json:"datagrams"`
	Packets   int `json:"packets"`
}

// An exit, as the options name it.
type exit struct {
	address, token, certificate, key string
}

const usage = `usage: masque_client -exit ADDRESS [-token TOKEN] [-certificate FILE -key FILE] COMMAND
  connect HOST:PORT BYTES STREAMS    send bytes on each of several streams at a time, and read until the end
  packets HOST PORT COUNT            send packets in datagrams and a large one in a capsule, and wait for all of them
`

// The longest that a command takes.
const patience = 30 * time.Second

// Bytes of a packet that is too large for a datagram.
const large = 3000

func main() {
	var own exit
	flag.StringVar(&own.address, "exit", "", "address of the exit")
	flag.StringVar(&own.token, "token", "", "token of the exit; none is shown if it is empty")
	flag.StringVar(&own.certificate, "certificate", "", "PEM file with a certificate to show")
	flag.StringVar(&own.key, "key", "", "PEM file with its key")
	flag.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	found, err := own.run(ctx, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		os.Exit(1)
	}
}

func (own exit) run(ctx context.Context, words []string) (outcome, error) {
	var found outcome
	switch {
	case len(words) == 4 && words[0] == "connect":
		size, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			return found, err
		}
		streams, err := strconv.Atoi(words[3])
		if err != nil {
			return found, err
		}
		return own.connect(ctx, words[1], size, streams)
	case len(words) == 4 && words[0] == "packets":
		count, err := strconv.Atoi(words[3])
		if err != nil {
			return found, err
		}
		return own.packets(ctx, words[1], words[2], count)
	}
	return found, errors.New(usage)
}

// Connects to the exit.
func (own exit) dial(ctx context.Context) (*quic.Conn, *http3.ClientConn, error) {
	// Who serves is not what is tried here.
	settings := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{http3.NextProtoH3}}
	if own.certificate != "" {
		pair, err := tls.LoadX509KeyPair(own.certificate, own.key)
		if err != nil {
			return nil, nil, err
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	connection, err := quic.DialAddr(ctx, own.address, settings, &quic.Config{EnableDatagrams: true})
	if err != nil {
		return nil, nil, err
	}
	transport := &http3.Transport{EnableDatagrams: true, DisableCompression: true}
	return connection, transport.NewClientConn(connection), nil
}

// Sends a request on a new stream, and waits for the answer.
func (own exit) ask(ctx context.Context, client *http3.ClientConn, request *http.Request) (*http3.RequestStream, outcome, error) {
	var found outcome
	select {
	case <-client.ReceivedSettings():
	case <-client.Context().Done():
		return nil, found, context.Cause(client.Context())
	case <-ctx.Done():
		return nil, found, ctx.Err()
	}
	if settings := client.Settings(); !settings.EnableExtendedConnect || !settings.EnableDatagrams {
		return nil, found, errors.New("the exit does not announce extended CONNECT and datagrams")
	}
	if own.token != "" {
		request.Header.Set("Proxy-Authorization", "Bearer "+own.token)
	}
	stream, err := client.OpenRequestStream(ctx)
	if err != nil {
		return nil, found, err
	}
	if deadline, is := ctx.Deadline(); is {
		if err := stream.SetDeadline(deadline); err != nil {
			return nil, found, err
		}
	}
	if err := stream.SendRequestHeader(request); err != nil {
		return nil, found, err
	}
	answer, err := stream.ReadResponse()
	if err != nil {
		return nil, found, err
	}
	found.Status = answer.StatusCode
	found.ProxyStatus = answer.Header.Get("Proxy-Status")
	found.Capsules = answer.Header.Get("Capsule-Protocol")
	return stream, found, nil
}

// Sends bytes through the exit to a target that sends them back, on several streams of one connection at a time. Of several
// outcomes it gives the sum, or the first that is no success.
func (own exit) connect(ctx context.Context, target string, size int64, streams int) (outcome, error) {
	connection, client, err := own.dial(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer connection.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	type one struct {
		found outcome
		err   error
	}
	all := make(chan one, streams)
	for number := range streams {
		go func() {
			found, err := own.echoed(ctx, client, target, size, byte(number))
			all <- one{found, err}
		}()
	}
	sum := outcome{Same: true}
	for range streams {
		one := <-all
		if one.err != nil || one.found.Status != http.StatusOK {
			return one.found, one.err
		}
		one.found.Received += sum.Received
		one.found.Same = one.found.Same && sum.Same
		sum = one.found
	}
	return sum, nil
}

// Sends bytes, which a seed makes, on a new stream, and compares what comes back.
func (own exit) echoed(ctx context.Context, client *http3.ClientConn, target string, size int64, seed byte) (outcome, error) {
	request := &http.Request{Method: http.MethodConnect, Host: target, URL: &url.URL{Host: target}, Header: http.Header{}}
	stream, found, err := own.ask(ctx, client, request)
	if err != nil || found.Status != http.StatusOK {
		return found, err
	}
	sent, came := sha256.New(), sha256.New()
	sending := make(chan error, 1)
	go func() {
		source := io.LimitReader(rand.NewChaCha8([32]byte{seed}), size)
		_, err := io.Copy(io.MultiWriter(stream, sent), source)
		sending <- errors.Join(err, stream.Close())
	}()
	found.Received, err = io.Copy(came, stream)
	if err := errors.Join(err, <-sending); err != nil {
		return found, err
	}
	found.Same = bytes.Equal(sent.Sum(nil), came.Sum(nil))
	return found, nil
}

// Sends packets through the exit to a target that sends them back: each in a datagram, again while it may be lost, and a
// large one in a capsule.
func (own exit) packets(ctx context.Context, host, port string, count int) (outcome, error) {
	connection, client, err := own.dial(ctx)
	if err != nil {
		return outcome{}, err
	}
	defer connection.CloseWithError(quic.ApplicationErrorCode(http3.ErrCodeNoError), "")
	place := &url.URL{Scheme: "https", Host: own.address, Path: "/.well-known/masque/udp/" + host + "/" + port + "/"}
	request := &http.Request{Method: http.MethodConnect, Proto: "connect-udp", Host: own.address, URL: place, Header: http.Header{}}
	request.Header.Set(http3.CapsuleProtocolHeader, "?1")
	stream, found, err := own.ask(ctx, client, request)
	if err != nil || found.Status != http.StatusOK {
		return found, err
	}
	found.Same = true
	for number := range count {
		// The context 0 has packets of UDP.
		packet := fmt.Appendf([]byte{0}, "packet %d", number)
		back, err := exchange(ctx, stream, packet)
		if err != nil {
			return found, err
		}
		found.Datagrams++
		found.Received += int64(len(back) - 1)
		found.Same = found.Same && bytes.Equal(back, packet)
	}
	packet := bytes.Repeat([]byte{'x'}, 1+large)
	packet[0] = 0
	if err := http3.WriteCapsule(writer{stream}, 0, packet); err != nil {
		return found, err
	}
	_, capsule, err := http3.NewCapsuleParser(stream).Next()
	if err != nil {
		return found, err
	}
	back, err := io.ReadAll(capsule)
	if err != nil {
		return found, err
	}
	found.Packets++
	found.Received += int64(len(back) - 1)
	found.Same = found.Same && bytes.Equal(back, packet)
	return found, stream.Close()
}

// Sends a datagram until one comes back.
func exchange(ctx context.Context, stream *http3.RequestStream, packet []byte) ([]byte, error) {
	for {
		if err := stream.SendDatagram(packet); err != nil {
			return nil, err
		}
		soon, cancel := context.WithTimeout(ctx, time.Second)
		back, err := stream.ReceiveDatagram(soon)
		cancel()
		if err == nil || ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
			return back, err
		}
	}
}

// A stream that takes bytes one by one too, as capsules are written.
type writer struct{ *http3.RequestStream }

func (own writer) WriteByte(one byte) error {
	_, err := own.Write([]byte{one})
	return err
}
