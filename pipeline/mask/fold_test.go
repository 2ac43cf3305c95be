package mask_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/mask"
)

// foldAt breaks a text at a width, whatever stands there, and begins each further line with lead.
func foldAt(s string, width int, lead string) string {
	var b strings.Builder
	for len(s) > width {
		b.WriteString(s[:width] + "\n" + lead)
		s = s[width:]
	}
	return b.String() + s
}

// A private key whose BEGIN and END lines were cut by a wrap at any width is masked whole; what surrounds it stays.
func TestPrivateKey_WrappedAtAnyWidth(t *testing.T) {
	m := mask.New(mask.Options{})
	var body strings.Builder
	for range 3 {
		body.WriteString("MIIEpAIBAAKCAQEAfakeFAKEfake" + strings.Repeat("FaKe1", 7) + "x\n")
	}
	for _, kind := range []string{"", "RSA ", "OPENSSH ", "ENCRYPTED "} {
		key := "-----BEGIN " + kind + "PRIVATE" + " KEY-----\n" + body.String() + "-----END " + kind + "PRIVATE" + " KEY-----"
		for _, text := range []string{key, strings.ReplaceAll(key, "\n", " ")} {
			for width := 12; width < 80; width++ {
				for _, lead := range []string{"", "  ", "> ", "\t"} {
					folded := foldAt(text, width, lead)
					ends := strings.Contains(folded, "END") // where that word itself is cut, all that follows goes too
					got := m.String("before\n"+folded+"\nafter", nil)
					if !strings.HasPrefix(got, "before\n") || ends && !strings.HasSuffix(got, "\nafter") || strings.Contains(got, "MIIE") || strings.Contains(got, "FaKe") {
						t.Fatalf("%q at %d with %q: %q", kind, width, lead, got)
					}
				}
			}
		}
	}
	certificate := foldAt("-----BEGIN CERTIFICATE-----\n"+body.String()+"-----END CERTIFICATE-----", 20, "")
	if got := m.String(certificate, nil); got != certificate {
		t.Errorf("a certificate was masked: %q", got)
	}
}

// A header that is folded over lines is one header.
func TestAuthorization_FoldedOverLines(t *testing.T) {
	m := mask.New(mask.Options{})
	token := strings.Repeat("fakeFAKE1", 4)
	for _, s := range []string{"Authorization: Bearer\n %s", "Authorization: Bearer\r\n\t%s", "authorization:\n Bearer %s", "> Authorization: Bearer\n> %s", "Bearer\n%s"} {
		text := fmt.Sprintf(s, token)
		if got := m.String(text, nil); strings.Contains(got, "FAKE1") || !strings.HasPrefix(got, text[:6]) {
			t.Errorf("%q: %q", text, got)
		}
	}
	for _, prose := range []string{"the bearer\nof this letter is a friend", "a bearer\n\nAuthorization is explained below"} {
		if got := m.String(prose, nil); got != prose {
			t.Errorf("%q: %q", prose, got)
		}
	}
}
