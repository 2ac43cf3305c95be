package mask_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/mask"
)

// The scans look at several bytes at a time: what is found must not depend on where it lies in the text.
func TestSecretsAreFoundAtEveryOffset(t *testing.T) {
	m := mask.New(mask.Options{})
	key := "AKIA" + "QWERTYUIOPASDFGH"
	for name, secret := range map[string]string{"plain": key, "base64": base64.RawStdEncoding.EncodeToString([]byte(key))} {
		for _, filler := range []string{"a b", "\n", "é ", `\"`} {
			for before := range 40 {
				for after := range 12 {
					text := strings.Repeat(filler, before) + " " + strings.Repeat("w", before%9) + " " + secret + " " + strings.Repeat("z", after)
					if out := m.String(text, nil); strings.Contains(out, secret) {
						t.Fatalf("%s key behind %d times %q and before %d bytes stays", name, before, filler, after)
					}
				}
			}
		}
	}
}
