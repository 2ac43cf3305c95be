package mask

import "hash/maphash"

const (
	cachedEntries = 2048 // a power of two; about 256 KiB, which stays in a core's cache
	cachedBytes   = 120  // of a key and a text together
)

// Cached is a Masker that remembers short texts in which it found nothing: most attributes of a span hold one of few values.
// What it returns and counts is what the Masker would. It is not safe for concurrent use.
type Cached struct {
	*Masker
	seed    maphash.Seed
	entries []cleanText
	found   Counts // of one text
}

// cleanText is a key and a text that are known to stay as they are.
type cleanText struct {
	key, text uint8 // their lengths; none of both is no entry
	bytes     [cachedBytes]byte
}

// Cached returns a Masker of the same rules with a memory of its own.
func (m *Masker) Cached() *Cached {
	return &Cached{Masker: m, seed: maphash.MakeSeed(), entries: make([]cleanText, cachedEntries), found: Counts{}}
}

// String is Masker.String.
func (m *Cached) String(s string, c Counts) string { return m.Leaf("", s, c) }

// Leaf is Masker.Leaf.
func (m *Cached) Leaf(key, s string, c Counts) string {
	if s == "" || len(key)+len(s) > cachedBytes {
		return m.Masker.Leaf(key, s, c)
	}
	e := m.entry(key, s)
	if e.is(key, s) {
		return s
	}
	out := m.Masker.Leaf(key, s, m.found)
	if len(m.found) == 0 && out == s {
		e.set(key, s)
		return s
	}
	if c != nil {
		for kind, n := range m.found {
			c[kind] += n
		}
	}
	clear(m.found)
	return out
}

func (m *Cached) entry(key, s string) *cleanText {
	h := maphash.String(m.seed, s)
	if key != "" {
		h ^= maphash.String(m.seed, key) * 0x9e3779b97f4a7c15 // so that equal texts do not cancel out
	}
	return &m.entries[h%cachedEntries]
}

func (e *cleanText) is(key, s string) bool {
	k, n := int(e.key), int(e.key)+int(e.text)
	return k == len(key) && n == k+len(s) && string(e.bytes[k:n]) == s && string(e.bytes[:k]) == key
}

func (e *cleanText) set(key, s string) {
	e.key, e.text = uint8(len(key)), uint8(len(s))
	copy(e.bytes[copy(e.bytes[:], key):], s)
}
