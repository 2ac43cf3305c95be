package pipeline

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	spillPattern = "tracejury-ingest-"
	spillLock    = "lock"
	// exportPattern names the directory in which an export is made; it lies beside the user's own exports.
	exportPattern = ".export-"
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
	return lockedDir(parent, spillPattern)
}

// newExportDir makes the directory in which an export comes to be, and sweeps what killed exports left beside it. A directory
// without a lock stays, however old: it may be the user's, or the whole export that was making way when its run died.
func newExportDir(parent string, log *slog.Logger) (*spillDir, error) {
	sweepDead(parent, exportPattern, func(dir string) bool {
		_, err := os.Lstat(filepath.Join(dir, spillLock))
		return err == nil && abandoned(dir)
	}, log)
	return lockedDir(parent, exportPattern)
}

// lockedDir makes a directory below parent and locks it.
func lockedDir(parent, pattern string) (*spillDir, error) {
	path, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return nil, fmt.Errorf("make temporary directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, spillLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		return nil, fmt.Errorf("lock temporary directory: %w", errors.Join(err, os.RemoveAll(path)))
	}
	return &spillDir{path: path, lock: lock}, nil
}

// close removes the directory.
func (d *spillDir) close() {
	_ = os.RemoveAll(d.path) // before the lock goes; a next run sweeps what is left
	_ = d.lock.Close()
}

// unlock takes the lock's file out of the directory, which is whole and gets another name.
func (d *spillDir) unlock() error {
	return os.Remove(filepath.Join(d.path, spillLock))
}

// sweepSpill removes the directories of dead processes below parent.
func sweepSpill(parent string, log *slog.Logger) {
	sweepDead(parent, spillPattern, abandoned, log)
}

// sweepDead removes the directories below parent whose names begin with prefix and that are dead.
func sweepDead(parent, prefix string, dead func(dir string) bool, log *slog.Logger) {
	entries, _ := os.ReadDir(parent) // what cannot be listed cannot be swept; parent may hold any character, so no Glob
	for _, e := range entries {
		dir := filepath.Join(parent, e.Name())
		if !strings.HasPrefix(e.Name(), prefix) || !dead(dir) {
			continue
		}
		log.Info("removing what a killed run left behind", "directory", dir)
		if err := os.RemoveAll(dir); err != nil {
			log.Warn("a directory that a killed run left behind cannot be removed", "error", err.Error())
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
