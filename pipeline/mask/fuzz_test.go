package mask_test

import (
	"testing"

	"github.com/tracejury/tracejury/pipeline/mask"
)

// FuzzMasker checks the laws of the package. The seeds are assembled at run time, since a stored one would look like
// a leak to every scanner.
func FuzzMasker(f *testing.F) {
	wraps := carriers()
	for i, s := range corpus() {
		f.Add(s.text)
		f.Add(wraps[i%len(wraps)].wrap(s.text))
	}
	for _, s := range clean() {
		f.Add(s)
	}
	for _, s := range fragments() {
		f.Add(s)
	}
	plain, all := mask.New(mask.Options{}), mask.New(mask.Options{PII: true, Key: []byte("k")})
	f.Fuzz(func(t *testing.T, in string) {
		checkLaws(t, plain, in)
		checkLaws(t, all, in)
	})
}
