package report

import (
	"bytes"
	"testing"
)

func TestTextPrint(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, small(t)); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + b.String())
}
