package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/tracejury/tracejury/pipeline/archive"
	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// input is one archive object to read.
type input struct {
	source *openSource
	obj    store.Object
	n      int  // place among the inputs
	again  bool // was read by an ingest that recorded it
}

func (in input) name() string { return in.source.store.URI() + "/" + in.obj.Key }

// openSource is a configured source, opened.
type openSource struct {
	cfg   Source
	store store.Store
	times []*keyTime // what keys may say of time, tried in order
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
	held       int64 // of the written: the lake had them before, from this very object
}

// reader reads many objects at once: waiting for the store takes no processor, decoding no more than there are, and what is
// held stays within a number of bytes.
type reader struct {
	run      *ingestRun
	room     *semaphore.Weighted
	capacity int64
	fit      int64            // bytes of an object, and of what it decompresses to, that are held at once
	decoders chan objectTools // one for each that may decode at a time
	keep     func(*spilled) error
}

// objectTools are what reads one object after the other and keeps its buffers.
type objectTools struct {
	decoder *otlp.Decoder
	mask    *mask.Cached
}

// What is held at once and what one document may have, however little memory there is.
const (
	minFit      = 1 << 20
	minDocument = 16 << 20
)

func (r *ingestRun) newReader(memory int64, keep func(*spilled) error) *reader {
	rd := &reader{run: r, capacity: max(memory, 1), fit: max(memory/2, minFit), room: semaphore.NewWeighted(max(memory, 1)), keep: keep}
	n := min(runtime.GOMAXPROCS(0), r.cfg.Ingest.Concurrency)
	rd.decoders = make(chan objectTools, n)
	for range n {
		rd.decoders <- objectTools{
			decoder: otlp.NewDecoder(otlp.Limits{MaxDepth: r.cfg.Limits.MaxDepth, MaxAttributeBytes: r.cfg.Limits.MaxAttributeBytes}),
			mask:    r.mask.Cached(),
		}
	}
	return rd
}

// all reads every input of the run.
func (rd *reader) all(ctx context.Context) error {
	r := rd.run
	p := Plan[struct{}]{Stage: "ingest/read"}
	progress := newProgress(r.log, "reading", int64(len(r.inputs)))
	defer progress.done()
	r.results = make([]*objectResult, len(r.inputs))
	for _, in := range r.inputs {
		p.Tasks = append(p.Tasks, Task[struct{}]{Name: in.name() + " " + in.obj.ETag, Do: func(ctx context.Context) (struct{}, error) {
			res, err := rd.object(ctx, in)
			r.results[in.n] = res // a slot of its own
			progress.add(1)
			return struct{}{}, err
		}})
	}
	_, err := runLocal(ctx, r.cfg.Ingest.Concurrency, p)
	return err
}

// object reads one object to its rows. Bad input is not an error: it is quarantined and counted.
func (rd *reader) object(ctx context.Context, in input) (*objectResult, error) {
	r := rd.run
	res := newObjectResult(in)
	if in.obj.Size > r.cfg.Limits.MaxObjectBytes {
		res.quarantined(r, in, archive.Problem{Length: in.obj.Size, Reason: fmt.Sprintf("object of %d bytes is over limits.max_object_bytes %d: raise the limit to read it", in.obj.Size, r.cfg.Limits.MaxObjectBytes)})
		res.row.Records, res.row.Status = 1, "unreadable"
		return res, nil
	}
	fits := in.obj.Size <= rd.fit
	var body []byte
	if fits {
		var err error
		if body, fits, err = rd.small(ctx, in, res); fits || err != nil {
			return res, rd.vanished(res, err)
		}
	}
	return res, rd.vanished(res, rd.large(ctx, in, body, res))
}

func newObjectResult(in input) *objectResult {
	res := &objectResult{masked: mask.Counts{}, shapes: map[string]int64{}}
	res.row = schema.Object{Source: in.source.store.URI(), Object: in.obj.Key, ETag: in.obj.ETag, Tenant: in.source.cfg.Tenant, Size: in.obj.Size, Status: "ok"}
	return res
}

// vanished makes the error that an object is no longer what was listed its status: its new version is listed by the next run. What
// was read of it before are records like any others.
func (rd *reader) vanished(res *objectResult, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, store.ErrChanged) {
		res.row.Status = "vanished"
		return nil
	}
	return err
}

// small reads an object that fits into memory. What decompresses to more does not, and is given back as it is stored.
func (rd *reader) small(ctx context.Context, in input, res *objectResult) (body []byte, fits bool, err error) {
	need := min(unpacked(in.obj), rd.capacity)
	if err := rd.room.Acquire(ctx, need); err != nil {
		return nil, false, err
	}
	defer rd.room.Release(need)
	body, _, err = in.source.store.Get(ctx, in.obj.Key, in.obj.ETag)
	if err != nil {
		return nil, false, err
	}
	opts := rd.options()
	opts.MaxDecompressed, opts.Fit = min(opts.MaxDecompressed, rd.fit), opts.MaxDecompressed > rd.fit
	err = rd.decode(ctx, in, res, func(each func(archive.Document) error) (archive.Result, error) {
		return archive.Documents(in.obj.Key, body, opts, each)
	})
	if errors.Is(err, archive.ErrTooLarge) {
		return body, false, nil
	}
	return nil, true, err
}

// large reads an object window by window, alone among the objects that are read: one of its documents may take all the room.
func (rd *reader) large(ctx context.Context, in input, body []byte, res *objectResult) error {
	if err := rd.room.Acquire(ctx, rd.capacity); err != nil {
		return err
	}
	defer rd.room.Release(rd.capacity)
	stored := io.ReadCloser(io.NopCloser(bytes.NewReader(body)))
	if body == nil {
		var err error
		if stored, _, err = in.source.store.Open(ctx, in.obj.Key, in.obj.ETag); err != nil {
			return err
		}
	}
	err := rd.decode(ctx, in, res, func(each func(archive.Document) error) (archive.Result, error) {
		return archive.Stream(in.obj.Key, stored, rd.options(), each)
	})
	return errors.Join(err, stored.Close())
}

// options are the limits of objects.
func (rd *reader) options() archive.Options {
	l := &rd.run.cfg.Limits
	return archive.Options{MaxDecompressed: l.MaxDecompressedBytes, MaxDocument: cmp.Or(l.MaxDocumentBytes, max(rd.capacity, minDocument)), DocumentLimit: "limits.max_document_bytes, or --memory, of which it is a part otherwise"}
}

// decode reads the documents that read hands over.
func (rd *reader) decode(ctx context.Context, in input, res *objectResult, read func(func(archive.Document) error) (archive.Result, error)) (err error) {
	r := rd.run
	var tools objectTools
	select {
	case tools = <-rd.decoders:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { rd.decoders <- tools }()
	defer func() { // one object never ends a run, not by a defect of ours either
		if p := recover(); p != nil {
			res.quarantined(r, in, archive.Problem{Length: in.obj.Size, Reason: fmt.Sprintf("reading the object failed by a defect of this program (%v); please report it; records before the defect are kept", p)})
			res.row.Records = res.kept + res.row.Filtered + res.row.Quarantined
			res.row.Status = "partial"
		}
	}()
	dec := &objectDecoder{ctx: ctx, run: r, in: in, res: res, keep: rd.keep, decoder: tools.decoder, idKeys: r.sessionKeys(in.source.cfg.Tenant)}
	dec.maker = rowMaker{mask: tools.mask, counts: res.masked, tenant: in.source.cfg.Tenant, object: in.obj.Key, horizon: &r.horizon}
	got, err := read(dec.document)
	if err != nil {
		return err
	}
	for _, p := range onePerLoss(got.Problems, dec.faults) {
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
	return nil
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
	ctx     context.Context //nolint:containedctx // lives within the reading of one object
	run     *ingestRun
	in      input
	res     *objectResult
	keep    func(*spilled) error
	decoder *otlp.Decoder
	idKeys  []string
	maker   rowMaker
	index   int64
	seen    []string
	faults  []archive.Problem // of documents
}

// decodeDocument reads a document as it is encoded.
func decodeDocument(d *otlp.Decoder, doc archive.Document, visit func(*otlp.Record) error) (otlp.Stats, []otlp.Fault, error) {
	if doc.Encoding == archive.Proto {
		return d.Proto(doc.Data, visit)
	}
	return d.JSON(doc.Data, visit)
}

func (d *objectDecoder) document(doc archive.Document) error {
	stats, faults, err := decodeDocument(d.decoder, doc, d.record)
	if err != nil {
		return err
	}
	for _, f := range faults {
		d.faults = append(d.faults, archive.Problem{Offset: doc.Offset + f.Offset, Length: f.Length, Reason: f.Reason, DetectedFormat: stats.Shape})
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
	if d.index&63 == 0 && d.ctx.Err() != nil { // a document may hold an hour of records
		return context.Cause(d.ctx)
	}
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
	s := spilled{row: row, kind: recNew, input: d.in.n}
	s.own = session.CandidateIn(&view, d.idKeys)
	if err := d.keep(&s); err != nil {
		return err
	}
	d.res.kept++
	return nil
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
