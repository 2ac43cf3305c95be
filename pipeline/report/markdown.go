package report

import (
	"fmt"
	"io"
)

// Markdown writes the report for a pull request, an issue or a chat: the numbers of the page, GitHub-flavoured.
func Markdown(w io.Writer, m *Model) error {
	if _, err := fmt.Fprintf(w, "# %s of %s\n\n", m.Run.Evaluator, m.AsOf.UTC().Format("2006-01-02")); err != nil {
		return fmt.Errorf("write markdown report: %w", err)
	}
	return nil
}
