package clusterhooks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"kopshook.dev/kopshook/internal/report"
)

// Script is an executable of a hook.
type Script struct {
	Name    string
	Content []byte
}

// A workDir is a hook's folder for one cluster: its scripts, its log, and what it likes to keep there.
type workDir struct {
	path string
	lock *os.File
	log  *os.File
}

// DefaultWorkDir is where work folders are when nothing else is said: $XDG_STATE_HOME/kopshook.
func DefaultWorkDir(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kopshook"), nil
	}
	if home := getenv("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "kopshook"), nil
	}
	return "", report.Hint("give one with --work-dir", "there is no home folder for the work folders of hooks")
}

// openWorkDir makes the folder of a hook and puts its scripts there. While it is open no other kopshook uses it: ctx
// bounds how long to wait for that.
func openWorkDir(ctx context.Context, root string, c *Cluster, h *Hook, scripts []Script) (w *workDir, err error) {
	if !filepath.IsLocal(c.Name) || filepath.Base(c.Name) != c.Name {
		return nil, fmt.Errorf("cluster name %q cannot be the name of a folder", c.Name)
	}
	parent := filepath.Join(root, c.Name)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, err
	}
	w = &workDir{path: filepath.Join(parent, h.Name)}
	if w.lock, err = lockFile(ctx, filepath.Join(parent, "."+h.Name+".lock")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	if slices.Contains(h.DeletePolicy, BeforeHookCreation) {
		if err := os.RemoveAll(w.path); err != nil {
			return nil, err
		}
	}
	if err := os.RemoveAll(w.scripts()); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(w.scripts(), 0o700); err != nil {
		return nil, err
	}
	for _, s := range scripts {
		if err := os.WriteFile(filepath.Join(w.scripts(), s.Name), s.Content, 0o700); err != nil {
			return nil, err
		}
	}
	w.log, err = os.OpenFile(filepath.Join(w.path, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return w, err
}

func (w *workDir) scripts() string { return filepath.Join(w.path, "scripts") }

// finish removes the folder if the hook's delete policies say so, and lets go of it.
func (w *workDir) finish(h *Hook, succeeded bool) (removed bool, err error) {
	defer w.close()
	policy := HookFailed
	if succeeded {
		policy = HookSucceeded
	}
	if !slices.Contains(h.DeletePolicy, policy) {
		return false, nil
	}
	return true, os.RemoveAll(w.path)
}

func (w *workDir) close() {
	if w.log != nil {
		w.log.Close()
	}
	w.lock.Close() // the lock goes with it
}

// lockFile takes an exclusive lock, and waits for it as long as ctx allows.
func lockFile(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		locked, err := tryLock(f)
		if locked {
			return f, nil
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, report.Hint("wait until that one is done", "the hook is being run by another kopshook: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}
