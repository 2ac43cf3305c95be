package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/shuffle"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// merger rebuilds the buckets that the new records touch and stages the results on local disk until all are ready.
type merger struct {
	run   *ingestRun
	index *traceIndex
	spill string

	mu       sync.Mutex
	staged   []staged
	affected map[string]struct{} // session keys whose rows are replaced
	located  []schema.Trace      // where they and their traces now lie
}

// staged is one object that is ready to be published.
type staged struct {
	key   string
	etag  string // of the object it replaces, "" none
	file  string // encoded bytes on local disk; "" deletes the object
	rows  int
	early string // encoded bytes that still hold the sessions which leave for another object; "" none needed
	gains bool   // holds sessions that it did not hold
}

// built is a session with its rows, where it was and where it goes.
type built struct {
	key    string
	tenant string
	from   []string // dts where it lies now
	to     string   // dt where it will lie, "" when no record is left
	spans  []schema.Span
	out    session.Built
}

// merge rebuilds every bucket that has records or loses some.
func (m *merger) merge(ctx context.Context, byBucket *shuffle.Shuffle) error {
	m.affected = map[string]struct{}{}
	losers := map[int][]string{}
	for mv := range m.run.moves {
		b, err := m.run.root.Layout.Bucket(mv.OldKey)
		if err != nil {
			return err
		}
		losers[b] = append(losers[b], mv.OldKey)
	}
	seen := map[int]bool{}
	for g, err := range byBucket.Groups(ctx) {
		if err != nil {
			return err
		}
		var b int
		if _, err := fmt.Sscanf(g.Key, "%d", &b); err != nil {
			return fmt.Errorf("bucket name %q: %w", g.Key, err)
		}
		seen[b] = true
		if err := m.bucket(ctx, b, g.Records, losers[b]); err != nil {
			return fmt.Errorf("merge bucket %02d: %w", b, err)
		}
	}
	for _, b := range slices.Sorted(maps.Keys(losers)) {
		if seen[b] {
			continue
		}
		if err := m.bucket(ctx, b, nil, losers[b]); err != nil {
			return fmt.Errorf("merge bucket %02d: %w", b, err)
		}
	}
	return nil
}

// pile is the rows of one session that take part in a merge.
type pile struct {
	rows   []schema.Span
	stored []bool
}

func (m *merger) bucket(ctx context.Context, b int, records [][]byte, losers []string) error {
	piles := map[string]*pile{}
	for _, key := range losers {
		piles[key] = &pile{}
	}
	for _, rec := range records {
		row, stored, err := decodeSpan(rec)
		if err != nil {
			return err
		}
		p := piles[row.SessionKey]
		if p == nil {
			p = &pile{}
			piles[row.SessionKey] = p
		}
		p.rows, p.stored = append(p.rows, row), append(p.stored, stored)
	}
	m.dropSealed(piles)
	days, err := m.loadDays(ctx, b, piles)
	if err != nil {
		return err
	}
	m.addStored(piles, days)
	sessions, err := m.build(ctx, piles)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		if s.to != "" && days[s.to] == nil {
			if days[s.to], err = m.loadDay(ctx, b, s.to); err != nil {
				return err
			}
		}
	}
	for _, dt := range slices.Sorted(maps.Keys(days)) {
		if err := m.stageDay(dt, days[dt], sessions); err != nil {
			return err
		}
	}
	m.locate(sessions)
	return nil
}

// dropSealed takes out sessions whose content has expired: late records are counted, never merged.
func (m *merger) dropSealed(piles map[string]*pile) {
	for key, p := range piles {
		sealed := false
		for _, dt := range m.index.days[key] {
			sealed = sealed || m.run.expired(dt)
		}
		if !sealed {
			continue
		}
		for i := range p.rows {
			if !p.stored[i] {
				m.run.addFiltered(&p.rows[i], "sealed")
			}
		}
		delete(piles, key)
	}
}

// loadDays reads every object of the bucket in which a session of piles lies.
func (m *merger) loadDays(ctx context.Context, b int, piles map[string]*pile) (map[string]*day, error) {
	days := map[string]*day{}
	for key := range piles {
		for _, dt := range m.index.days[key] {
			if days[dt] != nil {
				continue
			}
			d, err := m.loadDay(ctx, b, dt)
			if err != nil {
				return nil, err
			}
			days[dt] = d
		}
	}
	return days, nil
}

// addStored adds the stored rows of the piles' sessions that did not come with their trace already.
func (m *merger) addStored(piles map[string]*pile, days map[string]*day) {
	for _, dt := range slices.Sorted(maps.Keys(days)) {
		for _, row := range days[dt].spans.rows {
			p := piles[row.SessionKey]
			if p == nil {
				continue
			}
			if _, came := m.run.traces[traceKey(row.Tenant, row.TraceID)]; came && row.TraceID != "" {
				continue
			}
			p.rows, p.stored = append(p.rows, row), append(p.stored, true)
		}
		for _, s := range days[dt].sessions.rows {
			if piles[s.SessionKey] != nil {
				service := s.Service
				if s.SessionIDSource == "trace" {
					service = ""
				}
				m.run.noteIdent(session.Ident{Key: s.SessionKey, ID: s.SessionID, Source: s.SessionIDSource, Service: service})
			}
		}
	}
}

// build derives every session of piles, in key order.
func (m *merger) build(ctx context.Context, piles map[string]*pile) ([]*built, error) {
	p := Plan[*built]{Stage: "ingest/build"}
	for _, key := range slices.Sorted(maps.Keys(piles)) {
		pl := piles[key]
		p.Tasks = append(p.Tasks, Task[*built]{Name: key, Do: func(context.Context) (*built, error) {
			s := &built{key: key, from: m.index.days[key]}
			m.run.countRows(pl)
			s.spans, _ = session.Dedupe(pl.rows)
			if len(s.spans) == 0 {
				return s, nil
			}
			s.tenant, s.to = s.spans[0].Tenant, session.Dt(s.spans)
			s.out = session.Build(m.run.ident(key), s.tenant, s.spans, session.Options{AsOf: m.run.cfg.asOf, Join: m.run.joinMasked})
			if m.run.expired(s.to) {
				s.spans = nil
				expireContent(&s.out)
			}
			return s, nil
		}})
	}
	return runLocal(ctx, runtime.GOMAXPROCS(0), p)
}

// day is the stored objects of one bucket and day.
type day struct {
	spans    object[schema.Span]
	sessions object[schema.Session]
	steps    object[schema.Step]
	skills   object[schema.Skill]
	tools    object[schema.Tool]
}

// object is one stored object, decoded.
type object[T any] struct {
	table schema.Table
	key   string
	etag  string
	sum   [sha256.Size]byte
	rows  []T
}

func (m *merger) loadDay(ctx context.Context, b int, dt string) (*day, error) {
	d := new(day)
	return d, errors.Join(
		load(ctx, m, schema.Spans, dt, b, &d.spans),
		load(ctx, m, schema.Sessions, dt, b, &d.sessions),
		load(ctx, m, schema.Steps, dt, b, &d.steps),
		load(ctx, m, schema.Skills, dt, b, &d.skills),
		load(ctx, m, schema.Tools, dt, b, &d.tools),
	)
}

func load[T any](ctx context.Context, m *merger, t schema.Table, dt string, b int, o *object[T]) error {
	o.table, o.key = t, t.DayKey(dt, b)
	data, obj, err := m.run.root.Store.Get(ctx, o.key, "")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	o.etag, o.sum = obj.ETag, sha256.Sum256(data)
	if o.rows, err = table.Decode[T](data); err != nil {
		return fmt.Errorf("%s: %w", o.key, err)
	}
	return nil
}

// stageDay encodes what the five tables of one bucket and day become.
func (m *merger) stageDay(dt string, d *day, sessions []*built) error {
	ch := change{dt: dt, expired: m.run.expired(dt), empty: true, sessions: map[string]*built{}}
	for _, s := range sessions {
		ch.sessions[s.key] = s
		here := slices.Contains(s.from, dt)
		ch.gains = ch.gains || s.to == dt && !here
		ch.empty = ch.empty && s.to != dt
	}
	for i := range d.sessions.rows {
		ch.empty = ch.empty && ch.sessions[d.sessions.rows[i].SessionKey] != nil
	}
	return errors.Join(
		stage(m, ch, &d.spans, func(r *schema.Span) string { return r.SessionKey }, func(s *built) []schema.Span { return s.spans }),
		stage(m, ch, &d.sessions, func(r *schema.Session) string { return r.SessionKey }, func(s *built) []schema.Session { return []schema.Session{s.out.Session} }),
		stage(m, ch, &d.steps, func(r *schema.Step) string { return r.SessionKey }, func(s *built) []schema.Step { return s.out.Steps }),
		stage(m, ch, &d.skills, func(r *schema.Skill) string { return r.SessionKey }, func(s *built) []schema.Skill { return s.out.Skills }),
		stage(m, ch, &d.tools, func(r *schema.Tool) string { return r.SessionKey }, func(s *built) []schema.Tool { return s.out.Tools }),
	)
}

// change is what happens to one bucket and day.
type change struct {
	dt       string
	expired  bool
	gains    bool // a session arrives
	empty    bool // no session is left
	sessions map[string]*built
}

func stage[T schema.Row[T]](m *merger, ch change, o *object[T], keyOf func(*T) string, rowsOf func(*built) []T) error {
	if ch.expired && (o.table.Name == schema.Spans.Name || o.table.Name == schema.Steps.Name) {
		return nil // content of that day is gone and stays gone
	}
	st := staged{key: o.key, etag: o.etag, gains: ch.gains}
	if ch.empty {
		if o.etag != "" {
			m.addStaged(st)
		}
		return nil
	}
	var rows, leaving []T
	for i := range o.rows {
		switch s := ch.sessions[keyOf(&o.rows[i])]; {
		case s == nil:
			rows = append(rows, o.rows[i])
		case s.to != ch.dt:
			leaving = append(leaving, o.rows[i])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ch.sessions)) {
		if s := ch.sessions[key]; s.to == ch.dt {
			rows = append(rows, rowsOf(s)...)
		}
	}
	st.rows = len(rows)
	file, sum, err := encodeFile(m, o.table, o.key, rows)
	if err != nil || sum == o.sum {
		return err
	}
	st.file = file
	if ch.gains && len(leaving) > 0 {
		if st.early, _, err = encodeFile(m, o.table, o.key+".early", append(leaving, rows...)); err != nil {
			return err
		}
	}
	m.addStaged(st)
	return nil
}

func encodeFile[T schema.Row[T]](m *merger, t schema.Table, key string, rows []T) (file string, sum [sha256.Size]byte, err error) {
	table.Sort(rows)
	var buf bytes.Buffer
	if err := table.Encode(&buf, t, rows); err != nil {
		return "", sum, err
	}
	file = filepath.Join(m.spill, fmt.Sprintf("stage-%x", digest(key)[:12]))
	if err := os.WriteFile(file, buf.Bytes(), 0o600); err != nil {
		return "", sum, fmt.Errorf("stage %s: %w", key, err)
	}
	return file, sha256.Sum256(buf.Bytes()), nil
}
