package exports_test

import (
	"bufio"
	"bytes"
	"context"
	stdcsv "encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/agentcore"
	"github.com/tracejury/tracejury/exports/csv"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/exports/foundry"
	"github.com/tracejury/tracejury/exports/jsonl"
	"github.com/tracejury/tracejury/exports/labels"
	"github.com/tracejury/tracejury/exports/otlp"
	"github.com/tracejury/tracejury/exports/outcomes"
	"github.com/tracejury/tracejury/exports/parquet"
	"github.com/tracejury/tracejury/judge"
)

// dir is a sink of real files.
type dir string

func (d dir) Create(name string) (io.WriteCloser, error) {
	name = filepath.Join(string(d), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return nil, err
	}
	return os.Create(name)
}

// A million graded rows go through every target in the same memory as a thousand, and what the manifest does not name as lost is
// counted in the files again.
func TestWrite_AMillionRows(t *testing.T) {
	if os.Getenv("TRACEJURY_SOAK") == "" {
		t.Skip("writes and reads a million graded rows for each target: set TRACEJURY_SOAK=1")
	}
	const sessions, perSession = 333_334, 3 // 1,000,002 verdicts
	verdicts := []judge.Verdict{judge.Met, judge.NotMet, judge.NotApplicable, judge.Unclear, judge.Ungraded}
	at := func(i, j int) judge.Verdict { return verdicts[(i*7+j*3)%len(verdicts)] }
	want := map[judge.Verdict]int64{}
	ungraded := int32(0)
	for i := range sessions {
		lost := false
		for j := range perSession {
			v := at(i, j)
			want[v]++
			lost = lost || v == judge.Ungraded
		}
		if lost {
			ungraded++
		}
	}
	patterns := map[[perSession]judge.Verdict]exports.Session{}
	var base, peak uint64
	in := exporttest.Input()
	in.Run.Sampled, in.Run.Graded, in.Run.Ungraded = sessions, sessions-ungraded, ungraded
	in.WithExplanations = false
	in.Sessions = func(context.Context) iter.Seq2[exports.Session, error] {
		return func(yield func(exports.Session, error) bool) {
			for i := range sessions {
				key := [perSession]judge.Verdict{at(i, 0), at(i, 1), at(i, 2)}
				p, ok := patterns[key]
				if !ok {
					p = exporttest.Session(1, key[:]...)
					patterns[key] = p
				}
				p.Key, p.ID = fmt.Sprintf("%032x", i), fmt.Sprintf("s-%d", i)
				p.Criteria = slices.Clone(p.Criteria)
				if !yield(p, nil) {
					return
				}
				if i%50_000 == 25_000 {
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc)
				}
			}
		}
	}
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	base = m.HeapAlloc
	var bytes int64
	n := 0
	for _, c := range []struct {
		exports.Target
		count func(*testing.T, dir) map[judge.Verdict]int64
	}{{agentcore.Target{}, countAgentCore}, {csv.Target{}, countCSV}, {jsonl.Target{}, countJSONL}, {labels.Target{}, nil}, {otlp.Target{}, countOTLP},
		{outcomes.Target{}, countOutcomes}, {parquet.Target{}, countParquet}} {
		target, count := c.Target, c.count
		if err := target.Check(t.Context(), in); err != nil {
			t.Fatal(err)
		}
		out := dir(filepath.Join(t.TempDir(), target.Name()))
		files, err := exports.Write(t.Context(), in, []exports.Target{target}, out)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			bytes, n = bytes+f.Bytes, n+1
		}
		if count == nil {
			if rows := lines(t, out, labels.SheetFile, func([]byte) {}); rows != sessions*perSession+1 {
				t.Errorf("the sheet has %d rows", rows)
			}
		} else {
			got := count(t, out)
			for _, v := range verdicts {
				if got[v] != want[v] {
					t.Errorf("%s: %d %s, want %d", target.Name(), got[v], v, want[v])
				}
			}
		}
		if err := os.RemoveAll(string(out)); err != nil { // gigabytes
			t.Fatal(err)
		}
	}
	t.Logf("%d verdicts, %d files of %d MiB, heap %d MiB over the %d MiB before", sessions*perSession, n, bytes>>20, int64(peak-base)>>20, base>>20)
	if peak > base+48<<20 {
		t.Errorf("heap grew from %d to %d MiB", base>>20, peak>>20)
	}
	if err := (foundry.Target{}).Check(t.Context(), in); err == nil {
		t.Error("foundry takes at most 100,000 rows, and was not refused")
	}
}

func lines(t *testing.T, out dir, name string, each func([]byte)) (n int64) {
	t.Helper()
	f, err := os.Open(filepath.Join(string(out), filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		n++
		each(scan.Bytes())
	}
	if err := scan.Err(); err != nil {
		t.Fatal(err)
	}
	return n
}

// value is the string that follows key in a line of JSON: parsing millions of lines takes minutes.
func values(line []byte, key string, each func(string)) {
	for {
		i := bytes.Index(line, []byte(key))
		if i < 0 {
			return
		}
		line = line[i+len(key):]
		end := bytes.IndexByte(line, '"')
		each(string(line[:end]))
	}
}

func countAgentCore(t *testing.T, out dir) map[judge.Verdict]int64 {
	words := map[string]judge.Verdict{"Met": judge.Met, "Not met": judge.NotMet, "Not applicable": judge.NotApplicable, "Unclear": judge.Unclear}
	got := map[judge.Verdict]int64{}
	lines(t, out, agentcore.SessionsFile, func(line []byte) {
		values(line, `"gen_ai.evaluation.score.label":"`, func(s string) { got[words[s]]++ })
		values(line, `"error.type":"`, func(string) { got[judge.Ungraded]++ })
	})
	return got
}

func countCSV(t *testing.T, out dir) map[judge.Verdict]int64 {
	f, err := os.Open(filepath.Join(string(out), filepath.FromSlash(csv.VerdictsFile)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := stdcsv.NewReader(bufio.NewReader(f))
	r.ReuseRecord = true
	got := map[judge.Verdict]int64{}
	for {
		record, err := r.Read()
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		got[judge.Verdict(record[4])]++
	}
}

func countJSONL(t *testing.T, out dir) map[judge.Verdict]int64 {
	got := map[judge.Verdict]int64{}
	n := 0
	lines(t, out, jsonl.File, func(line []byte) {
		if n++; n%1000 == 1 { // one in a thousand is parsed: the tests of the package parse them all
			var r jsonl.Record
			if err := json.Unmarshal(line, &r); err != nil || len(r.Criteria) != 3 {
				t.Errorf("line %d: %v", n, err)
			}
		}
		values(line, `"verdict":"`, func(s string) { got[judge.Verdict(s)]++ })
	})
	return got
}

func countOTLP(t *testing.T, out dir) map[judge.Verdict]int64 {
	got := map[judge.Verdict]int64{}
	lines(t, out, otlp.File, func(line []byte) {
		values(line, `"gen_ai.evaluation.score.label","value":{"stringValue":"`, func(s string) { got[judge.Verdict(s)]++ })
		values(line, `"error.type","value":{"stringValue":"`, func(string) { got[judge.Ungraded]++ })
	})
	return got
}

func countOutcomes(t *testing.T, out dir) map[judge.Verdict]int64 {
	got := map[judge.Verdict]int64{}
	lines(t, out, outcomes.SessionsFile, func(line []byte) {
		values(line, `"verdict":"`, func(s string) { got[judge.Verdict(s)]++ })
	})
	return got
}

func countParquet(t *testing.T, out dir) map[judge.Verdict]int64 {
	f, err := os.Open(filepath.Join(string(out), filepath.FromSlash(parquet.VerdictsFile)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := pq.NewGenericReader[struct {
		Verdict string `parquet:"verdict,dict"`
	}](f)
	defer r.Close()
	got := map[judge.Verdict]int64{}
	rows := make([]struct {
		Verdict string `parquet:"verdict,dict"`
	}, 1000)
	for {
		n, err := r.Read(rows)
		for _, row := range rows[:n] {
			got[judge.Verdict(row.Verdict)]++
		}
		if err == io.EOF {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
