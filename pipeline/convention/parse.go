package convention

import (
	"errors"
	"fmt"

	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// Parse reads the JSON columns of a stored row. Absent columns are empty. An error says which column is not our canonical
// JSON; the record still holds what could be read.
func Parse(row *schema.Span) (*Record, error) {
	r := &Record{Row: row}
	var errs []error
	attrs, err := attributesIn(row.Attributes)
	if err != nil {
		errs = append(errs, fmt.Errorf("attributes of record %s: %w", row.RecordSHA256, err))
	}
	resource, err := attributesIn(row.Resource)
	if err != nil {
		errs = append(errs, fmt.Errorf("resource of record %s: %w", row.RecordSHA256, err))
	}
	if row.Events != "" {
		if r.Events, err = otlp.ParseEvents(row.Events); err != nil {
			errs = append(errs, fmt.Errorf("events of record %s: %w", row.RecordSHA256, err))
		}
	}
	if row.Body != "" {
		if r.Body, err = otlp.ParseValue(row.Body); err != nil {
			errs = append(errs, fmt.Errorf("body of record %s: %w", row.RecordSHA256, err))
		}
	}
	r.Attributes, r.Resource = attrs, resource
	return r, errors.Join(errs...)
}

// attributesIn reads a column of attributes, which is null where there are none.
func attributesIn(column string) (Attributes, error) {
	if column == "" {
		return nil, nil
	}
	return otlp.ParseAttributes(column)
}
