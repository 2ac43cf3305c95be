package transcript

import (
	"fmt"
	"strings"
)

// Text makes one text fit to be shown: masked, the invisible made visible, look-alikes of the fence neutralised.
func Text(s string, opts Options) string { return opts.masker().text(s) }

// Block fences data that is no session, one JSON object a line, as Render fences a session. Strings in lines are masked by
// the caller, with Text. body is what stands inside the fence: for hashes, since it has no nonce.
func Block(nonce string, lines ...any) (text, body string, err error) {
	if !nonceForm.MatchString(nonce) {
		return "", "", fmt.Errorf("fence data: nonce of %d characters: want 8 to 64 letters and digits", len(nonce))
	}
	var b strings.Builder
	for _, l := range lines {
		line, err := encode(l)
		if err != nil {
			return "", "", err
		}
		b.WriteString(clean(line))
	}
	return fence(nonce, b.String(), "\n"), b.String(), nil
}
