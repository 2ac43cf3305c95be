package pipeline

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge/ledger"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// erasedKey is the object that remembers which sessions were erased, by a keyed hash: it tells nobody who they were.
const erasedKey = "_erased.json"

// erasures is the content of erasedKey.
type erasures struct {
	Key    string   `json:"key"` // hex, drawn once
	Hashes []string `json:"hmac_sha256"`

	etag string
	set  map[string]struct{}
}

func loadErasures(ctx context.Context, st store.Store) (*erasures, error) {
	e := &erasures{set: map[string]struct{}{}}
	data, obj, err := st.Get(ctx, erasedKey, "")
	if errors.Is(err, fs.ErrNotExist) {
		return e, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", erasedKey, err)
	}
	if err := json.Unmarshal(data, e); err != nil {
		return nil, fmt.Errorf("read %s: %w", erasedKey, err)
	}
	e.etag = obj.ETag
	for _, h := range e.Hashes {
		e.set[h] = struct{}{}
	}
	return e, nil
}

func (e *erasures) hash(sessionKey string) string {
	h := hmac.New(sha256.New, []byte(e.Key))
	h.Write([]byte(sessionKey))
	return hex.EncodeToString(h.Sum(nil))
}

// has says that the session was erased.
func (e *erasures) has(sessionKey string) bool {
	if len(e.set) == 0 {
		return false
	}
	_, ok := e.set[e.hash(sessionKey)]
	return ok
}

// remember adds sessions and stores the list.
func (e *erasures) remember(ctx context.Context, st store.Store, keys []string) error {
	if e.Key == "" {
		var key [32]byte
		_, _ = rand.Read(key[:]) // it never fails
		e.Key = hex.EncodeToString(key[:])
	}
	for _, k := range keys {
		e.set[e.hash(k)] = struct{}{}
		e.Hashes = append(e.Hashes, e.hash(k))
	}
	slices.Sort(e.Hashes)
	e.Hashes = slices.Compact(e.Hashes)
	data, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", erasedKey, err)
	}
	body, opts := bytes.NewReader(append(data, '\n')), store.PutOptions{ContentType: "application/json"}
	if e.etag == "" {
		_, err = st.PutIfAbsent(ctx, erasedKey, body, opts)
	} else {
		_, err = st.PutIfMatch(ctx, erasedKey, body, e.etag, opts)
	}
	if err != nil {
		return writeError(err, st, erasedKey)
	}
	return nil
}

var sessionKeyForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// parseErase reads session:<key>.
func parseErase(s string) (string, error) {
	key, ok := strings.CutPrefix(s, "session:")
	if !ok || !sessionKeyForm.MatchString(key) {
		return "", usagef("--erase %q: want session: and the 32 hex digits of a session_key", s)
	}
	return key, nil
}

// erase removes a session from every table. It is remembered first, so that no run that begins meanwhile or later brings it
// back; what shows where it lies goes last, so that an erasure that was interrupted can be run again.
func (r *ingestRun) erase(ctx context.Context, key string) error {
	days, traces, err := r.whereabouts(ctx, key)
	if err != nil {
		return err
	}
	if err := r.erased.remember(ctx, r.root.Store, append(traces, key)); err != nil {
		return err
	}
	bucket, err := r.root.Layout.Bucket(key)
	if err != nil {
		return err
	}
	for _, dt := range days {
		if err := r.eraseDay(ctx, dt, bucket, key); err != nil {
			return fmt.Errorf("erase from day %s: %w", dt, err)
		}
	}
	if err := r.eraseRuns(ctx, key); err != nil {
		return fmt.Errorf("erase from runs: %w", err)
	}
	for b := range r.root.Layout.Buckets {
		err := errors.Join(
			mergeRows(ctx, r, schema.SessionsMoved, schema.SessionsMoved.BucketKey(b), nil, func(m schema.SessionMoved) bool { return m.OldKey != key && m.NewKey != key }),
			mergeRows(ctx, r, schema.Traces, schema.Traces.BucketKey(b), nil, func(t schema.Trace) bool { return t.SessionKey != key }),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// whereabouts finds the days on which a session lies, and the keys under which its traces would be sessions of their own if
// they were read without the records that carry its id.
func (r *ingestRun) whereabouts(ctx context.Context, key string) (days, traces []string, err error) {
	shared := map[string]bool{}
	var own []schema.Trace
	for b := range r.root.Layout.Buckets {
		rows, _, err := table.Read[schema.Trace](ctx, r.root.Store, schema.Traces.BucketKey(b))
		if err != nil {
			return nil, nil, fmt.Errorf("read traces: %w", err)
		}
		for _, t := range rows {
			switch {
			case t.SessionKey != key:
				shared[traceKey(t.Tenant, t.TraceID)] = true
			case t.TraceID == "":
				days = append(days, t.Dt)
			default:
				own = append(own, t)
			}
		}
	}
	for _, t := range own {
		if !shared[traceKey(t.Tenant, t.TraceID)] {
			traces = append(traces, session.Key(t.Tenant, "", t.TraceID))
		}
	}
	return days, traces, nil
}

// eraseDay takes a session out of the tables of one day. Objects in which nothing is left are deleted.
func (r *ingestRun) eraseDay(ctx context.Context, dt string, bucket int, key string) error {
	sessions, _, err := table.Read[schema.Session](ctx, r.root.Store, schema.Sessions.DayKey(dt, bucket))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(sessions, func(s schema.Session) bool { return s.SessionKey != key }) {
		for _, t := range dayTables() {
			if err := r.delete(ctx, t.DayKey(dt, bucket)); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.Join(
		mergeRows(ctx, r, schema.Spans, schema.Spans.DayKey(dt, bucket), nil, func(s schema.Span) bool { return s.SessionKey != key }),
		mergeRows(ctx, r, schema.Steps, schema.Steps.DayKey(dt, bucket), nil, func(s schema.Step) bool { return s.SessionKey != key }),
		mergeRows(ctx, r, schema.Skills, schema.Skills.DayKey(dt, bucket), nil, func(s schema.Skill) bool { return s.SessionKey != key }),
		mergeRows(ctx, r, schema.Tools, schema.Tools.DayKey(dt, bucket), nil, func(s schema.Tool) bool { return s.SessionKey != key }),
		mergeRows(ctx, r, schema.Sessions, schema.Sessions.DayKey(dt, bucket), nil, func(s schema.Session) bool { return s.SessionKey != key }),
	)
}

// eraseRuns takes what judges said of a session out of every run. A run that graded it loses its ledger and what is left of its
// transcripts, since replies there are not told apart by session.
func (r *ingestRun) eraseRuns(ctx context.Context, key string) error {
	about := func(subject, sessionKey string) bool { return sessionKey == key || strings.HasPrefix(subject, key) }
	touched, err := r.runsAbout(ctx, about)
	if err == nil {
		err = r.eraseOutside(ctx, about, touched)
	}
	if err != nil {
		return err
	}
	// The rows go last: they say which runs there are to look into, also when an erasure that was interrupted is run again.
	for _, prefix := range []string{"_ledger/", "_work/"} {
		for k, err := range r.root.keys(ctx, prefix) {
			if err != nil {
				return fmt.Errorf("list %s: %w", prefix, err)
			}
			if run, _, _ := strings.Cut(strings.TrimPrefix(k, prefix), "/"); touched[run] {
				if err := r.delete(ctx, k); err != nil {
					return err
				}
			}
		}
	}
	if err := errors.Join(r.eraseWork(ctx, about), r.eraseMaterials(ctx, touched)); err != nil {
		return err
	}
	for _, run := range slices.Sorted(maps.Keys(touched)) {
		id := strings.TrimPrefix(run, "run=")
		err := mergeRows(ctx, r, schema.Explanations, schema.Explanations.RunKey(id), nil, func(e schema.Explanation) bool { return !about(e.Subject, "") })
		if err == nil {
			err = mergeRows(ctx, r, schema.Verdicts, schema.Verdicts.RunKey(id), nil, func(v schema.Verdict) bool { return !about(v.Subject, v.SessionKey) })
		}
		if err == nil {
			err = mergeRows(ctx, r, schema.Grades, schema.Grades.RunKey(id), nil, func(g schema.Grade) bool { return !about(g.Subject, g.SessionKey) })
		}
		if err == nil { // what a call cost stays
			err = rewrite(ctx, r, schema.Calls, schema.Calls.RunKey(id), func(c *schema.Call) {
				if about(c.Subject, "") {
					c.Subject = ""
				}
			})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// runsAbout are the runs, as run=ID, that hold a row about a session.
func (r *ingestRun) runsAbout(ctx context.Context, about func(subject, sessionKey string) bool) (map[string]bool, error) {
	touched := map[string]bool{}
	// A run that was killed has no tables, but a log of what it was told.
	err := r.segments(ctx, func(run string, records []ledger.Record) {
		touched[run] = touched[run] || slices.ContainsFunc(records, func(rec ledger.Record) bool { return about(rec.Subject, "") })
	})
	if err != nil {
		return nil, err
	}
	for _, name := range []string{schema.Explanations.Name, schema.Verdicts.Name, schema.Grades.Name, schema.Calls.Name} {
		for k, err := range r.root.keys(ctx, name+"/") {
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", name, err)
			}
			run := path.Base(path.Dir(k))
			if path.Ext(k) != ".parquet" || touched[run] {
				continue
			}
			rows, err := table.ReadWhere(ctx, r.root.Store, k, func(row *aboutRow) bool { return about(row.Subject, row.SessionKey) })
			if err != nil {
				return nil, err
			}
			touched[run] = len(rows) > 0
		}
	}
	maps.DeleteFunc(touched, func(_ string, is bool) bool { return !is })
	return touched, nil
}

// eraseWork deletes transcripts that wait for a judge, of runs that were killed or go on now.
func (r *ingestRun) eraseWork(ctx context.Context, about func(subject, sessionKey string) bool) error {
	for k, err := range r.root.keys(ctx, "_work/") {
		if err != nil {
			return fmt.Errorf("list _work: %w", err)
		}
		if path.Ext(k) != ".json" {
			continue
		}
		data, _, err := r.root.Store.Get(ctx, k, "")
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var item struct {
			Subject string `json:"subject"`
		}
		if err == nil && (json.Unmarshal(data, &item) != nil || about(item.Subject, "")) {
			err = r.delete(ctx, k)
		}
		if err != nil {
			return fmt.Errorf("erase from _work: %w", err)
		}
	}
	return nil
}

// aboutRow is what a row of explanations, verdicts or grades is about.
type aboutRow struct {
	Subject    string `parquet:"subject"`
	SessionKey string `parquet:"session_key,optional"`
}

// eraseMaterials deletes the skills that were sent to the touched runs and to no other: which session one was taken from is not told.
func (r *ingestRun) eraseMaterials(ctx context.Context, touched map[string]bool) error {
	if len(touched) == 0 {
		return nil
	}
	runs, err := allRuns(ctx, r.root.Store)
	if err != nil {
		return err
	}
	sent, kept := map[string]bool{}, map[string]bool{}
	for i := range runs {
		of := kept
		if touched["run="+runs[i].RunID] {
			of = sent
		}
		for _, sum := range runs[i].Materials {
			of[sum] = true
		}
	}
	for _, sum := range slices.Sorted(maps.Keys(sent)) {
		rows, _, err := table.Read[schema.Material](ctx, r.root.Store, materialKey(sum))
		if err != nil {
			return fmt.Errorf("read materials: %w", err)
		}
		if kept[sum] || len(rows) == 0 || rows[0].Kind != skillMaterial {
			continue
		}
		if err := r.delete(ctx, materialKey(sum)); err != nil {
			return err
		}
	}
	return nil
}
