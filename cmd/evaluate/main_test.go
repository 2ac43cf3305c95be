package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/cli"
)

func TestHelp(t *testing.T) {
	var out, bad bytes.Buffer
	if code := cli.Main("evaluate", help, new(job), []string{"--help"}, &out, &bad); code != 0 || !strings.Contains(out.String(), "--judge") {
		t.Errorf("exit %d\n%s%s", code, out.String(), bad.String())
	}
}
