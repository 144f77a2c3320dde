package kube

import (
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"k8s.io/streaming/pkg/httpstream"
)

// podConn is a connection to a pod: the pair of streams of a port-forward. It has no deadlines; whoever is in a hurry closes it.
type podConn struct {
	httpstream.Stream // of the data
	conn              httpstream.Connection
	failed            httpstream.Stream
	said              chan string // what the kubelet says of a port that it cannot reach; closed when it says nothing
}

const (
	maxSaid = 4 << 10

	// settle is how long a message may be behind the end of the data.
	settle = 2 * time.Second
)

func newPodConn(conn httpstream.Connection, data, failed httpstream.Stream) *podConn {
	c := &podConn{Stream: data, conn: conn, failed: failed, said: make(chan string, 1)}
	go func() {
		defer close(c.said)
		if message, _ := io.ReadAll(io.LimitReader(failed, maxSaid)); len(message) > 0 {
			c.said <- strings.TrimSpace(string(message))
			data.Reset()
		}
	}()
	return c
}

func (c *podConn) Read(b []byte) (int, error) {
	n, err := c.Stream.Read(b)
	return n, c.why(err)
}

func (c *podConn) Write(b []byte) (int, error) {
	n, err := c.Stream.Write(b)
	return n, c.why(err)
}

// why is what the kubelet says of an error.
func (c *podConn) why(err error) error {
	if err == nil {
		return nil
	}
	select {
	case message, ok := <-c.said:
		if ok {
			return errors.New(message)
		}
	case <-time.After(settle):
	}
	return err
}

func (c *podConn) Close() error {
	c.failed.Reset()
	err := c.Stream.Reset()
	c.conn.RemoveStreams(c.Stream, c.failed)
	return err
}

func (c *podConn) LocalAddr() net.Addr              { return podAddr{} }
func (c *podConn) RemoteAddr() net.Addr             { return podAddr{} }
func (c *podConn) SetDeadline(time.Time) error      { return nil }
func (c *podConn) SetReadDeadline(time.Time) error  { return nil }
func (c *podConn) SetWriteDeadline(time.Time) error { return nil }

// podAddr stands for an address that is known in the cluster only.
type podAddr struct{}

func (podAddr) Network() string { return "port-forward" }
func (podAddr) String() string  { return "pod" }
