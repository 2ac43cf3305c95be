package pipeline

import (
	"context"
	"fmt"
	"slices"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// expireAnswers takes the texts out of the answers of runs whose date has passed. Their hashes stay, so that an answer that somebody
// kept elsewhere can be recognised.
func (r *ingestRun) expireAnswers(ctx context.Context) error {
	for obj, err := range r.root.Store.List(ctx, schema.Answers.Name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return fmt.Errorf("list answers: %w", err)
		}
		m := runObject.FindStringSubmatch(obj.Key)
		if m == nil || !r.expired(m[1]) {
			continue
		}
		rows, _, err := table.Read[schema.Answer](ctx, r.root.Store, obj.Key)
		if err != nil {
			return fmt.Errorf("read answers: %w", err)
		}
		if !slices.ContainsFunc(rows, func(a schema.Answer) bool { return a.Answer != "" }) {
			continue
		}
		for i := range rows {
			rows[i].Answer = ""
		}
		if err := putRows(ctx, r.root.Store, schema.Answers, obj.Key, rows); err != nil {
			return fmt.Errorf("expire answers: %w", err)
		}
	}
	return nil
}
