package localcluster

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// netns is a network namespace. A thread of this process is in it, and whatever that thread starts or opens; it is gone
// with this process.
type netns struct {
	calls chan func()
	file  *os.File
}

func newNetns() (*netns, error) {
	n := &netns{calls: make(chan func())}
	made := make(chan error)
	go onThread(func() {
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			n.file, err = os.Open("/proc/thread-self/ns/net")
		}
		if made <- err; err != nil {
			return
		}
		for call := range n.calls {
			call()
		}
	})
	if err := <-made; err != nil {
		return nil, fmt.Errorf("making a network namespace: %w", err)
	}
	if err := n.ip("link", "set", "lo", "up"); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// onThread calls f on a thread that ends with it. The first thread of a process never does, so it is not taken.
func onThread(f func()) {
	runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	taken := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		close(taken)
		f()
	}()
	<-taken // this thread is held meanwhile, so that was another
	runtime.UnlockOSThread()
}

// do calls f in the namespace. Processes that f starts with Pdeathsig end with the namespace.
func (n *netns) do(f func() error) error {
	result := make(chan error)
	n.calls <- func() { result <- f() }
	return <-result
}

// path names the namespace for other programs, as long as it is there.
func (n *netns) path() string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), n.file.Fd()) }

func (n *netns) close() {
	close(n.calls)
	n.file.Close()
}

// ip runs ip(8).
func (n *netns) ip(args ...string) error {
	return n.do(func() error {
		if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %q: %w: %s", args, err, out)
		}
		return nil
	})
}

func (n *netns) listen(address string) (l net.Listener, err error) {
	err = n.do(func() error {
		l, err = net.Listen("tcp", address)
		return err
	})
	return l, err
}

// dial is for http.Transport; the address is a number, so that nobody is asked for it.
func (n *netns) dial(ctx context.Context, _, address string) (c net.Conn, err error) {
	err = n.do(func() error {
		c, err = new(net.Dialer).DialContext(ctx, "tcp", address)
		return err
	})
	return c, err
}
