package stats

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// SampleSmallest draws n of ids without replacement: those with the smallest SHA-256(seed \0 id), in ascending order
// of that hash. The draw does not depend on the order of ids, a smaller sample is a prefix of a larger one, and a new
// id displaces at most one of the drawn. Repeated ids count once; when there are at most n, all are returned.
func SampleSmallest(seed string, ids []string, n int) []string {
	if n <= 0 || len(ids) == 0 {
		return nil
	}
	n = min(n, len(ids))
	// Only the smallest n so far are kept, and cut back when twice as many have gathered: memory follows n, not ids.
	kept := make([]draw, 0, min(len(ids), 2*n+64))
	buf := append([]byte(seed), 0)
	prefix := len(buf)
	for _, id := range ids {
		buf = append(buf[:prefix], id...)
		kept = append(kept, draw{sha256.Sum256(buf), id})
		if len(kept) == cap(kept) {
			kept = smallest(kept, n)
		}
	}
	kept = smallest(kept, n)
	out := make([]string, len(kept))
	for i, d := range kept {
		out[i] = d.id
	}
	return out
}

type draw struct {
	hash [sha256.Size]byte
	id   string
}

func smallest(draws []draw, n int) []draw {
	slices.SortFunc(draws, func(a, b draw) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	draws = slices.CompactFunc(draws, func(a, b draw) bool { return a.hash == b.hash })
	return draws[:min(n, len(draws))]
}
