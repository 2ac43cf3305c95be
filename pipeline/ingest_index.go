package pipeline

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/shuffle"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// traceIndex is the table traces in memory: which sessions hold records of a trace, and on which days a session lies.
type traceIndex struct {
	rows    [][]schema.Trace // by bucket
	etags   []string
	byTrace map[string][]schema.Trace // tenant \0 trace
	days    map[string][]string       // session key ─► dts; more than one only after a run that died
}

func (r *ingestRun) loadTraceIndex(ctx context.Context) (*traceIndex, error) {
	n := r.root.Layout.Buckets
	idx := &traceIndex{rows: make([][]schema.Trace, n), etags: make([]string, n), byTrace: map[string][]schema.Trace{}, days: map[string][]string{}}
	for b := range n {
		rows, etag, err := table.Read[schema.Trace](ctx, r.root.Store, schema.Traces.BucketKey(b))
		if err != nil {
			return nil, fmt.Errorf("read traces: %w", err)
		}
		idx.rows[b], idx.etags[b] = rows, etag
		for _, t := range rows {
			if t.TraceID != "" {
				key := traceKey(t.Tenant, t.TraceID)
				idx.byTrace[key] = append(idx.byTrace[key], t)
			}
			if !slices.Contains(idx.days[t.SessionKey], t.Dt) {
				idx.days[t.SessionKey] = append(idx.days[t.SessionKey], t.Dt)
			}
		}
	}
	return idx, nil
}

// loadStoredTraces adds to byTrace what the lake holds of the traces that were read now: a record that arrives late can give
// all of them another session.
func (r *ingestRun) loadStoredTraces(ctx context.Context, idx *traceIndex, byTrace *shuffle.Shuffle) error {
	wanted := map[string]map[string]struct{}{} // object ─► session keys
	for key := range r.traces {
		for _, t := range idx.byTrace[key] {
			for _, dt := range idx.days[t.SessionKey] {
				bucket, err := r.root.Layout.Bucket(t.SessionKey)
				if err != nil {
					return err
				}
				obj := schema.Spans.DayKey(dt, bucket)
				if wanted[obj] == nil {
					wanted[obj] = map[string]struct{}{}
				}
				wanted[obj][t.SessionKey] = struct{}{}
			}
		}
	}
	for _, obj := range slices.Sorted(maps.Keys(wanted)) {
		rows, _, err := table.Read[schema.Span](ctx, r.root.Store, obj)
		if err != nil {
			return fmt.Errorf("read spans: %w", err)
		}
		for i := range rows {
			row := &rows[i]
			key := traceKey(row.Tenant, row.TraceID)
			if _, ok := wanted[obj][row.SessionKey]; !ok || row.TraceID == "" {
				continue
			}
			if _, ok := r.traces[key]; ok {
				if err := byTrace.Add(key, appendSpan(nil, row, true)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// assignTraces gives every record its session and passes it on by the bucket of that session.
func (r *ingestRun) assignTraces(ctx context.Context, byTrace, byBucket *shuffle.Shuffle) error {
	for g, err := range byTrace.Groups(ctx) {
		if err != nil {
			return err
		}
		rows := make([]*schema.Span, len(g.Records))
		stored := make([]bool, len(g.Records))
		for i, rec := range g.Records {
			row, st, err := decodeSpan(rec)
			if err != nil {
				return err
			}
			rows[i], stored[i] = &row, st
		}
		if err := r.assignRows(rows[0].Tenant, rows, stored, byBucket); err != nil {
			return err
		}
	}
	return nil
}

// assignRows assigns the rows of one trace, or rows without a trace.
func (r *ingestRun) assignRows(tenant string, rows []*schema.Span, stored []bool, byBucket *shuffle.Shuffle) error {
	for i, id := range session.Assign(tenant, rows, r.sessionKeys(tenant)) {
		row := rows[i]
		if stored[i] && row.SessionKey != id.Key {
			r.noteMove(row.Tenant, row.SessionKey, id.Key)
		}
		row.SessionKey = id.Key
		r.noteIdent(id)
		bucket, err := r.root.Layout.Bucket(id.Key)
		if err != nil {
			return err
		}
		if err := byBucket.Add(bucketName(bucket), appendSpan(nil, row, stored[i])); err != nil {
			return err
		}
	}
	return nil
}

func bucketName(b int) string { return fmt.Sprintf("%03d", b) }

// sessionKeys is the configured session attributes of a tenant's sources, in order of configuration.
func (r *ingestRun) sessionKeys(tenant string) []string {
	var keys []string
	for _, s := range r.cfg.Sources {
		if s.Tenant == tenant {
			keys = append(keys, s.SessionIDAttributes...)
		}
	}
	return keys
}

func (r *ingestRun) noteMove(tenant, from, to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moves[schema.SessionMoved{Tenant: tenant, OldKey: from, NewKey: to}] = struct{}{}
}

// noteIdent remembers how a session is known. The attribute that carried the id may differ between its records: the one asked
// first wins, so that batches in any order agree.
func (r *ingestRun) noteIdent(id session.Ident) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if old, ok := r.idents[id.Key]; !ok || r.rank(id.Source) < r.rank(old.Source) {
		r.idents[id.Key] = id
	}
}

func (r *ingestRun) rank(source string) string {
	i := slices.Index(r.idOrder, source)
	if i < 0 {
		return "~" + source
	}
	return fmt.Sprintf("%04d", i)
}
