package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"

	"kopshook.dev/kopshook/internal/report"
)

// Tunnel is a way to a Service through the API server: a port-forward to a ready pod, as kubectl makes it, but without a port of
// this machine.
type Tunnel struct {
	api             *API
	namespace, name string
	port            int

	mu       sync.Mutex
	conn     httpstream.Connection // nil before it is open
	to       endpoint
	requests int
}

// Tunnel returns a way to a port of a Service. Nothing is opened before Open.
func (a *API) Tunnel(namespace, name string, port int) *Tunnel {
	return &Tunnel{api: a, namespace: namespace, name: name, port: port}
}

// Open opens the tunnel, unless it is open: a pod that went away has another in its place.
func (t *Tunnel) Open(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		select {
		case <-t.conn.CloseChan():
			t.conn = nil
		default:
			return nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	to, err := t.api.endpoint(ctx, t.namespace, t.name, t.port)
	if err != nil {
		return err
	}
	conn, err := t.api.upgrade(ctx, to)
	if err != nil {
		return report.Hint(fmt.Sprintf("try `kubectl --context %s --namespace %s port-forward pod/%s %d`", t.api.name, to.namespace, to.pod, to.port),
			"cannot forward port %d of pod %s/%s: %w", to.port, to.namespace, to.pod, err)
	}
	t.conn, t.to = conn, to
	return nil
}

// upgrade makes a connection of a request, over which others go: over a WebSocket, or else, with older API servers, over SPDY.
func (a *API) upgrade(ctx context.Context, to endpoint) (httpstream.Connection, error) {
	u := a.base.JoinPath("api", "v1", "namespaces", to.namespace, "pods", to.pod, "portforward")
	transport, upgrader, err := spdy.RoundTripperFor(a.config)
	if err != nil {
		return nil, err
	}
	now, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, a.config)
	if err != nil {
		return nil, err
	}
	dialer := portforward.NewFallbackDialerForStreaming(now, spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, u),
		func(err error) bool { return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err) })
	type answer struct {
		conn httpstream.Connection
		err  error
	}
	dialed := make(chan answer, 1)
	go func() {
		conn, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		dialed <- answer{conn, err}
	}()
	select {
	case got := <-dialed:
		return got.conn, got.err
	case <-ctx.Done():
		go func() {
			if late := <-dialed; late.err == nil {
				late.conn.Close()
			}
		}()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("no answer within %s", askTimeout)
		}
		return nil, ctx.Err()
	}
}

// Dial opens a connection to the pod. A kubelet that cannot reach its port says so when it is read from.
func (t *Tunnel) Dial() (net.Conn, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == nil {
		return nil, errors.New("the port-forward is not open")
	}
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(t.to.port))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(t.requests))
	t.requests++
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	failed, err := t.conn.CreateStream(headers)
	if err != nil {
		return nil, err
	}
	failed.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := t.conn.CreateStream(headers)
	if err != nil {
		failed.Reset()
		return nil, err
	}
	return newPodConn(t.conn, data, failed), nil
}

// Close ends the port-forward.
func (t *Tunnel) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn != nil {
		t.conn.Close()
		t.conn = nil
	}
}
