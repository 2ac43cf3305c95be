package convention

import (
	"errors"
	"fmt"

	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// Parse reads the JSON columns of a stored row. Absent columns are empty. An error says which column is not our canonical
// JSON; the record still holds what could be read.
func Parse(row *schema.Span) (*Record, error) { return new(Parser).Parse(row) }

// Parser reads one row after the other with the same buffers. The zero value is ready. It is not safe for concurrent use.
type Parser struct {
	json otlp.Parser

	column   string // of the last resource, which the rows of a session share as a rule
	resource Attributes
}

// Parse is the function [Parse]. Records may share their resource: it is only read.
func (p *Parser) Parse(row *schema.Span) (*Record, error) {
	r := &Record{Row: row}
	var errs []error
	attrs, err := p.attributes(row.Attributes)
	if err != nil {
		errs = append(errs, fmt.Errorf("attributes of record %s: %w", row.RecordSHA256, err))
	}
	resource, err := p.resourceOf(row.Resource)
	if err != nil {
		errs = append(errs, fmt.Errorf("resource of record %s: %w", row.RecordSHA256, err))
	}
	if row.Events != "" {
		if r.Events, err = p.json.Events(row.Events); err != nil {
			errs = append(errs, fmt.Errorf("events of record %s: %w", row.RecordSHA256, err))
		}
	}
	if row.Body != "" {
		if r.Body, err = p.json.Value(row.Body); err != nil {
			errs = append(errs, fmt.Errorf("body of record %s: %w", row.RecordSHA256, err))
		}
	}
	r.Attributes, r.Resource = attrs, resource
	return r, errors.Join(errs...)
}

func (p *Parser) resourceOf(column string) (Attributes, error) {
	if column == p.column {
		return p.resource, nil
	}
	resource, err := p.attributes(column)
	if err == nil {
		p.column, p.resource = column, resource
	}
	return resource, err
}

// attributes reads a column of attributes, which is null where there are none.
func (p *Parser) attributes(column string) (Attributes, error) {
	if column == "" {
		return nil, nil
	}
	return p.json.Attributes(column)
}
