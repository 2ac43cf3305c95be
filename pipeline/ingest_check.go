package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tracejury/tracejury/schema"
)

// check reads and decodes what an ingest would read and reports what it found. It takes no lock and writes nothing.
func (r *ingestRun) check(ctx context.Context, log *slog.Logger) (*IngestSummary, error) {
	root, err := openRoot(ctx, r.cfg, log)
	var exit *ExitError
	if errors.As(err, &exit) && exit.Code == ExitNoResult { // not laid out yet: everything is new
		st, err := r.cfg.openStore(ctx, r.cfg.Data, r.cfg.Store.options("", "", maxTableObject, log))
		if err != nil {
			return nil, fmt.Errorf("open --data: %w", err)
		}
		root = &Root{Store: st, Layout: schema.Layout{SchemaVersion: schema.Version, Buckets: r.cfg.Layout.Buckets}}
	} else if err != nil {
		return nil, err
	}
	r.root = root
	last, err := lastCommit(ctx, root.Store)
	if err != nil {
		return nil, err
	}
	r.horizon = horizonOf(r.cfg.asOf, last)
	if err := r.listInputs(ctx, last); err != nil {
		return nil, err
	}
	memory, err := parseBytes(r.cfg.Ingest.Memory)
	if err != nil {
		return nil, err
	}
	if err := r.newReader(memory/4, func(*spilled) error { return nil }).all(ctx); err != nil {
		return nil, err
	}
	for _, res := range r.results {
		res.row.Written = res.kept // duplicates are known only to one who keeps the records
		r.count(res)
	}
	return &IngestSummary{Data: root.Store.URI(), Commit: -1, Checked: true, Counts: r.counts}, nil
}
