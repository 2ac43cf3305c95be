package archive_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/archive"
	"github.com/tracejury/tracejury/pipeline/otlp"
)

// TestEverythingShared reads every file of the real data, whatever it is: the bytes add up, nothing panics, and what the
// names promise to be telemetry gives records.
func TestEverythingShared(t *testing.T) {
	root := os.Getenv("TRACEJURY_SHARED")
	if root == "" {
		t.Skip("TRACEJURY_SHARED is not set: the captures of real clients are not part of the repository")
	}
	shapes := map[string]int{}
	var files, records, points int64
	dec := otlp.NewDecoder(otlp.Limits{})
	for _, dir := range []string{"captures", "samples"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, _ := filepath.Rel(root, path)
			var here, faults int64
			files++
			res, err := archive.Documents(name, body, archive.Options{}, func(d archive.Document) error {
				read := dec.JSON
				if d.Encoding == archive.Proto {
					read = dec.Proto
				}
				size := int64(len(d.Data))
				stats, list, err := read(d.Data, func(*otlp.Record) error { return nil })
				here += stats.Spans + stats.Logs
				points += stats.MetricPoints
				faults += int64(len(list))
				for _, f := range list {
					if f.Offset < 0 || f.Offset+f.Length > size {
						t.Errorf("%s: fault %+v of %d bytes", name, f, size)
					}
				}
				shapes[stats.Shape]++
				return err
			})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if sum := res.DocumentBytes + res.ProblemBytes + res.SeparatorBytes; sum != res.BytesOut {
				t.Errorf("%s: %d bytes out, %d accounted for", name, res.BytesOut, sum)
			}
			records += here
			if telemetry(name) && (here == 0 || faults > appLogs[filepath.Base(name)] || len(res.Problems) > 0) {
				t.Errorf("%s: %d records, %d faults, %s, problems %+v", name, here, faults, res.Framing, res.Problems)
			} else if here == 0 || faults > 0 || len(res.Problems) > 0 {
				t.Logf("%s: %d records, %d faults, framing %q, %d problems", name, here, faults, res.Framing, len(res.Problems))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var names []string
	for s := range shapes {
		names = append(names, s)
	}
	sort.Strings(names)
	for _, s := range names {
		t.Logf("%5d documents of %s", shapes[s], s)
	}
	t.Logf("%d files, %d records, %d metric points", files, records, points)
	if records < 20_000 {
		t.Errorf("only %d records", records)
	}
}

// appLogs is how many lines of an ordinary application log a file of telemetry holds.
var appLogs = map[string]int64{"raw_otel_strands_bedrock_runtime_logs.json": 1}

// telemetry is whether a name promises whole spans or logs.
func telemetry(name string) bool {
	base := filepath.Base(name)
	for _, no := range []string{"metrics", "invalid", "malformed", "nulls", "empty", "parquet", ".bar", "log-bodies", ".tsv", "fluent-bit", "langfuse"} {
		if strings.Contains(name, no) {
			return false
		}
	}
	return strings.Contains(base, "traces") || strings.Contains(base, "logs") || strings.Contains(base, "spans") || strings.Contains(name, "agentevals") || strings.Contains(base, "mixed")
}

// TestCutCollectorFiles cuts real archives at many places: records are a prefix of those of the whole.
func TestCutCollectorFiles(t *testing.T) {
	root := os.Getenv("TRACEJURY_SHARED")
	if root == "" {
		t.Skip("TRACEJURY_SHARED is not set: the captures of real clients are not part of the repository")
	}
	dir := filepath.Join(root, "captures", "collector")
	for _, name := range []string{"file/by_service/northwind-adk.jsonl", "file/traces.proto-framed", "file/traces.proto.zstd-framed", "file_native_compression/mixed.jsonl.zst"} {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		whole := spanIDs(t, body)
		for i := range 20 {
			cut := spanIDs(t, body[:len(body)*i/20])
			if len(cut) > len(whole) || !equal(cut, whole[:len(cut)]) {
				t.Errorf("%s cut at %d/20: %d records are no prefix of %d", name, i, len(cut), len(whole))
			}
		}
	}
}

func equal(a, b []string) bool { return strings.Join(a, ",") == strings.Join(b, ",") }

func spanIDs(t *testing.T, body []byte) (ids []string) {
	t.Helper()
	dec := otlp.NewDecoder(otlp.Limits{})
	_, err := archive.Documents("cut", bytes.Clone(body), archive.Options{}, func(d archive.Document) error {
		read := dec.JSON
		if d.Encoding == archive.Proto {
			read = dec.Proto
		}
		_, _, err := read(d.Data, func(r *otlp.Record) error {
			ids = append(ids, strings.Clone(r.TraceID)+strings.Clone(r.SpanID)+strings.Clone(r.Name))
			return nil
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}
