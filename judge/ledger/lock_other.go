//go:build !unix

package ledger

import "os"

// lock does nothing where the system has no advisory locks: one process a state directory is the user's care.
func lock(*os.File) error { return nil }
