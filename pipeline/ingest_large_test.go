package pipeline_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// An object that is larger than what is held at once is read in windows to the same tables, compressed or not; a document that
// is larger than memory allows is quarantined with the name of the limit, and read where the limit is higher.
func TestIngestObjectsLargerThanMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("a bound on memory, which the race detector breaks by itself")
	}
	var lines strings.Builder
	n := 0
	for ; lines.Len() < 3<<20; n++ {
		lines.WriteString(strings.Replace(oneSpan(fmt.Sprintf("%032x", 1+n/3), fmt.Sprintf("%016x", 1+n), fmt.Sprint("s", n/7)), `"name":"x"`, `"name":"`+strings.Repeat("x", 4000)+`"`, 1) + "\n")
	}
	var gz bytes.Buffer
	w := gzip.NewWriter(&gz)
	_, _ = w.Write([]byte(lines.String()))
	_ = w.Close()
	huge := strings.Replace(oneSpan(traceA, "00000000000000aa", "huge"), `"name":"x"`, `"x":"`+strings.Repeat("y", 17<<20)+`","name":"x"`, 1)
	in := t.TempDir()
	putFile(t, in, "plain/a.json", lines.String())
	putFile(t, in, "gzip/a.json", gz.String())
	putFile(t, in, "huge/a.json", lines.String()+huge+"\n"+oneSpan(traceA, "00000000000000ab", "huge"))
	putFile(t, in, "nul/a.json", strings.Repeat("\x00", 20<<20))
	putFile(t, in, "nul/b.json", strings.Repeat(" ", 20<<20))
	putFile(t, in, "nul/c.json", oneSpan(traceA, "00000000000000ac", "c"))
	read := func(dir, memory string, document int64) (*pipeline.IngestSummary, string) {
		data := filepath.Join(t.TempDir(), "lake")
		cfg := config(t, filepath.Join(in, dir), data)
		cfg.Ingest.Memory, cfg.Limits.MaxDocumentBytes = memory, document
		return mustIngest(t, cfg, pipeline.IngestOptions{}), data
	}
	_, whole := read("plain", "1GiB", 0)
	for _, dir := range []string{"plain", "gzip"} {
		sum, data := read(dir, "8MiB", 0)
		if sum.Counts.Written != int64(n) || sum.Counts.Quarantined != 0 {
			t.Errorf("%s: %d written, %d quarantined, want %d and none", dir, sum.Counts.Written, sum.Counts.Quarantined, n)
		}
		diffTrees(t, tree(t, data, sessionTables...), tree(t, whole, sessionTables...))
	}
	sum, data := read("huge", "8MiB", 0)
	if q := rows[schema.QuarantineRow](t, data, "quarantine/"); len(q) != 1 || !strings.Contains(q[0].Reason, "limits.max_document_bytes") || q[0].Offset != int64(lines.Len()) || sum.Counts.Written != int64(n+1) {
		t.Errorf("a huge document: %d written, quarantine %+v", sum.Counts.Written, q)
	}
	if sum, _ := read("huge", "8MiB", 64<<20); sum.Counts.Written != int64(n+2) || sum.Counts.Quarantined != 0 {
		t.Errorf("a huge document under a higher limit: %+v", sum.Counts)
	}
	sum, data = read("nul", "8MiB", 0)
	if q := rows[schema.QuarantineRow](t, data, "quarantine/"); len(q) != 1 || q[0].Length != 20<<20 || q[0].Object != "a.json" || sum.Counts.Written != 1 || sum.Counts.Objects["empty"] != 1 {
		t.Errorf("zeros and spaces: %+v, quarantine %+v", sum.Counts, q)
	}
}
