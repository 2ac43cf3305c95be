package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/archive"
	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// maxExplained is how much of a line about one event is printed, in runes.
const maxExplained = 240

// Explanation counts what was explained of one object.
type Explanation struct {
	Object       string           `json:"object"`
	Format       string           `json:"format"`
	Records      int64            `json:"records"`
	Filtered     int64            `json:"filtered"`
	MetricPoints int64            `json:"metric_points"`
	Unrecognised int64            `json:"unrecognised"`
	Quarantined  int64            `json:"quarantined"`
	Conventions  map[string]int64 `json:"conventions"`
	Events       map[string]int64 `json:"events"`
	Masked       map[string]int64 `json:"masked"`

	Sessions []ExplainedSession `json:"sessions"` // of this object alone
}

// Explain prints what ingest makes of one object: for each record the convention that took it, the events that it gave, what
// was filtered as internal, which attributes were not used; what would be quarantined; and the sessions that this object alone
// makes, with the rule by which each skill was joined to the catalogue. object is a full URI, a key of one
// of the sources, or a path. Everything is masked as it would be stored. Nothing is written.
func Explain(ctx context.Context, cfg *Config, object string, log *slog.Logger, w io.Writer) (any, error) {
	if cfg.Data == "" {
		cfg.Data = os.TempDir() // none is touched, none need be given
	}
	if err := cfg.Complete(time.Now()); err != nil {
		return nil, err
	}
	masker, err := cfg.masker()
	if err != nil {
		return nil, err
	}
	st, key, src, err := explained(ctx, cfg, object, log)
	if err != nil {
		return nil, err
	}
	body, obj, err := st.Get(ctx, key, "")
	if err != nil {
		return nil, fmt.Errorf("read object to explain: %w", err)
	}
	counts, ahead := mask.Counts{}, horizonOf(cfg.asOf, nil)
	x := &explainer{cfg: cfg, src: src, w: w, maker: rowMaker{mask: masker.Cached(), counts: counts, tenant: src.Tenant, object: key, horizon: &ahead}}
	x.sum = Explanation{Object: st.URI() + "/" + key, Conventions: map[string]int64{}, Events: map[string]int64{}, Masked: map[string]int64{}}
	x.printf("%s  %d bytes\n", x.sum.Object, obj.Size)
	x.decoder = otlp.NewDecoder(otlp.Limits{MaxDepth: cfg.Limits.MaxDepth, MaxAttributeBytes: cfg.Limits.MaxAttributeBytes})
	got, err := archive.Documents(key, body, archive.Options{MaxDecompressed: cfg.Limits.MaxDecompressedBytes}, x.document)
	if err != nil {
		return nil, fmt.Errorf("explain %s: %w", x.sum.Object, err)
	}
	for _, p := range onePerLoss(got.Problems, x.faults) {
		x.quarantined(p.Offset, p.Length, p.Reason)
	}
	x.sum.Format = strings.Join(append(got.Layers, x.shapes...), "+")
	if got.Empty {
		x.printf("empty: nothing, or white space only\n")
	}
	x.sessions()
	for kind, n := range counts {
		x.sum.Masked[string(kind)] = int64(n)
	}
	x.total()
	return &x.sum, x.err
}

// explained finds the object: below a source, in another place by its URI, or a path.
func explained(ctx context.Context, cfg *Config, object string, log *slog.Logger) (store.Store, string, Source, error) {
	open := func(s Source) (store.Store, error) {
		st, err := store.Open(ctx, s.URI, cfg.Store.options(s.Region, s.RoleARN, cfg.Limits.MaxObjectBytes, log))
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", s.URI, err)
		}
		return st, nil
	}
	isURI := strings.Contains(object, "://")
	for _, s := range cfg.Sources {
		st, err := open(s)
		if err != nil {
			return nil, "", s, err
		}
		key, below := strings.CutPrefix(object, st.URI()+"/")
		if isURI && !below {
			continue
		}
		switch _, err := st.Stat(ctx, key); {
		case err == nil:
			return st, key, s, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, store.ErrBadKey):
			return nil, "", s, fmt.Errorf("find object to explain: %w", err)
		}
	}
	if !isURI {
		if info, err := os.Stat(object); err != nil || info.IsDir() {
			return nil, "", Source{}, usagef("--explain %s: no such object in the sources, and no such file", object)
		}
		abs, err := filepath.Abs(object)
		if err != nil {
			return nil, "", Source{}, fmt.Errorf("explain: %w", err)
		}
		object = "file://" + filepath.ToSlash(abs)
	}
	dir, key := object[:strings.LastIndexByte(object, '/')], object[strings.LastIndexByte(object, '/')+1:]
	if key == "" || strings.HasSuffix(dir, ":/") {
		return nil, "", Source{}, usagef("--explain %s: name an object, not a root", object)
	}
	s := Source{URI: dir}
	st, err := open(s)
	return st, key, s, err
}

// explainer prints the records of one object.
type explainer struct {
	cfg     *Config
	src     Source
	w       io.Writer
	err     error // of w
	decoder *otlp.Decoder
	maker   rowMaker
	shapes  []string
	index   int64
	rows    []schema.Span     // that ingest would store
	kept    int64             // bytes of them
	faults  []archive.Problem // of documents
	sum     Explanation
}

func (x *explainer) printf(format string, args ...any) {
	if x.err == nil {
		_, x.err = fmt.Fprintf(x.w, format, args...)
	}
}

func (x *explainer) document(doc archive.Document) error {
	stats, faults, err := decodeDocument(x.decoder, doc, x.record)
	if err != nil {
		return err
	}
	for _, f := range faults {
		x.faults = append(x.faults, archive.Problem{Offset: doc.Offset + f.Offset, Length: f.Length, Reason: f.Reason})
	}
	if stats.MetricPoints > 0 {
		x.printf("%d metric points: ignored, no part of a session\n", stats.MetricPoints)
		x.sum.MetricPoints += stats.MetricPoints
	}
	if !slices.Contains(x.shapes, stats.Shape) {
		x.shapes = append(x.shapes, stats.Shape)
	}
	return x.err
}

func (x *explainer) quarantined(offset, length int64, reason string) {
	x.printf("quarantined: %d bytes at %d: %s\n", length, offset, reason)
	x.sum.Quarantined++
}

func (x *explainer) record(rec *otlp.Record) error {
	row, view := x.maker.row(rec, x.index)
	x.printf("\nrecord %d: %s %q scope %q service %q trace %s span %s\n", x.index, row.Signal, row.Name, row.ScopeName, row.Service, orNone(row.TraceID), orNone(row.SpanID))
	x.index++
	x.sum.Records++
	id, idKey, hasID := session.CandidateID(view.Attributes, view.Resource, x.src.SessionIDAttributes)
	if hasID {
		x.printf("  session %s=%q\n", idKey, shorten(id))
	}
	c, ok := convention.Find(&view)
	if !ok {
		x.sum.Unrecognised++
		x.keep(&row)
		x.printf("  no convention: it holds its place in the trace and says nothing\n  not used: %s\n", list(keysOf(&view)))
		return x.err
	}
	x.sum.Conventions[c.Name()]++
	if c.Internal(&view) {
		x.sum.Filtered++
		kept := "filtered"
		if x.cfg.Ingest.KeepInternal {
			kept = "kept by --keep-internal"
		}
		x.printf("  %s: internal to the harness, without content; %s\n", c.Name(), kept)
		if x.cfg.Ingest.KeepInternal {
			x.keep(&row)
		}
		return x.err
	}
	x.keep(&row)
	x.printf("  %s\n", c.Name())
	told := 0
	c.Events(&view, func(e convention.Event) {
		line := convention.Describe(e)
		kind, _, _ := strings.Cut(line, " ")
		x.sum.Events[kind]++
		told++
		x.printf("    %s\n", shorten(line))
	})
	if told == 0 {
		x.printf("    says nothing that a session is made of\n")
	}
	unused, ok := convention.Unused(&view)
	unused = slices.DeleteFunc(unused, func(key string) bool { return key == idKey })
	switch {
	case !ok:
		x.printf("  not used: too large to find out\n")
	case len(unused) > 0:
		x.printf("  not used: %s\n", list(unused))
	}
	return x.err
}

func (x *explainer) total() {
	x.printf("\n%d records, %d of them filtered as internal, %d of no convention; %d metric points; %d quarantined; format %s\n",
		x.sum.Records, x.sum.Filtered, x.sum.Unrecognised, x.sum.MetricPoints, x.sum.Quarantined, orNone(x.sum.Format))
	x.printf("conventions: %s\nevents: %s\n", counted(x.sum.Conventions), counted(x.sum.Events))
	if len(x.sum.Masked) > 0 {
		x.printf("masked: %s\n", counted(x.sum.Masked))
	}
}

func keysOf(r *convention.Record) (keys []string) {
	for _, kv := range r.Attributes {
		keys = append(keys, kv.Key)
	}
	for _, e := range r.Events {
		keys = append(keys, "event "+e.Name)
	}
	return keys
}

func list(names []string) string { return orNone(shorten(strings.Join(names, ", "))) }

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// shorten cuts a line for the eye.
func shorten(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxExplained {
			return s[:i] + "…"
		}
	}
	return s
}

func counted(m map[string]int64) string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%s %d", k, m[k])
	}
	return orNone(strings.Join(keys, ", "))
}
