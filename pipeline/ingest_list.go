package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// listInputs opens the sources and freezes the list of objects to read: all that objects does not know under their ETag.
func (r *ingestRun) listInputs(ctx context.Context) error {
	since, err := r.sinceTime()
	if err != nil {
		return err
	}
	known, err := r.knownObjects(ctx)
	if err != nil {
		return err
	}
	for _, sc := range r.cfg.Sources {
		st, err := store.Open(ctx, sc.URI, r.cfg.Store.options(sc.Region, sc.RoleARN, r.cfg.Limits.MaxObjectBytes, r.log))
		if err != nil {
			return fmt.Errorf("open source %s: %w", sc.URI, err)
		}
		src := &openSource{cfg: sc, store: st}
		r.sources = append(r.sources, src)
		if err := r.listSource(ctx, src, since, known); err != nil {
			return err
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

func (r *ingestRun) listSource(ctx context.Context, src *openSource, since time.Time, known map[string]struct{}) error {
	skip := below(src.store.URI(), r.root.Store.URI())
	listed := 0
	for obj, err := range src.store.List(ctx, "", store.ListOptions{}) {
		if err != nil {
			return fmt.Errorf("list source: %w", err)
		}
		if skip != "" && strings.HasPrefix(obj.Key, skip) || notData(obj.Key) {
			continue
		}
		listed++
		if !since.IsZero() && objectTime(obj).Before(since) {
			continue
		}
		_, read := known[versionID(src.store.URI(), obj.Key, obj.ETag)]
		if read && !r.opts.Full {
			continue
		}
		r.inputs = append(r.inputs, input{source: src, obj: obj, again: read})
	}
	if listed == 0 {
		r.log.Warn("source holds no objects", "source", src.store.URI())
	}
	r.counts.Listed += int64(listed)
	return nil
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

var hiveTime = regexp.MustCompile(`year=(\d{4})/month=(\d{2})/day=(\d{2})(?:/hour=(\d{2}))?(?:/minute=(\d{2}))?`)

// objectTime is the time that a Hive-style key names, else when the object was written. An hour's folder holds what was
// uploaded until its end, so the end of the named span counts.
func objectTime(obj store.Object) time.Time {
	m := hiveTime.FindStringSubmatch(obj.Key)
	if m == nil {
		return obj.Modified
	}
	layout, text, end := "2006-01-02", m[1]+"-"+m[2]+"-"+m[3], 24*time.Hour
	if m[4] != "" {
		layout, text, end = layout+"T15", text+"T"+m[4], time.Hour
	}
	t, err := time.Parse(layout, text)
	if err != nil {
		return obj.Modified
	}
	return t.Add(end)
}

// versionID names one version of an object.
func versionID(source, object, etag string) string { return objectID(source, object) + "\x00" + etag }

// knownObjects is the set of object versions that were read.
func (r *ingestRun) knownObjects(ctx context.Context) (map[string]struct{}, error) {
	type row struct {
		Source string `parquet:"source,dict"`
		Object string `parquet:"object"`
		ETag   string `parquet:"etag"`
		Status string `parquet:"status,dict"`
	}
	known := map[string]struct{}{}
	for b := range r.root.Layout.Buckets {
		rows, _, err := table.Read[row](ctx, r.root.Store, schema.Objects.BucketKey(b))
		if err != nil {
			return nil, fmt.Errorf("read objects: %w", err)
		}
		for _, o := range rows {
			if o.Status != "vanished" {
				known[versionID(o.Source, o.Object, o.ETag)] = struct{}{}
			}
		}
	}
	return known, nil
}

func digest(s string) []byte {
	sum := sha256.Sum256([]byte(s))
	return sum[:]
}
