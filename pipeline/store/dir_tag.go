package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"
)

// An ETag of a file is a hash of its bytes: 128 bits of SHA-256. Size, time and inode would be cheaper and wrong twice:
// a write within one tick of the clock keeps them, and a copy of a directory changes them, and with them every table
// that says which objects were read.
func tagOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hexTag(sum[:])
}

func hexTag(sum []byte) string { return hex.EncodeToString(sum[:16]) }

// identity is what the file system tells about a file without reading it.
type identity struct {
	dev, ino      uint64
	size          int64
	mtime, ctime  int64 // Unix nanoseconds; ctime is 0 where there is none
	coarseSeconds bool  // times look like whole seconds, so they may be
}

// settled tells whether a later write must change the identity: the file is older than one tick of its clock.
func (id identity) settled(now time.Time) bool {
	tick := 50 * time.Millisecond // Linux stamps files at most every 10 ms
	if id.coarseSeconds {
		tick = 3 * time.Second // FAT counts in steps of 2 s
	}
	return now.UnixNano()-max(id.mtime, id.ctime) > int64(tick)
}

// tagMemo remembers ETags, so that reading a file in ranges does not hash it every time. It trusts an identity only
// when it had settled before the hash began.
type tagMemo struct {
	mu   sync.Mutex
	tags map[identity]string
}

const maxTags = 1 << 16 // about 10 MB

func newTagMemo() *tagMemo { return &tagMemo{tags: map[identity]string{}} }

// known is the ETag of a file with that identity, if it was hashed.
func (m *tagMemo) known(id identity) (tag string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tag, ok = m.tags[id]
	return tag, ok
}

// of returns the ETag of the open file f; the file's offset is 0 before and after.
func (m *tagMemo) of(ctx context.Context, f *os.File, info fs.FileInfo) (string, error) {
	id := identify(info)
	if tag, ok := m.known(id); ok {
		return tag, nil
	}
	keep := id.ino != 0 && id.settled(time.Now())
	h := sha256.New()
	if _, err := io.Copy(h, reader{ctx, io.NewSectionReader(f, 0, info.Size())}); err != nil {
		return "", err
	}
	tag := hexTag(h.Sum(nil))
	if keep {
		m.mu.Lock()
		if len(m.tags) >= maxTags {
			clear(m.tags) // a scan over more files than fit gains nothing from a smarter choice
		}
		m.tags[id] = tag
		m.mu.Unlock()
	}
	return tag, nil
}
