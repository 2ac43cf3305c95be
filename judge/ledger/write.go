package ledger

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// flushLocked writes and syncs what is pending. It lets go of the lock while it does: whoever comes meanwhile adds to the
// next flush. A failed write fails the log for good: what is on disk after it is not known.
func (l *Ledger) flushLocked() {
	batch, coming, through := l.pending, l.coming, l.next-1
	l.pending, l.coming = nil, nil
	l.busy, l.flying = true, int64(len(batch))
	at := l.size
	l.mu.Unlock()
	_, err := l.file.WriteAt(batch, at)
	if err == nil {
		err = l.file.Sync()
	}
	l.mu.Lock()
	l.busy, l.flying = false, 0
	if err != nil {
		l.failed = err
	} else {
		l.size += int64(len(batch))
		l.durable = through
		for _, n := range coming {
			l.noteLocked(n)
		}
		if len(l.frames) >= SealRecords {
			select {
			case l.due <- struct{}{}:
			default: // told already
			}
		}
	}
	l.cond.Broadcast()
}

// Completed is the final record of a key. A key without one is to be asked.
func (l *Ledger) Completed(key string) (Record, bool) {
	l.mu.Lock()
	at, ok := l.index[key]
	closed := l.closed
	l.mu.Unlock()
	if !ok || closed {
		return Record{}, false
	}
	r, err := l.read(at)
	if err != nil || r.Key != key { // unreadable is not completed: it is asked again
		return Record{}, false
	}
	return r, true
}

func (l *Ledger) read(at span) (Record, error) {
	buf := make([]byte, at.length)
	if _, err := l.file.ReadAt(buf, at.offset); err != nil {
		return Record{}, err
	}
	var out Record
	n := 0
	_, err := frames(bytes.NewReader(buf), func(_ int64, _ byte, payload []byte) error {
		n++
		return json.Unmarshal(payload, &out)
	})
	if err == nil && n != 1 {
		err = errors.New("damaged record")
	}
	return out, err
}

// All is every record in the order in which they were appended.
func (l *Ledger) All() ([]Record, error) {
	l.mu.Lock()
	size, closed := l.size, l.closed
	l.mu.Unlock()
	if closed {
		return nil, fmt.Errorf("read ledger %s: %w", l.runID, os.ErrClosed)
	}
	out, err := Decode(io.NewSectionReader(l.file, 0, size))
	if err != nil {
		return nil, fmt.Errorf("read ledger %s: %w", l.runID, err)
	}
	return out, nil
}

// Decode is every record of a ledger or of a sealed segment, or of what is whole of it.
func Decode(r io.Reader) ([]Record, error) {
	var out []Record
	_, err := frames(r, func(at int64, kind byte, payload []byte) error {
		if kind != kindRecord {
			return nil
		}
		var rec Record
		if err := json.Unmarshal(payload, &rec); err != nil {
			return fmt.Errorf("record at %d: %w", at, err)
		}
		out = append(out, rec)
		return nil
	})
	return out, err
}

// Close waits for writes that are under way and closes the file.
func (l *Ledger) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	for l.busy {
		l.cond.Wait()
	}
	if len(l.pending) > 0 && l.failed == nil { // marks of what is sealed
		l.flushLocked()
	}
	l.closed = true
	l.cond.Broadcast()
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("close ledger %s: %w", l.runID, err)
	}
	return nil
}

// ReadFile is every record of a ledger or of a sealed segment that no process has open for writing now, or of what is whole of
// it.
func ReadFile(name string) ([]Record, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	defer f.Close()
	out, err := Decode(f)
	if err != nil {
		return nil, fmt.Errorf("read ledger %s: %w", name, err)
	}
	return out, nil
}
