package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// sealLimit closes a segment's batch: a put of this size is quick everywhere.
const sealLimit = 32 << 20

// Seal puts what is not yet in a segment into one (several, if it is much) and remembers that it did. put must write the
// whole object or nothing; it may be called again with the same name and bytes. Call Seal from one goroutine at a time.
func (l *Ledger) Seal(ctx context.Context, put func(name string, data []byte) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("seal ledger %s: %w", l.runID, context.Cause(ctx))
		}
		l.mu.Lock()
		batch, size := 0, 0
		for batch < len(l.frames) && size < sealLimit {
			size += l.frames[batch].length
			batch++
		}
		take := append([]frameSpan(nil), l.frames[:batch]...)
		closed := l.closed
		l.mu.Unlock()
		if len(take) == 0 || closed {
			return nil
		}
		if err := l.seal(take, put); err != nil {
			return fmt.Errorf("seal ledger %s: %w", l.runID, err)
		}
	}
}

func (l *Ledger) seal(take []frameSpan, put func(name string, data []byte) error) error {
	var data []byte
	var last int64
	for _, f := range take {
		at := len(data)
		data = append(data, make([]byte, f.length)...)
		if _, err := l.file.ReadAt(data[at:], f.offset); err != nil {
			return fmt.Errorf("read record %d: %w", f.seq, err)
		}
		last = max(last, f.seq)
	}
	sum := sha256.Sum256(data)
	// The hash is in the name: another machine that goes on with the run never overwrites this segment.
	if err := put(fmt.Sprintf("%010d-%s.segment", last, hex.EncodeToString(sum[:6])), data); err != nil {
		return err
	}
	mark, err := json.Marshal(sealedMark{Through: last})
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sealedTo(last)
	if l.closed || l.failed != nil {
		return nil
	}
	// The mark is written with the next flush. If it is lost, the records are sealed once more, which does no harm.
	l.pending = appendFrame(l.pending, kindSealed, mark)
	return nil
}

// sealedTo forgets frames that lie in segments.
func (l *Ledger) sealedTo(through int64) {
	kept := l.frames[:0]
	for _, f := range l.frames {
		if f.seq > through {
			kept = append(kept, f)
		}
	}
	l.frames = kept
}

// KeepSealing seals every SealInterval and as soon as SealRecords wait, until ctx is done; then it seals what is left and
// returns. A failed put is tried again at the next turn; only the last one's error is returned.
func (l *Ledger) KeepSealing(ctx context.Context, put func(ctx context.Context, name string, data []byte) error) error {
	tick := time.NewTicker(SealInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
			defer cancel()
			return l.Seal(last, func(name string, data []byte) error { return put(last, name, data) })
		case <-tick.C:
		case <-l.due:
		}
		// What could not be put stays due.
		_ = l.Seal(ctx, func(name string, data []byte) error { return put(ctx, name, data) })
	}
}

// Load takes records of sealed segments that are not in the log, so that a run goes on where another machine left it. It
// returns how many it took. A damaged segment gives its whole records.
func (l *Ledger) Load(segments [][]byte) (int, error) {
	var all []Record
	for i, s := range segments {
		records, err := Decode(bytes.NewReader(s))
		if err != nil {
			return 0, fmt.Errorf("load segment %d into ledger %s: %w", i, l.runID, err)
		}
		all = append(all, records...)
	}
	// The last final record of a key counts, whatever the order of the segments.
	slices.SortStableFunc(all, func(a, b Record) int {
		if c := cmp.Compare(a.Seq, b.Seq); c != 0 {
			return c
		}
		x, y := identity(&a), identity(&b)
		return bytes.Compare(x[:], y[:])
	})
	n := 0
	for _, r := range all {
		l.mu.Lock()
		known := l.seen[identity(&r)]
		var err error
		if !known {
			err = l.appendLocked(r)
		}
		l.mu.Unlock()
		if err != nil {
			return n, err
		}
		if !known {
			n++
		}
	}
	return n, nil
}
