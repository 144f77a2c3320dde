//go:build !linux

package localcluster

import (
	"context"
	"errors"
	"net"
)

var errNotLinux = errors.New("nodes are booted on Linux only")

type netns struct{}

func newNetns() (*netns, error)                                       { return nil, errNotLinux }
func (*netns) path() string                                           { return "" }
func (*netns) close()                                                 {}
func (*netns) ip(...string) error                                     { return errNotLinux }
func (*netns) listen(string) (net.Listener, error)                    { return nil, errNotLinux }
func (*netns) dial(context.Context, string, string) (net.Conn, error) { return nil, errNotLinux }

type program struct{}

func (*program) stop() {}

func findProgram(string, string) (string, error)           { return "", errNotLinux }
func (c *Cluster) begin(string, []string, ...string) error { return errNotLinux }
func (c *Cluster) output(context.Context, string, []string, ...string) ([]byte, error) {
	return nil, errNotLinux
}

// Log is what a program of the control plane has printed.
func (c *Cluster) Log(string) string { return "" }
