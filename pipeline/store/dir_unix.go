//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// tryLock takes the exclusive lock on f if nobody has it.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, &fs.PathError{Op: "lock", Path: f.Name(), Err: err}
		}
	}
}
