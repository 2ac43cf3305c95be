package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// dirLock serialises the short moments in which writers of one root look at a name and change it, also across
// processes. Bodies are written outside of it. The lock is the kernel's, on a file in .tracejury/ below the root: it ends
// with its process, so there is nothing to break after a crash. Opening one directory by two different roots gives
// two locks: a dataset has one root.
type dirLock struct {
	dir   string
	local chan struct{} // held before the file, so that goroutines queue here and do not poll
	own   sync.Map      // names of temporary files that this process is writing
}

func newDirLock(root string) *dirLock {
	return &dirLock{dir: filepath.Join(root, reservedPrefix), local: make(chan struct{}, 1)}
}

const (
	lockPollMin = time.Millisecond
	lockPollMax = 50 * time.Millisecond
)

// acquire waits for the lock or for the end of ctx.
func (l *dirLock) acquire(ctx context.Context) (release func(), err error) {
	if ctx.Err() != nil { // select would choose by chance
		return nil, context.Cause(ctx)
	}
	select {
	case l.local <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() {
		if err != nil {
			<-l.local
		}
	}()
	f, err := l.lockFile()
	if err != nil {
		return nil, err
	}
	// Polling instead of waiting in the kernel: a thread that sleeps there cannot be cancelled.
	for wait := lockPollMin; ; wait = min(2*wait, lockPollMax) {
		ok, err := tryLock(f)
		if ok {
			return func() {
				_ = f.Close() // gives the lock back
				<-l.local
			}, nil
		}
		if err == nil {
			err = sleep(ctx, wait/2+rand.N(wait))
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
	}
}

func (l *dirLock) lockFile() (*os.File, error) {
	const flags = os.O_RDWR | os.O_CREATE
	path := filepath.Join(l.dir, "lock")
	f, err := os.OpenFile(path, flags, 0o644)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(l.tempDir(), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, flags, 0o644)
}

func (l *dirLock) tempDir() string { return filepath.Join(l.dir, "tmp") }

// tempFile is a body on its way. Its writer holds a lock on it, so one without a lock belongs to nobody.
type tempFile struct {
	f   *os.File
	own *sync.Map
}

func (t *tempFile) discard() {
	_ = t.f.Close()
	_ = os.Remove(t.f.Name()) // gone already after a rename
	t.own.Delete(t.f.Name())
}

// temp creates a temporary file, and removes those that dead processes have left. Both happen under the lock, so that
// nobody sees a new file before it is locked.
func (l *dirLock) temp(ctx context.Context) (*tempFile, error) {
	unlock, err := l.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := os.MkdirAll(l.tempDir(), 0o755); err != nil {
		return nil, err
	}
	l.sweepLocked()
	for try := 0; ; try++ {
		name := filepath.Join(l.tempDir(), fmt.Sprintf("%016x", rand.Uint64()))
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // objects hold transcripts
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		if err != nil {
			return nil, err
		}
		if _, err := tryLock(f); err != nil {
			_ = f.Close()
			_ = os.Remove(name)
			return nil, err
		}
		l.own.Store(name, nil)
		return &tempFile{f, &l.own}, nil
	}
}

func (l *dirLock) sweepLocked() {
	entries, err := os.ReadDir(l.tempDir())
	if err != nil {
		return // the next step says it
	}
	for _, e := range entries {
		name := filepath.Join(l.tempDir(), e.Name())
		if !e.Type().IsRegular() || strings.ContainsRune(e.Name(), '.') {
			continue // not ours
		}
		if _, alive := l.own.Load(name); alive {
			continue // there may be many
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if ok, err := tryLock(f); ok && err == nil {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}
