package report

import (
	"fmt"
	"html/template"
	"io"
)

// HTML writes the report as one page that needs nothing beside it: no network, no font, no script to be readable.
func HTML(w io.Writer, m *Model) error {
	page, err := template.New("page").Parse("<!doctype html>\n<html lang=\"en\"><title>{{.Run.Evaluator}}</title>\n")
	if err != nil {
		return fmt.Errorf("parse report page: %w", err)
	}
	if err := page.Execute(w, m); err != nil {
		return fmt.Errorf("write report page: %w", err)
	}
	return nil
}
