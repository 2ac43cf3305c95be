package report

import (
	"fmt"
	"io"
)

// Text writes the table that ends a run on a terminal: at most 100 columns, no colour, no control character.
func Text(w io.Writer, m *Model) error {
	for _, a := range m.Aggregates {
		if !a.Primary {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-10.10s %-20.20q %-40.40q %4d of %d\n", a.Metric, a.GroupBy, a.Group, a.Met, a.N); err != nil {
			return fmt.Errorf("write text report: %w", err)
		}
	}
	return nil
}
