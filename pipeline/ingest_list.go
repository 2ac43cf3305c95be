package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// What is listed: all keys of a source at its first ingest, once a week and with --full; else those that name a time after the
// last listing, less a margin for uploads that come late and clocks that differ.
const (
	listMargin = 48 * time.Hour
	listWhole  = 7 * 24 * time.Hour
)

// ListMark says how far a source was listed by the commits so far.
type ListMark struct {
	Until time.Time `json:"until"` // as-of of the last listing
	Whole time.Time `json:"whole"` // as-of of the last listing of every key
}

// listInputs opens the sources and freezes the list of objects to read: all that objects does not know under their ETag.
func (r *ingestRun) listInputs(ctx context.Context, last *Commit) error {
	since, err := r.sinceTime()
	if err != nil {
		return err
	}
	r.marks = map[string]ListMark{}
	if last != nil {
		maps.Copy(r.marks, last.Listed)
	}
	from := map[string]time.Time{} // source ─► time from which keys are listed
	oldest := r.cfg.asOf
	for _, sc := range r.cfg.Sources {
		opts := r.cfg.Store.options(sc.Region, sc.RoleARN, r.cfg.Limits.MaxObjectBytes, r.log)
		opts.NoLinks = true
		st, err := r.cfg.openStore(ctx, sc.URI, opts)
		if err != nil {
			return fmt.Errorf("open source %s: %w", sc.URI, err)
		}
		if st.URI() == r.root.Store.URI() {
			return usagef("source %s is --data itself: its tables are no archive; give one of them another folder", sc.URI)
		}
		src := &openSource{cfg: sc, store: st, times: defaultKeyTimes()}
		if sc.KeyTimeLayout != "" {
			k, err := newKeyTime(sc.KeyTimeLayout)
			if err != nil {
				return err
			}
			src.times = []*keyTime{k}
		}
		r.sources = append(r.sources, src)
		at := r.listFrom(st.URI())
		from[st.URI()] = at
		if at.Before(oldest) {
			oldest = at
		}
	}
	committed := int64(0)
	if last != nil {
		committed = last.Seq
	}
	known, err := r.knownObjects(ctx, oldest, committed)
	if err != nil {
		return err
	}
	for _, src := range r.sources {
		uri := src.store.URI()
		if err := r.listSource(ctx, src, since, from[uri], known); err != nil {
			return err
		}
		if mark := r.marks[uri]; since.IsZero() { // else what was passed over is listed again
			mark.Until = r.cfg.asOf
			if from[uri].IsZero() {
				mark.Whole = r.cfg.asOf
			}
			r.marks[uri] = mark
		}
	}
	slices.SortFunc(r.inputs, func(a, b input) int {
		return strings.Compare(objectID(a.source.store.URI(), a.obj.Key), objectID(b.source.store.URI(), b.obj.Key))
	})
	h := sha256.New()
	for i, in := range r.inputs {
		r.inputs[i].n = i
		fmt.Fprintf(h, "%s\x00%s\x00%d\x00", in.name(), in.obj.ETag, in.obj.Size)
	}
	r.plan = hex.EncodeToString(h.Sum(nil))
	r.counts.New = int64(len(r.inputs))
	return nil
}

// listFrom is the time from which keys of a source are listed; zero is all of them.
func (r *ingestRun) listFrom(uri string) time.Time {
	mark, ok := r.marks[uri]
	if !ok || r.opts.Full || mark.Whole.IsZero() || r.cfg.asOf.Sub(mark.Whole) >= listWhole || !r.cfg.asOf.After(mark.Until) {
		return time.Time{}
	}
	return mark.Until.Add(-listMargin)
}

func (r *ingestRun) listSource(ctx context.Context, src *openSource, since, from time.Time, known map[string]struct{}) error {
	skip := below(src.store.URI(), r.root.Store.URI())
	listed, after := 0, ""
	for again := true; again; {
		again = false
		for obj, err := range src.store.List(ctx, "", store.ListOptions{StartAfter: after}) {
			if err != nil {
				return fmt.Errorf("list source: %w", err)
			}
			if next := src.passOver(obj.Key, from); next > obj.Key {
				after, again = next, true
				break // go on where keys are new enough, without a request for each page between
			}
			if skip != "" && strings.HasPrefix(obj.Key, skip) || notData(obj.Key) {
				continue
			}
			listed++
			if !since.IsZero() && src.timeOf(obj).Before(since) {
				continue
			}
			_, read := known[versionID(src.store.URI(), obj.Key, obj.ETag)]
			if read && !r.opts.Full {
				continue
			}
			r.inputs = append(r.inputs, input{source: src, obj: obj, again: read})
		}
	}
	if listed == 0 && from.IsZero() {
		if dir, ok := strings.CutPrefix(src.store.URI(), "file://"); ok {
			if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
				return usagef("source %s does not exist", src.store.URI())
			}
		}
		r.empty = append(r.empty, src.store.URI())
	}
	r.counts.Listed += int64(listed)
	return nil
}

// passOver is the key after which to go on listing when key names a time before from; "" when key is to be read.
func (s *openSource) passOver(key string, from time.Time) string {
	if from.IsZero() {
		return ""
	}
	for _, k := range s.times {
		if end, at, ok := k.find(key); ok {
			if end.After(from) {
				return ""
			}
			return k.before(key, at, from)
		}
	}
	return ""
}

// timeOf is the time that a key names, else when the object was written. A folder holds what was uploaded until the end of its
// span of time, so the end counts.
func (s *openSource) timeOf(obj store.Object) time.Time {
	for _, k := range s.times {
		if end, _, ok := k.find(obj.Key); ok {
			return end
		}
	}
	return obj.Modified
}

// below is the prefix within outer under which inner lies, "" if it does not.
func below(outer, inner string) string {
	rest, ok := strings.CutPrefix(inner, outer)
	if !ok || rest != "" && rest[0] != '/' {
		return ""
	}
	return strings.TrimPrefix(rest, "/") + "/"
}

// notData names what lies in buckets beside data: folder markers, job markers, half-written files.
func notData(key string) bool {
	base := path.Base(key)
	return strings.HasSuffix(key, "/") || base == "_SUCCESS" || strings.HasSuffix(base, ".tmp") || strings.HasPrefix(base, ".")
}

// versionID names one version of an object.
func versionID(source, object, etag string) string { return objectID(source, object) + "\x00" + etag }

// objectsDay matches an object of the table objects, which has one for each day of ingests.
var objectsDay = regexp.MustCompile(`^objects/dt=(\d{4}-\d{2}-\d{2})/`)

// knownObjects is the set of object versions that ingests since the given time have read: what is listed from then on was not
// read before, or is read once more for nothing. Rows of a run that died before its commit do not count: how far it listed and what
// it saw of the future went with it, so its inputs are read again.
func (r *ingestRun) knownObjects(ctx context.Context, since time.Time, committed int64) (map[string]struct{}, error) {
	type row struct {
		Source    string `parquet:"source,dict"`
		Object    string `parquet:"object"`
		ETag      string `parquet:"etag"`
		Status    string `parquet:"status,dict"`
		CommitSeq int64  `parquet:"commit_seq,delta"`
	}
	known := map[string]struct{}{}
	first := since.AddDate(0, 0, -1).Format(time.DateOnly)
	for key, err := range r.root.keys(ctx, schema.Objects.Name+"/") {
		if err != nil {
			return nil, fmt.Errorf("list objects: %w", err)
		}
		m := objectsDay.FindStringSubmatch(key)
		if m == nil {
			continue
		}
		if r.objectDays = append(r.objectDays, key); !since.IsZero() && m[1] < first {
			continue
		}
		rows, _, err := readMended[row](ctx, r, key)
		if err != nil {
			return nil, fmt.Errorf("read objects: %w", err)
		}
		for _, o := range rows {
			switch {
			case o.CommitSeq > committed:
				r.uncommitted = append(r.uncommitted, key)
			case o.Status != "vanished":
				known[versionID(o.Source, o.Object, o.ETag)] = struct{}{}
			}
		}
	}
	r.uncommitted = slices.Compact(r.uncommitted)
	return known, nil
}

func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:]
}
