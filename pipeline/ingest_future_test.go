package pipeline_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// spanAt is a document of one span with the given start and end, as they stand in JSON.
func spanAt(trace, span, session, started, ended string) string {
	return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"svc"}}]},"scopeSpans":[{"spans":[{"traceId":"` + trace +
		`","spanId":"` + span + `","name":"x","startTimeUnixNano":` + started + `,"endTimeUnixNano":` + ended +
		`,"attributes":[{"key":"session.id","value":{"stringValue":"` + session + `"}}]}]}]}]}`
}

func ingestAt(tb testing.TB, from, data, asOf string, opts pipeline.IngestOptions) *pipeline.IngestSummary {
	tb.Helper()
	cfg := config(tb, from, data)
	cfg.AsOf = asOf
	if err := cfg.Complete(time.Now()); err != nil {
		tb.Fatal(err)
	}
	return mustIngest(tb, cfg, opts)
}

// An as-of that was too early is mended by the next ingest, without --full and without a new record; and the tables are those
// of one ingest at the latest as-of, whichever order the nights came in.
func TestIngestLooksAgainAtTheFuture(t *testing.T) {
	const early, demo = "2026-11-01T00:00:00Z", demoAsOf
	want := filepath.Join(t.TempDir(), "lake")
	mustIngest(t, config(t, demoArchive, want), pipeline.IngestOptions{})
	data := filepath.Join(t.TempDir(), "lake")
	ingestAt(t, demoArchive, data, early, pipeline.IngestOptions{})
	for _, s := range rows[schema.Span](t, data, "spans/") {
		if s.TimeQuality != "future" || s.TimeQualityThen == "" {
			t.Fatalf("a span of %d is %q, then %q, at an as-of before it", s.StartedUnixNano, s.TimeQuality, s.TimeQualityThen)
		}
	}
	sum := ingestAt(t, demoArchive, data, demo, pipeline.IngestOptions{})
	if sum.Commit != 2 || sum.Counts.New != 0 || sum.Counts.Sessions == 0 {
		t.Errorf("the later night: commit %d, %d new objects, %d sessions", sum.Commit, sum.Counts.New, sum.Counts.Sessions)
	}
	diffTrees(t, tree(t, data, sessionTables...), tree(t, want, sessionTables...))
	before := tree(t, data, "")
	if sum := ingestAt(t, demoArchive, data, early, pipeline.IngestOptions{}); sum.Commit != -1 {
		t.Errorf("an as-of that goes back made commit %d", sum.Commit)
	}
	diffTrees(t, tree(t, data, ""), before)
}

// Sessions some of whose times have not come, at the start, at the end, or as a float, in nights of any order.
func TestIngestTablesDependOnTheLatestAsOfOnly(t *testing.T) {
	const day = int64(24 * time.Hour)
	base := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixNano()
	var docs []string
	for i := range int64(40) {
		trace, span := fmt.Sprintf("%032x", 1+i/3), fmt.Sprintf("%016x", 1+i)
		started := base + (i*7%16)*day
		ended := fmt.Sprint(started + 1e9)
		switch i % 5 {
		case 1:
			ended = fmt.Sprint(started + 3*day)
		case 2:
			ended = "18446744073709551615"
		}
		start := fmt.Sprint(started)
		switch i % 4 {
		case 1:
			start = fmt.Sprintf("%d.0e9", started/1e9)
		case 2:
			start = fmt.Sprint(started / 1e6)
		}
		docs = append(docs, spanAt(trace, span, fmt.Sprint("s", i%11), start, ended))
	}
	last := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	var want map[string]string
	for seed := range uint64(6) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		from, data := filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "lake")
		order, nights := rnd.Perm(len(docs)), 1
		if seed > 0 {
			nights = 4
		}
		for n := range nights {
			for _, i := range order[n*len(docs)/nights : (n+1)*len(docs)/nights] {
				putFile(t, from, fmt.Sprintf("%02d.json", i), docs[i])
			}
			asOf := last.AddDate(0, 0, -rnd.IntN(12))
			if n == nights-1 || seed%2 == 1 && n == 0 { // the latest comes last, or first
				asOf = last
			}
			ingestAt(t, from, data, asOf.Format(time.RFC3339), pipeline.IngestOptions{})
		}
		got := tree(t, data, sessionTables...)
		if want == nil {
			want = got
			quality := map[string]int{}
			for _, s := range rows[schema.Span](t, data, "spans/") {
				quality[s.TimeQuality]++
			}
			if quality["future"] == 0 || quality["ok"] == 0 || quality["clamped"] == 0 || quality["imprecise"] == 0 {
				t.Errorf("qualities %v do not try all", quality)
			}
			continue
		}
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { diffTrees(t, got, want) })
		_ = os.RemoveAll(data)
	}
}
