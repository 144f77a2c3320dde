// Package kubetest plays parts of a cluster on this machine, for tests: the end of a port-forward that a kubelet is, and an
// API server that knows a few objects.
package kubetest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// ServePortForward answers a request for a port-forward as a kubelet does: each pair of streams is a connection to the port of
// the pod. Here the pod's ports are this machine's.
func ServePortForward(w http.ResponseWriter, req *http.Request) { servePortForward(w, req, nil) }

// servePortForward does it until stop is closed.
func servePortForward(w http.ResponseWriter, req *http.Request, stop <-chan struct{}) {
	if _, err := httpstream.Handshake(req, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	streams := make(chan httpstream.Stream, 8)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, req, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	waiting := map[string]httpstream.Stream{} // error streams, by request
	var pairs sync.WaitGroup
	defer pairs.Wait()
	defer conn.Close()
	for {
		select {
		case <-conn.CloseChan():
			return
		case <-stop:
			return
		case s := <-streams:
			id := s.Headers().Get("requestID")
			if s.Headers().Get("streamType") == "error" {
				waiting[id] = s
				continue
			}
			failed := waiting[id]
			delete(waiting, id)
			pairs.Go(func() { connect(s, failed) })
		}
	}
}

func connect(data, failed httpstream.Stream) {
	defer data.Reset()
	defer failed.Reset()
	port := data.Headers().Get("port")
	to, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", port), 5*time.Second)
	if err != nil {
		fmt.Fprintf(failed, "error forwarding port %s: %v", port, err)
		failed.Close()
		time.Sleep(100 * time.Millisecond) // a reset must not come before the message
		return
	}
	defer to.Close()
	failed.Close()
	done := make(chan struct{}, 2)
	go func() { io.Copy(to, data); to.(*net.TCPConn).CloseWrite(); done <- struct{}{} }()
	go func() { io.Copy(data, to); data.Close(); done <- struct{}{} }()
	<-done
	<-done
}
