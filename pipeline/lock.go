package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/tracejury/tracejury/pipeline/store"
)

const (
	lockKey       = "_lock"
	lockHeartbeat = time.Minute
	lockStale     = 10 * time.Minute
)

// lockHolder is the content of _lock.
type lockHolder struct {
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	PIDs    string    `json:"pid_namespace,omitempty"` // in which PID means something; containers share host names, not this
	Started time.Time `json:"started"`
	Beat    time.Time `json:"beat"`
}

func (h lockHolder) String() string {
	if h.PID == 0 {
		return "a process that left an unreadable " + lockKey
	}
	return fmt.Sprintf("process %d on %s since %s", h.PID, h.Host, h.Started.UTC().Format(time.RFC3339))
}

// dead says that the holder is known to be gone: a process of this host, in a namespace that this process sees, that no longer
// runs.
func (h lockHolder) dead(host string) bool {
	return h.Host == host && h.PIDs == pidNamespace() && h.PID > 0 && errors.Is(syscall.Kill(h.PID, 0), syscall.ESRCH)
}

// pidNamespace names the set of processes that this one sees; "" where the system has no such thing.
func pidNamespace() string {
	ns, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return ns
}

// lock is the held writer lock of a data root. Its heartbeat cancels the context it handed out if the lock is lost.
type lock struct {
	st     store.Store
	key    string
	holder lockHolder
	etag   string
	cancel context.CancelCauseFunc
	done   chan struct{}
}

var errLockLost = errors.New("the writer lock was taken by someone else")

// acquireLock takes the lock at key of st, from a dead or stale holder or, with breakLock, from anyone. The returned context
// ends when the lock is lost. The caller must release the lock.
func acquireLock(ctx context.Context, st store.Store, key string, breakLock bool, log *slog.Logger) (*lock, context.Context, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, nil, fmt.Errorf("take lock: %w", err)
	}
	now := time.Now().UTC()
	l := &lock{st: st, key: key, holder: lockHolder{Host: host, PID: os.Getpid(), PIDs: pidNamespace(), Started: now, Beat: now}, done: make(chan struct{})}
	obj, err := st.PutIfAbsent(ctx, key, l.body(), store.PutOptions{ContentType: "application/json"})
	if errors.Is(err, fs.ErrExist) {
		obj, err = l.takeOver(ctx, host, breakLock, log)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("take lock: %w", err)
	}
	l.etag = obj.ETag
	ctx, l.cancel = context.WithCancelCause(ctx)
	go l.beat(ctx)
	return l, ctx, nil
}

func (l *lock) body() *bytes.Reader {
	b, _ := json.Marshal(l.holder) // plain fields: cannot fail
	return bytes.NewReader(append(b, '\n'))
}

func (l *lock) takeOver(ctx context.Context, host string, force bool, log *slog.Logger) (store.Object, error) {
	data, obj, err := l.st.Get(ctx, l.key, "")
	if errors.Is(err, fs.ErrNotExist) {
		return l.st.PutIfAbsent(ctx, l.key, l.body(), store.PutOptions{})
	}
	if err != nil {
		return obj, err
	}
	var held lockHolder
	if err := json.Unmarshal(data, &held); err != nil {
		held = lockHolder{Beat: obj.Modified}
	}
	age := time.Since(held.Beat)
	if !force && age < lockStale && !held.dead(host) {
		return obj, &ExitError{Code: ExitLocked, Err: fmt.Errorf("%s is being written by %s (last sign of life %s ago)", l.st.URI(), held, age.Round(time.Second)),
			Hint: fmt.Sprintf("wait for it to end; it counts as dead %s after its last sign of life; --break-lock takes the lock now", lockStale)}
	}
	log.Warn("taking over the lock", "from", held.String(), "age", age.Round(time.Second).String())
	got, err := l.st.PutIfMatch(ctx, l.key, l.body(), obj.ETag, store.PutOptions{})
	if errors.Is(err, store.ErrChanged) {
		return got, &ExitError{Code: ExitLocked, Err: fmt.Errorf("%s: someone else took the lock of a dead holder first", l.st.URI())}
	}
	return got, err
}

func (l *lock) beat(ctx context.Context) {
	defer close(l.done)
	t := time.NewTicker(lockHeartbeat)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		l.holder.Beat = time.Now().UTC()
		obj, err := l.st.PutIfMatch(ctx, l.key, l.body(), l.etag, store.PutOptions{})
		switch {
		case err == nil:
			l.etag = obj.ETag
		case errors.Is(err, store.ErrChanged):
			l.cancel(errLockLost)
			return
		}
		// any other failure: the next beat tries again, long before the lock is stale
	}
}

// release gives the lock back. It works on after the job's context has ended.
func (l *lock) release(ctx context.Context) {
	l.cancel(nil)
	<-l.done
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	// There is no conditional delete: whoever takes the lock between these two calls finds it released, or loses it to a
	// third and stops at the first bucket's ETag. A mark that is not ours is left alone.
	l.holder.Beat = time.Time{}
	if _, err := l.st.PutIfMatch(ctx, l.key, l.body(), l.etag, store.PutOptions{}); err == nil {
		_ = l.st.Delete(ctx, l.key) // what stays behind counts as dead
	}
}
