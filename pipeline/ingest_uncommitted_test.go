package pipeline_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/schema"
)

// nights ingests the first half of the demo archive and then all of it, at as-ofs of two days.
func nights(t *testing.T, from, early, late string) (data string) {
	t.Helper()
	data = filepath.Join(t.TempDir(), "lake")
	if err := os.RemoveAll(from); err != nil {
		t.Fatal(err)
	}
	files := archiveFiles(t, demoArchive)
	for _, f := range files[:len(files)/2] {
		copyFile(t, filepath.Join(demoArchive, f), filepath.Join(from, f))
	}
	ingestAt(t, from, data, early, pipeline.IngestOptions{})
	for _, f := range files[len(files)/2:] {
		copyFile(t, filepath.Join(demoArchive, f), filepath.Join(from, f))
	}
	ingestAt(t, from, data, late, pipeline.IngestOptions{})
	return data
}

func commitOf(t *testing.T, data, name string) pipeline.Commit {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(data, "_commits", name))
	if err != nil {
		t.Fatal(err)
	}
	var c pipeline.Commit
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

const secondCommit = "00000000000000000002.json"

// A run that dies between the table objects and its commit has recorded what nobody vouches for: how far it listed and which
// times lie ahead would be lost if its inputs counted as read.
func TestIngestThatDiedBeforeItsCommitIsDoneAgain(t *testing.T) {
	for _, tt := range []struct{ name, early, late, again string }{
		{"the same night", "2026-11-27T06:00:00Z", demoAsOf, demoAsOf},
		{"times of the future", "2026-11-01T06:00:00Z", "2026-11-02T06:00:00Z", "2026-11-02T06:00:00Z"},
		{"the next night", "2026-11-27T06:00:00Z", "2026-11-29T06:00:00Z", demoAsOf},
	} {
		t.Run(tt.name, func(t *testing.T) {
			from := filepath.Join(t.TempDir(), "archive")
			want, data := nights(t, from, tt.early, tt.again), nights(t, from, tt.early, tt.late)
			if err := os.Remove(filepath.Join(data, "_commits", secondCommit)); err != nil {
				t.Fatal(err)
			}
			sum := ingestAt(t, from, data, tt.again, pipeline.IngestOptions{})
			diffTrees(t, tree(t, data, append(sessionTables, "objects/")...), emptied(t, tree(t, want, append(sessionTables, "objects/")...), tree(t, data, "objects/")))
			got, wanted := commitOf(t, data, secondCommit), commitOf(t, want, secondCommit)
			names := map[string]bool{}
			for _, e := range got.Written {
				names[e.Key] = true
			}
			for _, e := range wanted.Written {
				if !names[e.Key] {
					t.Errorf("the commit does not name %s", e.Key)
				}
			}
			if len(wanted.Future) != len(got.Future) {
				t.Errorf("future of %d objects, want %d", len(got.Future), len(wanted.Future))
			}
			if sum.Counts.Records != wanted.Counts.Records || sum.Counts.Written != wanted.Counts.Written || sum.Counts.Duplicates != wanted.Counts.Duplicates {
				t.Errorf("counts %+v, want %+v", sum.Counts, wanted.Counts)
			}
		})
	}
}

// emptied adds to want the objects of days that a dead run left behind without rows.
func emptied(t *testing.T, want, got map[string]string) map[string]string {
	t.Helper()
	for k, sum := range got {
		if _, ok := want[k]; !ok {
			want[k] = sum
		}
	}
	return want
}

// --full ends in the rows of objects that one ingest of everything makes, and its summary counts nothing as new.
func TestFullKeepsTheCountsOfObjects(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "lake")
	from := filepath.Join(t.TempDir(), "archive")
	data := nights(t, from, "2026-11-27T06:00:00Z", demoAsOf) // what comes more than two days late is listed once a week only
	ingestAt(t, from, fresh, demoAsOf, pipeline.IngestOptions{})
	sum := ingestAt(t, from, data, demoAsOf, pipeline.IngestOptions{Full: true})
	if sum.Counts.Written != 0 || sum.Counts.Duplicates == 0 {
		t.Errorf("--full of what was read says %d written, %d duplicate", sum.Counts.Written, sum.Counts.Duplicates)
	}
	got, want := rows[schema.Object](t, data, "objects/"), rows[schema.Object](t, fresh, "objects/")
	if len(got) != len(want) {
		t.Fatalf("%d rows, want %d", len(got), len(want))
	}
	for i := range got {
		got[i].CommitSeq, want[i].CommitSeq = 0, 0
		if got[i] != want[i] {
			t.Errorf("got %+v\nwant %+v", got[i], want[i])
		}
	}
}
