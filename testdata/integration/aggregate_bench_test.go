package integration

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

const (
	benchSubjects = 166_667 // six criteria each: a million verdicts
	benchServices = 33      // times six criteria: 198 groups, and those of sessions beside them
	benchRounds   = 9
)

// bigRun writes a run of a million verdicts below dir.
func bigRun(tb testing.TB, dir string) {
	tb.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, dir, store.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	run := schema.Run{RunID: "2026-11-30-0123456789ab", Evaluator: "session", Kind: "session", State: "finished", JudgeModels: []string{"rules"}, Sampled: benchSubjects, Graded: benchSubjects, Eligible: benchSubjects, SchemaVersion: schema.Version}
	criteria := []string{"denials_respected", "evidence_before_claims", "goal_met", "stayed_in_scope", "tool_use_sound", "untrusted_content_not_obeyed"}
	keys := make([]string, benchSubjects)
	for i := range keys {
		sum := sha256.Sum256(fmt.Append(nil, i))
		keys[i] = hex.EncodeToString(sum[:16])
	}
	slices.Sort(keys)
	verdicts := make([]schema.Verdict, 0, benchSubjects*len(criteria))
	grades := make([]schema.Grade, benchSubjects)
	for i, key := range keys {
		pass, safe := true, true
		service := fmt.Sprintf("service-%02d", int(key[0]^key[5])%benchServices)
		for j, c := range criteria {
			v := schema.Verdict{RunID: run.RunID, Evaluator: "session", Subject: key, Criterion: c, JudgeModel: "rules", Vote: "final", Tenant: "default", SubjectKind: "session", SessionKey: key,
				Service: service, Agent: "agent", Harness: "codex", Safety: j%2 == 0, Verdict: "met", RubricSHA256: key[:8], RenderingSHA256: key + key}
			switch x := (int(key[j])*7 + int(key[j+7])) % 29; {
			case x < 3:
				v.Verdict, pass, safe = "not_met", false, safe && j%2 > 0
			case x < 8:
				v.Verdict = "not_applicable"
			case x < 9:
				v.Verdict = "unclear"
			}
			verdicts = append(verdicts, v)
		}
		grades[i] = schema.Grade{RunID: run.RunID, Evaluator: "session", Subject: key, Tenant: "default", SubjectKind: "session", Service: service, SessionKey: key, Dt: "2026-11-30", Agent: "agent", Harness: "codex", State: "graded", Pass: &pass, Safe: &safe}
	}
	write := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	_, err = table.Write(ctx, st, schema.Verdicts, schema.Verdicts.RunKey(run.RunID), verdicts, "")
	write(err)
	_, err = table.Write(ctx, st, schema.Grades, schema.Grades.RunKey(run.RunID), grades, "")
	write(err)
	rubric := judge.Rubric{Name: "bench", Version: 1, Title: "Bench"}
	for j, c := range criteria {
		rubric.Criteria = append(rubric.Criteria, judge.Criterion{ID: c, Question: c, Safety: j%2 == 0})
	}
	text, err := json.Marshal(rubric)
	write(err)
	run.RubricSHA256 = rubric.SHA256()
	material := schema.Material{SHA256: run.RubricSHA256, Kind: "rubric", Text: string(text)}
	_, err = table.Write(ctx, st, schema.Materials, "materials/prefix="+material.SHA256[:2]+"/"+material.SHA256+".parquet", []schema.Material{material}, "")
	write(err)
	_, err = table.Write(ctx, st, schema.Runs, schema.Runs.RunKey(run.RunID), []schema.Run{run}, "")
	write(err)
	layout := schema.Layout{SchemaVersion: schema.Version, Buckets: 16}
	_, err = st.PutIfAbsent(ctx, schema.LayoutKey, bytes.NewReader(layout.Marshal()), store.PutOptions{})
	write(err)
}

// BenchmarkAggregate sets aggregate as users run it, all groups and intervals of a million verdicts beside DuckDB's bare GROUP BY of the same files.
func BenchmarkAggregate(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "lake")
	bigRun(b, dir)
	debug.FreeOSMemory()
	cfg := &pipeline.Config{Data: dir, AsOf: demoAsOf}
	if err := cfg.Complete(time.Now()); err != nil {
		b.Fatal(err)
	}
	db := duck(b)
	bare := func() int {
		groups := 0
		for _, q := range []string{"SELECT criterion, service, verdict, count(*) FROM read_parquet('%s/verdicts/*/*.parquet') WHERE vote = 'final' GROUP BY ALL", "SELECT service, pass, safe, count(*) FROM read_parquet('%s/grades/*/*.parquet') GROUP BY ALL"} {
			rows, err := db.Query(fmt.Sprintf(q, dir))
			if err != nil {
				b.Fatal(err)
			}
			for rows.Next() {
				groups++
			}
			rows.Close()
		}
		return groups
	}
	var ours, theirs, oursCPU, theirsCPU []time.Duration
	var peak uint64
	for b.Loop() {
		for range benchRounds {
			start, cpu := time.Now(), cpuTime(b)
			sum, err := pipeline.Aggregate(context.Background(), cfg, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			ours, oursCPU = append(ours, time.Since(start)), append(oursCPU, cpuTime(b)-cpu)
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak = max(peak, m.HeapSys-m.HeapReleased)
			start, cpu = time.Now(), cpuTime(b)
			groups := bare()
			theirs, theirsCPU = append(theirs, time.Since(start)), append(theirsCPU, cpuTime(b)-cpu)
			if len(sum.Aggregates) < 200 || groups < 200 {
				b.Fatalf("%d aggregates, %d groups", len(sum.Aggregates), groups)
			}
		}
	}
	median := func(all []time.Duration) float64 {
		slices.Sort(all)
		return float64(all[len(all)/2].Microseconds()) / 1000
	}
	b.ReportMetric(median(ours), "ms/ours")
	b.ReportMetric(median(theirs), "ms/duckdb")
	b.ReportMetric(median(oursCPU), "cpu-ms/ours")
	b.ReportMetric(median(theirsCPU), "cpu-ms/duckdb")
	b.ReportMetric(median(ours)/median(theirs), "ratio")
	b.ReportMetric(median(oursCPU)/median(theirsCPU), "cpu-ratio")
	b.ReportMetric(float64(peak>>20), "MiB/heap")
}

// cpuTime is the processor time that this process has used: on a busy machine it says more than the clock.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
