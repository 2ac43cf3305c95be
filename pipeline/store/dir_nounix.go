//go:build !unix

package store

import (
	"errors"
	"fmt"
	"os"
)

// tryLock refuses: without a lock that ends with its process, file:// can be read here but not written.
func tryLock(*os.File) (bool, error) {
	return false, fmt.Errorf("writing to file:// needs file locks of Unix: %w", errors.ErrUnsupported)
}
