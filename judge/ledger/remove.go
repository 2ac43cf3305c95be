package ledger

import (
	"fmt"
	"os"
)

// Remove closes the log and deletes it: the run is complete, and what it says stands in the tables.
func (l *Ledger) Remove() error {
	if err := l.Close(); err != nil {
		return err
	}
	if err := os.Remove(l.file.Name()); err != nil {
		return fmt.Errorf("remove ledger %s: %w", l.runID, err)
	}
	return nil
}
