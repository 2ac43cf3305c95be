package exports_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/exports"
)

func TestCell(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"plain":                          "plain",
		"a=b":                            "a=b",
		"'quoted'":                       "'quoted'",
		"=HYPERLINK(\"http://x\",\"y\")": "'=HYPERLINK(\"http://x\",\"y\")",
		"+1":                             "'+1",
		"-1":                             "'-1",
		"@SUM(A1)":                       "'@SUM(A1)",
		"  =1+1":                         "'  =1+1",
		"\t=1":                           "' =1",
		"\"=1":                           "'\"=1",
		"＝1":                             "'＝1",
		"|calc":                          "'|calc",
		"'=1":                            "''=1",
		"two\nlines":                     "two lines",
		"line\u2028separator":            "line separator",
	} {
		if got := exports.Cell(in); got != want {
			t.Errorf("Cell(%q) = %q, want %q", in, got, want)
		}
	}
}

// A cell never runs, and its text comes back but for line breaks.
func TestCell_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringOf(rapid.RuneFrom([]rune("=+-@|%\t\r\n '\"＝a1 "))).Draw(t, "s")
		cell := exports.Cell(s)
		if first := strings.TrimLeft(cell, " \u00a0\u3000\ufeff\""); first != "" && strings.ContainsAny(first[:1], "=+-@|%\t\r") {
			t.Fatalf("%q runs", cell)
		}
		if got, want := exports.UnquoteCell(cell), strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s); got != want {
			t.Fatalf("%q came back as %q, want %q", s, got, want)
		}
	})
}
