package pipeline

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/tracejury/tracejury/schema"
)

// What a killed ingest left is swept by the next one; what belongs to a living one, or to somebody else, is not.
func TestSpillOfTheDeadIsSwept(t *testing.T) {
	parent := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	living, err := newSpillDir(parent, log)
	if err != nil {
		t.Fatal(err)
	}
	defer living.close()
	dead, err := newSpillDir(parent, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as the system does for a process that is killed
		t.Fatal(err)
	}
	mkdir := func(name string, age time.Duration) string {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old, young, other := mkdir("tracejury-ingest-1", 2*spillGrace), mkdir("tracejury-ingest-2", 0), mkdir("tracejury", 2*spillGrace)
	next, err := newSpillDir(parent, log)
	if err != nil {
		t.Fatal(err)
	}
	for dir, stays := range map[string]bool{living.path: true, dead.path: false, old: false, young: true, other: true, next.path: true} {
		if _, err := os.Stat(dir); (err == nil) != stays {
			t.Errorf("%s stays %t, want %t", filepath.Base(dir), err == nil, stays)
		}
	}
	if next.close(); !abandonedOrGone(next.path) {
		t.Error("a directory that was closed is still there")
	}
}

func abandonedOrGone(dir string) bool {
	_, err := os.Stat(dir)
	return os.IsNotExist(err)
}

// Sessions of several tenants are found whatever order they are asked for in.
func TestSessionsAreLocatedInAnyOrder(t *testing.T) {
	var out stagedFile[schema.Trace]
	path := filepath.Join(t.TempDir(), "index")
	if err := out.begin(path, schema.Traces, false); err != nil {
		t.Fatal(err)
	}
	const one, two = "0123456789abcdef0123456789abcdef", "f123456789abcdef0123456789abcdef"
	for _, tr := range []schema.Trace{{Tenant: "a", SessionKey: one, Dt: "2026-11-01"}, {Tenant: "a", SessionKey: two, Dt: "2026-11-02"}, {Tenant: "b", SessionKey: one, Dt: "2026-11-03"}, {Tenant: "b", SessionKey: two, Dt: "2026-11-04"}} {
		if err := out.w.Write(&tr); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := out.end(); err != nil {
		t.Fatal(err)
	}
	lo, err := fileOf(path)
	if err != nil {
		t.Fatal(err)
	}
	bm := &bucketMerge{merger: &merger{run: &ingestRun{index: []localObject{lo}}}}
	if bm.where, err = openRows[schema.Trace](lo); err != nil {
		t.Fatal(err)
	}
	defer bm.where.close() //nolint:errcheck // only read
	for _, ask := range []struct{ tenant, key, day string }{{"b", one, "2026-11-03"}, {"a", two, "2026-11-02"}, {"b", two, "2026-11-04"}, {"a", one, "2026-11-01"}, {"c", one, ""}, {"a", two, "2026-11-02"}} {
		days, err := bm.located(ask.tenant, ask.key)
		if err != nil || ask.day == "" && len(days) > 0 || ask.day != "" && !slices.Equal(days, []string{ask.day}) {
			t.Errorf("%s of %s lies on %v, %v; want %s", ask.key[:2], ask.tenant, days, err, ask.day)
		}
	}
}
