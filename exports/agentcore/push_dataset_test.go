package agentcore

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/exports/platformtest"
)

// checkDatasets holds what the account has against the export: every task once, in the draft and in the only version.
func checkDatasets(t testing.TB, s *platformtest.AWS, in *exports.Input) {
	t.Helper()
	got := map[string]int{}
	for _, d := range s.Datasets {
		if d.Status != "ACTIVE" || len(d.Versions) != 1 || len(d.Versions[0]) != len(d.Examples) {
			t.Errorf("dataset %s is %s, has %d examples and %d versions", d.Name, d.Status, len(d.Examples), len(d.Versions))
		}
		for _, e := range d.Examples {
			got[e["scenario_id"].(string)]++
		}
	}
	want := map[string]int{}
	for _, task := range in.Suite.Tasks {
		want[task.ID] = 1
	}
	if !maps.Equal(got, want) {
		t.Errorf("the account has %d tasks, want %d, each once", len(got), len(want))
	}
}

func datasetTrial(target Target, in func() *exports.Input) func(testing.TB) platformtest.Trial {
	return func(t testing.TB) platformtest.Trial {
		s := platformtest.NewAWS(t, platformtest.Now())
		s.PollsToActive, s.PageSize = 1, 700
		target.Account = account{s}
		input := in()
		files := exporttest.Files(t, input, target)
		return platformtest.Trial{Server: &s.Server, SetLag: s.SetLag, Push: func(ctx context.Context, box *exports.Outbox) error { return target.Push(ctx, files, box) },
			Check: func(t testing.TB) {
				t.Helper()
				checkDatasets(t, s, input)
				checkSame(t, s, files)
			}}
	}
}

// tasksOnly is a run of one session, with a suite: its calls are those of datasets.
func tasksOnly(n, size int) func() *exports.Input {
	return func() *exports.Input {
		in := exporttest.Input(exporttest.Session(1, "met", "met", "met"))
		if in.Suite = exporttest.Suite(); n > 0 {
			in.Suite = manyTasks(n, size)
		}
		return in
	}
}

func TestPushDatasets_Twice(t *testing.T) {
	for name, trial := range map[string]func(testing.TB) platformtest.Trial{
		"inline": datasetTrial(Target{}, tasksOnly(0, 0)), "from S3": datasetTrial(Target{DatasetS3: "s3://lake-bucket/datasets"}, tasksOnly(0, 0)),
		"in two datasets": datasetTrial(Target{}, tasksOnly(1001, 10)),
	} {
		t.Run(name, func(t *testing.T) { platformtest.Repeat(t, trial) })
	}
}

func TestPushDatasets_Faults(t *testing.T) {
	platformtest.Faults(t, datasetTrial(Target{DatasetS3: "s3://lake-bucket/datasets"}, tasksOnly(0, 0)))
}

func TestPushDatasets_Killed(t *testing.T) {
	platformtest.Crash(t, datasetTrial(Target{}, tasksOnly(0, 0)))
}

// More than a request may carry is created with a part and added to.
func TestPushDatasets_Parts(t *testing.T) {
	s := platformtest.NewAWS(t, platformtest.Now())
	s.PollsToActive, s.PageSize = 1, 100
	in := tasksOnly(120, 99_000)()
	box, results := platformtest.Outbox(exports.NewLedger())
	if err := target(s).Push(t.Context(), exporttest.Files(t, in, Target{}), box); err != nil {
		t.Fatal(err)
	}
	checkDatasets(t, s, in)
	adds := 0
	for _, c := range s.Calls() {
		if strings.HasSuffix(c.Path, "/examples/add") {
			adds++
		}
	}
	if adds < 2 || (*results)[1].Count != 120 || (*results)[1].State != exports.Created {
		t.Errorf("%d calls add, result %+v", adds, (*results)[1])
	}
	if p := s.Problems(); len(p) > 0 {
		t.Error(p)
	}
}

// A suite that changed without a new version is mended in place and published again; what a person added stays.
func TestPushDatasets_Changed(t *testing.T) {
	for _, keep := range []bool{true, false} {
		s := platformtest.NewAWS(t, platformtest.Now())
		ledger := exports.NewLedger()
		push := func(in *exports.Input) exports.Result {
			t.Helper()
			if !keep {
				ledger = exports.NewLedger()
			}
			box, results := platformtest.Outbox(ledger)
			if err := target(s).Push(t.Context(), exporttest.Files(t, in, Target{}), box); err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(*results, func(r exports.Result) bool { return r.Kind == "dataset" })
			return (*results)[i]
		}
		in := tasksOnly(0, 0)()
		if r := push(in); r.State != exports.Created || r.Count != 3 {
			t.Errorf("first: %+v", r)
		}
		for _, d := range s.Datasets {
			var extra map[string]any
			if err := json.Unmarshal([]byte(`{"scenario_id":"theirs","turns":[{"input":"x"}],"exampleId":"e"}`), &extra); err != nil {
				t.Fatal(err)
			}
			d.Examples = append(d.Examples, extra)
		}
		in.Suite.Tasks[0].Prompt += " Now."
		in.Suite.Tasks = append(in.Suite.Tasks, manyTasks(1, 5).Tasks...)
		if r := push(in); r.State != exports.Updated || r.Count != 2 {
			t.Errorf("changed: %+v", r)
		}
		if r := push(in); r.State != exports.Unchanged || r.Count != 0 {
			t.Errorf("again: %+v", r)
		}
		for _, d := range s.Datasets {
			if len(d.Examples) != 5 || len(d.Versions) != 2 {
				t.Errorf("%d examples, %d versions", len(d.Examples), len(d.Versions))
			}
		}
		if p := s.Problems(); len(p) > 0 {
			t.Error(p)
		}
	}
}

// A dataset that someone deleted is made again, though the ledger knows it.
func TestPushDatasets_Deleted(t *testing.T) {
	s := platformtest.NewAWS(t, platformtest.Now())
	in, ledger := tasksOnly(0, 0)(), exports.NewLedger()
	for range 2 {
		box, _ := platformtest.Outbox(ledger)
		if err := target(s).Push(t.Context(), exporttest.Files(t, in, Target{}), box); err != nil {
			t.Fatal(err)
		}
		checkDatasets(t, s, in)
		clear(s.Datasets)
	}
}

// A bucket that may not be written fails the dataset and nothing else.
func TestPushDatasets_NoBucket(t *testing.T) {
	s := platformtest.NewAWS(t, platformtest.Now())
	s.Deny["lake-bucket"] = true
	tg := Target{Account: account{s}, DatasetS3: "s3://lake-bucket"}
	box, results := platformtest.Outbox(exports.NewLedger())
	err := tg.Push(t.Context(), exporttest.Files(t, exporttest.Full(), tg), box)
	if err == nil || !strings.Contains(err.Error(), "AccessDenied") || !strings.Contains(err.Error(), "s3://lake-bucket/") || len(s.Datasets) != 0 || len(s.Evaluators) != 1 {
		t.Errorf("%v; %+v", err, *results)
	}
}

// Files that are no dataset are refused before anything is sent.
func TestPushDatasets_Damaged(t *testing.T) {
	for name, edit := range map[string]struct{ file, old, new string }{
		"an unknown member of a line": {DatasetFile, `"turns"`, `"rounds"`}, "an unknown member": {DatasetRequestFile, `"tags"`, `"labels"`}, "a name": {DatasetRequestFile, `"tracejury_ops`, `"-ops`},
	} {
		files := exporttest.Files(t, tasksOnly(0, 0)(), Target{})
		files[edit.file].Data = []byte(strings.Replace(string(files[edit.file].Data), edit.old, edit.new, 1))
		s := platformtest.NewAWS(t, platformtest.Now())
		box, _ := platformtest.Outbox(exports.NewLedger())
		if err := target(s).Push(t.Context(), files, box); err == nil || !strings.Contains(err.Error(), edit.file) || len(s.Datasets) != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
