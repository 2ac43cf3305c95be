package pipeline

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a killed export left is swept by the next one; a living one, an export that was making way and the user's own folders stay,
// and no lock goes out with an export.
func TestExportsOfTheDeadAreSwept(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "out [1] 100% *") // a path is no pattern
	if err := os.Mkdir(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	living, err := newExportDir(parent, log)
	if err != nil {
		t.Fatal(err)
	}
	defer living.close()
	dead, err := newExportDir(parent, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.lock.Close(); err != nil { // as the system does for a process that is killed
		t.Fatal(err)
	}
	mkdir := func(name string) string {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-2 * spillGrace)
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	wayOld, users := mkdir(".export-1.old"), mkdir(".export-mine")
	dir := filepath.Join(parent, "run")
	next, err := newExportDir(parent, log)
	if err != nil {
		t.Fatal(err)
	}
	defer next.close()
	if err := next.unlock(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next.path, dir); err != nil {
		t.Fatal(err)
	}
	for path, stays := range map[string]bool{living.path: true, dead.path: false, wayOld: true, users: true, dir: true, filepath.Join(dir, spillLock): false} {
		if _, err := os.Stat(path); (err == nil) != stays {
			t.Errorf("%s stays %t, want %t", filepath.Base(path), err == nil, stays)
		}
	}
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) != 4 {
		t.Errorf("beside the export lie %v, %v; want the living one and two folders that are not ours", entries, err)
	}
}
