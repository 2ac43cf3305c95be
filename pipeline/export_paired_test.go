package pipeline_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"github.com/tracejury/tracejury/exports/jsonl"
	"github.com/tracejury/tracejury/judge/judgetest"
	"github.com/tracejury/tracejury/schema"
)

// A task was done in two ways: each goes out by itself, with its own verdicts, and no word of a sealed suite with it.
func TestExportOfPairedTasks(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	bedrock(t, judgetest.Options{Plain: true, Script: pairedScript(fivePairs, nil)})
	sum, err := evaluatePaired(t, data, pairedOptions(t, pairedSuite(t, 6, true)))
	if err != nil {
		t.Fatal(err)
	}
	files, err := exported(t, data, sum.RunID, "jsonl", "csv", "parquet", "otlp")
	if err != nil {
		t.Fatal(err)
	}
	type id struct{ task, arm, criterion, item string }
	want, got := map[id]string{}, map[id]string{}
	for _, v := range readTable[schema.Verdict](t, data, "verdicts") {
		if v.Vote == "final" {
			want[id{v.Subject, v.Arm, v.Criterion, v.Item}] = v.Verdict
		}
	}
	for rec, err := range jsonl.Read(bytes.NewReader(files["jsonl/graded_paired.jsonl"])) {
		if err != nil {
			t.Fatal(err)
		}
		if rec.Subject == nil || rec.Subject.Arm == "" || rec.Subject.Category == "" || rec.Subject.TaskKind == "" {
			t.Fatalf("%+v", rec)
		}
		for _, c := range rec.Criteria {
			got[id{rec.Subject.ID, rec.Subject.Arm, c.ID, c.Item}] = string(c.Verdict)
		}
	}
	if len(want) == 0 || len(got) != len(want) {
		t.Errorf("%d verdicts, want %d", len(got), len(want))
	}
	rows, err := pq.Read[schema.Verdict](bytes.NewReader(files["parquet/verdicts_paired.parquet"]), int64(len(files["parquet/verdicts_paired.parquet"])))
	if err != nil || len(rows) != len(want) {
		t.Fatalf("%v, %d rows", err, len(rows))
	}
	for _, v := range rows {
		k := id{v.Subject, v.Arm, v.Criterion, v.Item}
		if want[k] != got[k] || want[k] != v.Verdict {
			t.Errorf("%+v: %s in the table, %s and %s in files", k, want[k], got[k], v.Verdict)
		}
	}
	for _, name := range []string{"csv/verdicts_paired.csv", "otlp/evaluation_results_paired.jsonl"} {
		if with, without := bytes.Count(files[name], []byte("with")), bytes.Count(files[name], []byte("without")); without == 0 || with <= without {
			t.Errorf("%s tells no arms", name)
		}
	}
	for name, data := range files {
		for _, secret := range []string{"Task number", "Peculiar reference"} {
			if strings.Contains(string(data), secret) {
				t.Errorf("%s holds %q of a sealed suite", name, secret)
			}
		}
	}
}
