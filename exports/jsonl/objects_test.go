package jsonl

import (
	"bytes"
	"context"
	"iter"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/suite"
)

type fatal interface{ Fatal(...any) }

// roundTrip reads the lines of data and writes them again.
func roundTrip[T any](t fatal, data []byte, read func([]byte) iter.Seq2[T, error], add func(*T, []byte) ([]byte, error)) (out []byte) {
	for rec, err := range read(data) {
		if err == nil {
			out, err = add(&rec, out)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func tasksOf(data []byte) iter.Seq2[TaskRecord, error] { return ReadTasks(bytes.NewReader(data)) }
func toolsOf(data []byte) iter.Seq2[ToolRecord, error] { return ReadTools(bytes.NewReader(data)) }

func TestObjects_GiveTheSameBytes(t *testing.T) {
	in := exporttest.Full()
	files := exporttest.Write(t, in, Target{})
	if got := roundTrip(t, files[TasksFile], tasksOf, (*TaskRecord).Append); !bytes.Equal(got, files[TasksFile]) {
		t.Errorf("tasks: got\n%s\nwant\n%s", got, files[TasksFile])
	}
	if got := roundTrip(t, files[ToolsFile], toolsOf, (*ToolRecord).Append); !bytes.Equal(got, files[ToolsFile]) {
		t.Errorf("tools: got\n%s\nwant\n%s", got, files[ToolsFile])
	}
	// Nothing of a task is lost.
	var tasks []suite.Task
	for rec := range tasksOf(files[TasksFile]) {
		tasks = append(tasks, rec.Task)
	}
	for i := range tasks {
		want := in.Suite.Tasks[i]
		if strings.Join(tasks[i].ReferenceItems, "|") != strings.Join(want.ReferenceItems, "|") || tasks[i].Prompt != want.Prompt || tasks[i].Reference != want.Reference || tasks[i].Kind != want.Kind {
			t.Errorf("task %d: got %+v, want %+v", i, tasks[i], want)
		}
	}
}

func TestObjects_GiveTheSameBytes_Laws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := exporttest.Full()
		text := rapid.StringN(1, 40, 200).Filter(func(s string) bool { return strings.TrimSpace(s) != "" })
		for i := range in.Suite.Tasks {
			x := &in.Suite.Tasks[i]
			x.Prompt, x.Reference, x.Category = text.Draw(t, "prompt"), rapid.String().Draw(t, "reference"), rapid.StringN(0, 20, 200).Draw(t, "category")
			x.ReferenceItems = rapid.SliceOfN(text, 1, 3).Draw(t, "items")
		}
		list := exporttest.ToolList()
		for i := range list {
			x := &list[i]
			x.Description, x.InputSchema, x.Server, x.Service, x.Grade = rapid.String().Draw(t, "description"), rapid.String().Draw(t, "schema"), rapid.String().Draw(t, "server"), rapid.String().Draw(t, "service"), rapid.String().Draw(t, "grade")
		}
		in.Tools = exporttest.Tools(list...)
		var sink exporttest.Sink
		if err := (Target{}).Files(context.Background(), in, &sink); err != nil {
			t.Fatal(err)
		}
		tasks, tools := sink.Files[TasksFile].Bytes(), sink.Files[ToolsFile].Bytes()
		if got := roundTrip(t, tasks, tasksOf, (*TaskRecord).Append); !bytes.Equal(got, tasks) {
			t.Fatalf("tasks: got\n%s\nwant\n%s", got, tasks)
		}
		if got := roundTrip(t, tools, toolsOf, (*ToolRecord).Append); !bytes.Equal(got, tools) {
			t.Fatalf("tools: got\n%s\nwant\n%s", got, tools)
		}
	})
}

// An item below a criterion comes back: two verdicts on one criterion stay two.
func TestRecord_Item(t *testing.T) {
	s := exporttest.Session(1, judge.Met, judge.NotMet)
	s.Criteria[1].ID, s.Criteria[0].Item, s.Criteria[1].Item = s.Criteria[0].ID, "skill-a", "skill-b"
	data := exporttest.Write(t, exporttest.Input(s), Target{})[File]
	var got []exports.Session
	for rec, err := range Read(bytes.NewReader(data)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, rec.Session())
	}
	if len(got) != 1 || !reflect.DeepEqual(got[0].Criteria, s.Criteria) {
		t.Errorf("got %+v, want %+v", got, s)
	}
}

func TestReadObjects_Refuse(t *testing.T) {
	files := exporttest.Write(t, exporttest.Full(), Target{})
	for name, edit := range map[string][2]string{"an unknown field": {`"suite":`, `"sweet":`}, "a kind": {`"kind":"trap"`, `"kind":"pass"`}, "a format": {`"format":1`, `"format":2`}} {
		for _, err := range tasksOf(bytes.Replace(files[TasksFile], []byte(edit[0]), []byte(edit[1]), 1)) {
			if err == nil || !strings.Contains(err.Error(), "line 1") {
				t.Errorf("tasks, %s: %v", name, err)
			}
		}
	}
	for name, edit := range map[string][2]string{"an unknown field": {`"tool":`, `"tol":`}, "a verdict": {`"verdict":"scored"`, `"verdict":"fine"`}, "no criteria": {`"criteria":[`, `"criteria":null,"x":[`}} {
		for _, err := range toolsOf(bytes.Replace(files[ToolsFile], []byte(edit[0]), []byte(edit[1]), 1)) {
			if err == nil || !strings.Contains(err.Error(), "line 1") {
				t.Errorf("tools, %s: %v", name, err)
			}
		}
	}
}

func FuzzReadObjects(f *testing.F) {
	for _, name := range []string{TasksFile, ToolsFile} {
		f.Add([]byte("{}\n"))
		f.Add([]byte(`{"format":1,"suite":"a","suite_version":1,"suite_title":"t","id":"a","kind":"trap","prompt":"p","reference":"r"}` + "\n" + name))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var tasks, tools []byte
		for rec, err := range tasksOf(data) {
			if err != nil {
				break
			}
			if tasks, err = rec.Append(tasks); err != nil {
				t.Fatal(err)
			}
		}
		for rec, err := range toolsOf(data) {
			if err != nil {
				break
			}
			if tools, err = rec.Append(tools); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(roundTrip(t, tasks, tasksOf, (*TaskRecord).Append), tasks) || !bytes.Equal(roundTrip(t, tools, toolsOf, (*ToolRecord).Append), tools) {
			t.Fatal("a record changes when written again")
		}
	})
}
