//go:build unix

package exports

import (
	"errors"
	"os"
	"syscall"
)

// hold takes the file for this process until it is closed.
func hold(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLedgerHeld
	}
	return err
}
