package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// Root is an opened data root.
type Root struct {
	Store  store.Store
	Layout schema.Layout
}

// maxTableObject bounds one object of our own tables.
const maxTableObject = 4 << 30

// openStore opens a store by its URI.
func (c *Config) openStore(ctx context.Context, uri string, opts store.Options) (store.Store, error) {
	st, err := store.Open(ctx, uri, opts)
	if err == nil && c.wrap != nil {
		st = c.wrap(st)
	}
	return st, err
}

// openRoot opens the data root for reading. A root without a layout holds no tables yet.
func openRoot(ctx context.Context, cfg *Config, log *slog.Logger) (*Root, error) {
	st, err := cfg.openStore(ctx, cfg.Data, cfg.Store.options("", "", maxTableObject, log))
	if err != nil {
		return nil, fmt.Errorf("open --data: %w", err)
	}
	data, _, err := st.Get(ctx, schema.LayoutKey, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ExitError{Code: ExitNoResult, Err: fmt.Errorf("%s holds no tables: %s is missing", st.URI(), schema.LayoutKey),
			Hint: "run ingest with the same --data first"}
	}
	if err != nil {
		return nil, fmt.Errorf("open --data: %w", err)
	}
	layout, err := schema.ParseLayout(data)
	if err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: fmt.Errorf("open %s: %w", st.URI(), err)}
	}
	return &Root{Store: st, Layout: layout}, nil
}

// planRoot opens the data root for a dry run: nothing is written, a root that is new is laid out in memory only.
func planRoot(ctx context.Context, cfg *Config, log *slog.Logger) (*Root, error) {
	root, err := openRoot(ctx, cfg, log)
	if ee, ok := errors.AsType[*ExitError](err); !ok || ee.Code != ExitNoResult {
		return root, err
	}
	st, err := store.Open(ctx, cfg.Data, cfg.Store.options("", "", maxTableObject, log))
	if err != nil {
		return nil, fmt.Errorf("open --data: %w", err)
	}
	return &Root{Store: st, Layout: schema.Layout{SchemaVersion: schema.Version, Buckets: cfg.Layout.Buckets}}, nil
}

// createRoot opens the data root for writing, and lays it out if it is new. A layout, once written, is never changed.
func createRoot(ctx context.Context, cfg *Config, log *slog.Logger) (*Root, error) {
	st, err := cfg.openStore(ctx, cfg.Data, cfg.Store.options("", "", maxTableObject, log))
	if err != nil {
		return nil, fmt.Errorf("open --data: %w", err)
	}
	layout := schema.Layout{SchemaVersion: schema.Version, Buckets: cfg.Layout.Buckets}
	if err := layout.Validate(); err != nil {
		return nil, &ExitError{Code: ExitUsage, Err: err}
	}
	_, err = st.PutIfAbsent(ctx, schema.LayoutKey, bytes.NewReader(layout.Marshal()), store.PutOptions{ContentType: "application/json"})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("lay out --data: %w", err)
	}
	return openRoot(ctx, cfg, log)
}

// keys lists the keys below prefix.
func (r *Root) keys(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for obj, err := range r.Store.List(ctx, prefix, store.ListOptions{KeysOnly: true}) {
			if !yield(obj.Key, err) || err != nil {
				return
			}
		}
	}
}
