package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	spillPattern = "tracejury-ingest-"
	spillLock    = "lock"
	// spillGrace is how old a directory without a lock must be to count as left behind: its maker is about to lock it.
	spillGrace = time.Hour
)

// spillDir is a directory for what does not fit into memory. It is locked while its process lives, so that what a killed one left
// behind can be told and swept.
type spillDir struct {
	path string
	lock *os.File
}

// newSpillDir makes a directory below parent, "" for the system's own, and sweeps what dead processes left there.
func newSpillDir(parent string, log *slog.Logger) (*spillDir, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	sweepSpill(parent, log)
	path, err := os.MkdirTemp(parent, spillPattern)
	if err != nil {
		return nil, fmt.Errorf("make spill directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, spillLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		return nil, fmt.Errorf("lock spill directory: %w", errors.Join(err, os.RemoveAll(path)))
	}
	return &spillDir{path: path, lock: lock}, nil
}

// close removes the directory.
func (d *spillDir) close() {
	_ = os.RemoveAll(d.path) // before the lock goes; a next run sweeps what is left
	_ = d.lock.Close()
}

// sweepSpill removes the directories of dead processes below parent.
func sweepSpill(parent string, log *slog.Logger) {
	dirs, _ := filepath.Glob(filepath.Join(parent, spillPattern+"*")) // the pattern is right
	for _, dir := range dirs {
		if !abandoned(dir) {
			continue
		}
		log.Info("removing what a killed ingest left behind", "directory", dir)
		if err := os.RemoveAll(dir); err != nil {
			log.Warn("a directory that a killed ingest left behind cannot be removed", "error", err.Error())
		}
	}
}

// abandoned is whether nobody holds the lock of a spill directory.
func abandoned(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(dir, spillLock), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Since(info.ModTime()) > spillGrace
	}
	if err != nil {
		return false
	}
	defer lock.Close()                                                           //nolint:errcheck // only a lock
	return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil // it goes with the file, which is removed
}
