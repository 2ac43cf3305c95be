//go:build unix

package ledger

import (
	"errors"
	"os"
	"syscall"
)

// lock takes the file for this process. The kernel lets go of it when the process ends, however it does.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}
