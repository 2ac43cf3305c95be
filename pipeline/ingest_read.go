package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tracejury/tracejury/pipeline/archive"
	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// input is one archive object to read.
type input struct {
	source *openSource
	obj    store.Object
}

func (in input) name() string { return in.source.store.URI() + "/" + in.obj.Key }

// openSource is a configured source, opened.
type openSource struct {
	cfg   Source
	store store.Store
}

// objectResult is what reading one object gave, beside the rows that it handed to keep.
type objectResult struct {
	row        schema.Object
	quarantine []schema.QuarantineRow
	masked     mask.Counts
	noIDs      int64 // spans without a span id, kept under a synthetic one
	internal   int64 // filtered: plumbing without content
	metrics    int64 // filtered: metric points
	shapes     map[string]int64
	kept       int64 // records handed on
	claimed    int64 // of those, found again when they were merged
}

// readObject reads one object to its rows. Bad input is not an error: it is quarantined and counted. keep owns the row.
func (r *ingestRun) readObject(ctx context.Context, in input, keep func(*schema.Span) error) (objectResult, error) {
	res := objectResult{masked: mask.Counts{}, shapes: map[string]int64{}}
	res.row = schema.Object{Source: in.source.store.URI(), Object: in.obj.Key, ETag: in.obj.ETag, Tenant: in.source.cfg.Tenant, Size: in.obj.Size, Status: "ok"}
	if in.obj.Size > r.cfg.Limits.MaxObjectBytes {
		res.quarantined(r, in, archive.Problem{Length: in.obj.Size, Reason: fmt.Sprintf("object of %d bytes is over limits.max_object_bytes %d: raise the limit to read it", in.obj.Size, r.cfg.Limits.MaxObjectBytes)})
		res.row.Status = "unreadable"
		return res, nil
	}
	body, _, err := in.source.store.Get(ctx, in.obj.Key, in.obj.ETag)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		res.row.Status = "vanished"
		return res, nil
	case errors.Is(err, store.ErrChanged):
		res.row.Status = "vanished" // the new version is listed by the next run
		return res, nil
	case err != nil:
		return res, err
	}
	dec := &objectDecoder{run: r, in: in, res: &res, keep: keep, decoder: otlp.NewDecoder(otlp.Limits{MaxDepth: r.cfg.Limits.MaxDepth, MaxAttributeBytes: r.cfg.Limits.MaxAttributeBytes})}
	dec.maker = rowMaker{mask: r.mask, counts: res.masked, tenant: in.source.cfg.Tenant, object: in.obj.Key, future: r.cfg.asOf.Add(futureMargin).UnixNano()}
	got, err := archive.Documents(in.obj.Key, body, archive.Options{MaxDecompressed: r.cfg.Limits.MaxDecompressedBytes, MaxDepth: r.cfg.Limits.MaxDepth}, dec.document)
	if err != nil {
		return res, err
	}
	for _, p := range got.Problems {
		res.quarantined(r, in, p)
	}
	res.row.BytesIn = got.BytesOut
	res.row.Format = strings.Join(append(got.Layers, dec.shapes()...), "+")
	res.row.Records += res.row.Quarantined
	switch {
	case got.Empty && res.row.Records == 0:
		res.row.Status = "empty"
	case res.row.Quarantined > 0 && res.row.Records == res.row.Quarantined:
		res.row.Status = "unreadable"
	case res.row.Quarantined > 0:
		res.row.Status = "partial"
	}
	return res, nil
}

func (res *objectResult) quarantined(r *ingestRun, in input, p archive.Problem) {
	at := r.cfg.asOf
	res.quarantine = append(res.quarantine, schema.QuarantineRow{
		Source: in.source.store.URI(), Object: in.obj.Key, ETag: in.obj.ETag, Offset: p.Offset, Length: p.Length,
		Reason: p.Reason, DetectedFormat: p.DetectedFormat, QuarantinedAt: at.UnixMicro(), QuarantinedNano: at.UnixNano(),
	})
	res.row.Quarantined++
	r.log.Warn("quarantined", "object", in.name(), "offset", p.Offset, "reason", p.Reason)
}

// objectDecoder reads the documents of one object.
type objectDecoder struct {
	run     *ingestRun
	in      input
	res     *objectResult
	keep    func(*schema.Span) error
	decoder *otlp.Decoder
	maker   rowMaker
	index   int64
	seen    []string
}

func (d *objectDecoder) document(doc archive.Document) error {
	decode := d.decoder.JSON
	if doc.Encoding == archive.Proto {
		decode = d.decoder.Proto
	}
	stats, faults, err := decode(doc.Data, d.record)
	if err != nil {
		return err
	}
	for _, f := range faults {
		d.res.quarantined(d.run, d.in, archive.Problem{Offset: doc.Offset + f.Offset, Length: f.Length, Reason: f.Reason, DetectedFormat: stats.Shape})
	}
	d.res.metrics += stats.MetricPoints
	d.res.row.Records += stats.MetricPoints
	d.res.row.Filtered += stats.MetricPoints
	d.res.shapes[stats.Shape]++
	if d.res.shapes[stats.Shape] == 1 {
		d.seen = append(d.seen, stats.Shape)
	}
	return nil
}

func (d *objectDecoder) shapes() []string { return d.seen }

func (d *objectDecoder) record(rec *otlp.Record) error {
	row, view := d.maker.row(rec, d.index)
	d.index++
	d.res.row.Records++
	if rec.Signal == otlp.SignalSpan && rec.SpanID == "" {
		d.res.noIDs++
	}
	if !d.run.cfg.Ingest.KeepInternal && d.run.isInternal(&view) {
		d.res.internal++
		d.res.row.Filtered++
		return nil
	}
	d.res.kept++
	return d.keep(&row)
}

// isInternal asks the record's convention whether it is plumbing without content.
func (r *ingestRun) isInternal(view *convention.Record) bool {
	for _, c := range r.conventions {
		if c.Match(view) {
			return c.Internal(view)
		}
	}
	return false
}
