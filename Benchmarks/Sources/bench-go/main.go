// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// The same requests through Go's net/http, whose DialContext takes the place of the mapping.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The runner's orders. The flags are those of the Swift contenders (Sources/Workload/Orders.swift).
type orders struct {
	url, host, address, certificateFile string
	inFlight, requests, warmUp          int
	bodyBytes, postBytes                int
	isHTTP2, discards, uploadStream     bool
	uploadFile                          string
	// The time of the calendar at which the process started: the measurement begins then. With 0 it begins at the first measured request.
	started float64
}

func fail(reason any) {
	fmt.Fprintf(os.Stderr, "bench-go: %v\n", reason)
	os.Exit(1)
}

func readOrders(arguments []string) orders {
	o := orders{inFlight: 1}
	for i := 0; i < len(arguments); i += 2 {
		flag := arguments[i]
		if i+1 == len(arguments) {
			fail(flag + " needs a value")
		}
		value := arguments[i+1]
		count := func() int {
			number, err := strconv.Atoi(value)
			if err != nil || number < 0 {
				fail(flag + " takes a number")
			}
			return number
		}
		switch flag {
		case "--url":
			o.url = value
		case "--host":
			o.host = value
		case "--addresses":
			// The first is connected to, as by the other contenders.
			o.address, _, _ = strings.Cut(value, ",")
		case "--in-flight":
			o.inFlight = count()
		case "--requests":
			o.requests = count()
		case "--warm-up":
			o.warmUp = count()
		case "--body-bytes":
			o.bodyBytes = count()
		case "--post":
			o.postBytes = count()
		case "--upload-file":
			o.uploadFile = value
		case "--upload-stream":
			o.uploadStream = count() > 0
		case "--http-version":
			o.isHTTP2 = value == "2"
		case "--cacert":
			o.certificateFile = value
		case "--started":
			o.started, _ = strconv.ParseFloat(value, 64)
		case "--discard":
			o.discards = count() > 0
		default:
			fail(flag + " is unknown")
		}
	}
	if o.url == "" || o.host == "" || o.address == "" || o.requests == 0 {
		fail("--url, --host, --addresses and --requests are needed")
	}
	return o
}

func makeClient(o orders) *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	transport := &http.Transport{
		// The URL, and so Host and the server name of TLS, keep the name.
		DialContext: func(ctx context.Context, network, target string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(target)
			if err != nil || host != o.host {
				return nil, errors.New("not the measured host: " + target)
			}
			return dialer.DialContext(ctx, network, net.JoinHostPort(o.address, port))
		},
		// Each other contender has a limit for the response too. One for the whole call costs Go a goroutine's timer and a context.
		ResponseHeaderTimeout: 60 * time.Second,
		// The default of 2 idle connections for each host would close most of those in use.
		MaxIdleConns:        4096,
		MaxIdleConnsPerHost: 4096,
		ForceAttemptHTTP2:   o.isHTTP2,
	}
	if o.certificateFile != "" {
		pem, err := os.ReadFile(o.certificateFile)
		roots := x509.NewCertPool()
		if err != nil || !roots.AppendCertsFromPEM(pem) {
			fail("--cacert cannot be read")
		}
		transport.TLSClientConfig = &tls.Config{
			RootCAs: roots,
			// The other contenders resume sessions too.
			ClientSessionCache: tls.NewLRUClientSessionCache(64),
		}
	}
	if !o.isHTTP2 {
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	return &http.Client{Transport: transport}
}

// letters is a body without an end.
type letters struct{}

func (letters) Read(place []byte) (int, error) {
	for i := range place {
		place[i] = 'x'
	}
	return len(place), nil
}

// A sender has the buffer that its bodies are read into.
type sender struct {
	orders   orders
	client   *http.Client
	postBody []byte
	buffer   []byte
	// The microseconds of each request.
	times []float64
}

func (s *sender) send() error {
	var request *http.Request
	var err error
	if s.orders.uploadFile != "" {
		file, failure := os.Open(s.orders.uploadFile)
		if failure != nil {
			return failure
		}
		request, err = http.NewRequest(http.MethodPost, s.orders.url, file)
		request.ContentLength = int64(s.orders.postBytes)
	} else if s.orders.uploadStream {
		request, err = http.NewRequest(http.MethodPost, s.orders.url, io.LimitReader(letters{}, int64(s.orders.postBytes)))
		request.ContentLength = int64(s.orders.postBytes)
	} else if s.postBody != nil {
		request, err = http.NewRequest(http.MethodPost, s.orders.url, bytes.NewReader(s.postBody))
	} else {
		request, err = http.NewRequest(http.MethodGet, s.orders.url, nil)
	}
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "*/*")
	request.Header.Set("User-Agent", "bench")
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	length := 0
	for {
		// A body that is kept is read to its place in the buffer, one that is discarded over and over into the same.
		place := s.buffer
		if !s.orders.discards {
			if length == len(s.buffer) {
				s.buffer = append(s.buffer, make([]byte, len(s.buffer))...)
			}
			place = s.buffer[length:]
		}
		count, err := response.Body.Read(place)
		length += count
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	response.Body.Close()
	version := 1
	if s.orders.isHTTP2 {
		version = 2
	}
	switch {
	case response.StatusCode != 200:
		return fmt.Errorf("status %d instead of 200", response.StatusCode)
	case length != s.orders.bodyBytes:
		return fmt.Errorf("%d bytes instead of %d", length, s.orders.bodyBytes)
	case response.ProtoMajor != version:
		return fmt.Errorf("%s instead of HTTP/%d", response.Proto, version)
	}
	return nil
}

// Each sender has one request in flight.
func run(senders []*sender, requests int) {
	var unstarted atomic.Int64
	unstarted.Store(int64(requests))
	var group sync.WaitGroup
	for _, s := range senders {
		group.Add(1)
		go func(s *sender) {
			defer group.Done()
			s.times = s.times[:0]
			for unstarted.Add(-1) >= 0 {
				started := time.Now()
				if err := s.send(); err != nil {
					fail(err)
				}
				s.times = append(s.times, float64(time.Since(started).Nanoseconds())/1e3)
			}
		}(s)
	}
	group.Wait()
}

// The time of all threads of the process, user and system together, from the clock that the other contenders read.
func processorSeconds() float64 {
	const clockProcessCPUTime = 2
	var now syscall.Timespec
	if _, _, code := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockProcessCPUTime, uintptr(unsafe.Pointer(&now)), 0); code != 0 {
		fail(code)
	}
	return float64(now.Sec) + float64(now.Nsec)/1e9
}

func main() {
	o := readOrders(os.Args[1:])
	client := makeClient(o)
	size := 4096
	if o.discards {
		size = 256 << 10
	}
	senders := make([]*sender, o.inFlight)
	for i := range senders {
		senders[i] = &sender{orders: o, client: client, buffer: make([]byte, size)}
		if o.postBytes > 0 {
			senders[i].postBody = bytes.Repeat([]byte("x"), o.postBytes)
		}
	}
	run(senders, o.warmUp)
	started, used := time.Now(), processorSeconds()
	if o.started > 0 {
		started, used = time.UnixMicro(int64(o.started*1e6)), 0
	}
	run(senders, o.requests)
	elapsed := time.Since(started).Seconds()
	used = processorSeconds() - used
	var times []float64
	for _, s := range senders {
		times = append(times, s.times...)
	}
	sort.Float64s(times)
	quantile := func(share float64) float64 { return times[int(float64(len(times)-1)*share)] }
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err)
	}
	fmt.Printf("{\"requests\":%d,\"seconds\":%.9f,\"processorSeconds\":%.6f,\"p50\":%.3f,\"p99\":%.3f,\"peakMemory\":%d}\n",
		o.requests, elapsed, used, quantile(0.5), quantile(0.99), usage.Maxrss)
}
