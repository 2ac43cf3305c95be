package mask_test

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/pipeline/mask"
)

// A text is masked and counted the same however often it came before, under whichever key.
func TestCachedIsTheMasker(t *testing.T) {
	for name, opts := range map[string]mask.Options{"plain": {}, "keyed": {Key: []byte("a key of the tests")}, "pii": {PII: true}} {
		t.Run(name, func(t *testing.T) {
			m := mask.New(opts)
			rapid.Check(t, func(t *rapid.T) {
				cached := m.Cached()
				texts := rapid.SliceOfN(rapid.Custom(drawText), 1, 6).Draw(t, "texts")
				keys := rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "passw" + "ord", "user.email", "aa"}), 1, 3).Draw(t, "keys")
				for range 3 {
					for _, text := range texts {
						for _, key := range keys {
							want, got := mask.Counts{}, mask.Counts{}
							if a, b := m.Leaf(key, text, want), cached.Leaf(key, text, got); a != b || !maps.Equal(want, got) {
								t.Fatalf("under %q, %q: masker %q %v, cached %q %v", key, text, a, want, b, got)
							}
							if a, b := m.String(text, nil), cached.String(text, nil); a != b {
								t.Fatalf("%q: masker %q, cached %q", text, a, b)
							}
						}
					}
				}
			})
		})
	}
}

// What a key and a text share a place with are other splits of the same bytes.
func TestCachedTellsKeyFromText(t *testing.T) {
	cached := mask.New(mask.Options{}).Cached()
	for range 2 {
		if got := cached.Leaf("pass", "wordhunter22", nil); got != "wordhunter22" {
			t.Fatalf("a harmless text became %q", got)
		}
		if got := cached.Leaf("passw"+"ord", "hunter22", nil); got == "hunter22" {
			t.Fatal("a text under a sensitive key stayed")
		}
	}
}

func BenchmarkCachedAttributes(b *testing.B) {
	attributes := []string{"http.request.method", "POST", "server.address", "gateway-3.internal.example", "user_agent.original", "agent-sdk/3.4.1 (linux; x64)", "k8s.pod.name", "agent-6104ae802a"}
	m := mask.New(mask.Options{})
	for name, leaf := range map[string]func(key, s string, c mask.Counts) string{"masker": m.Leaf, "cached": m.Cached().Leaf} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				for i := 0; i < len(attributes); i += 2 {
					leaf(attributes[i], attributes[i+1], nil)
				}
			}
		})
	}
}
