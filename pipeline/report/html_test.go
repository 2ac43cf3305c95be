package report

import (
	"bytes"
	"os"
	"testing"
)

func TestHTMLPrint(t *testing.T) {
	var b bytes.Buffer
	if err := HTML(&b, small(t)); err != nil {
		t.Fatal(err)
	}
	os.WriteFile("/tmp/report-try.html", b.Bytes(), 0o644)
}
