package pipeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// dayStager builds the sessions of one bucket and day and merges the five tables with what is stored of them. It is used again
// for the next day.
type dayStager struct {
	m        *merger
	spans    lane[schema.Span]
	sessions lane[schema.Session]
	steps    lane[schema.Step]
	skills   lane[schema.Skill]
	tools    lane[schema.Tool]
}

// lane is one table on its way from what is stored to what will be.
type lane[T schema.Row[T]] struct {
	table  schema.Table
	key    string
	old    localObject
	in     *rowStream[T]
	out    stagedFile[T]
	path   string
	off    bool // the table is not written
	leaves bool // a stored row leaves for another day
	idOf   func(*T) (tenant, session string)
	seen   func(*T) // of every row that is written; nil for none
}

// write adds a row to what will be.
func (l *lane[T]) write(row *T) error {
	if l.seen != nil {
		l.seen(row)
	}
	return l.out.w.Write(row)
}

// plan is what the lanes need to know of the day.
type plan struct {
	dt       string
	gains    bool
	affected map[string]string // tenant \0 session key ─► dt
}

func (s *dayStager) stage(ctx context.Context, bm *bucketMerge, d *dayMerge) (err error) {
	_ = d.stored.close() // it was only read
	d.stored = nil
	p := plan{dt: d.dt, gains: d.gains, affected: bm.affected}
	defer s.abandon()
	expired := bm.run.expired(d.dt) // content of that day is gone and stays gone
	err = errors.Join(
		begin(ctx, bm, d, &s.spans, schema.Spans, expired, func(r *schema.Span) (string, string) { return r.Tenant, r.SessionKey }),
		begin(ctx, bm, d, &s.sessions, schema.Sessions, false, func(r *schema.Session) (string, string) { return r.Tenant, r.SessionKey }),
		begin(ctx, bm, d, &s.steps, schema.Steps, expired, func(r *schema.Step) (string, string) { return r.Tenant, r.SessionKey }),
		begin(ctx, bm, d, &s.skills, schema.Skills, false, func(r *schema.Skill) (string, string) { return r.Tenant, r.SessionKey }),
		begin(ctx, bm, d, &s.tools, schema.Tools, false, func(r *schema.Tool) (string, string) { return r.Tenant, r.SessionKey }),
	)
	if err != nil {
		return err
	}
	first := int64(0) // time in these spans that lies beyond the horizon
	s.spans.seen = func(row *schema.Span) { first = earliest(first, bm.run.horizon.beyond(row)) }
	var tools []schema.Tool // in an order of their own; few and short
	err = d.spool.each(func(from *spooled) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		built, err := bm.build(from, d.dt)
		if err != nil {
			return err
		}
		bm.run.noteSkillTools(&built.Session)
		bm.run.noteCut(&built.Session)
		if expired {
			expireContent(&built)
		}
		tools = append(tools, built.Tools...)
		return errors.Join(
			putSpooled(&s.spans, p, from),
			s.sessions.put(p, []schema.Session{built.Session}, from.tenant, from.id.Key),
			s.steps.put(p, built.Steps, from.tenant, from.id.Key),
			s.skills.put(p, built.Skills, from.tenant, from.id.Key),
		)
	})
	if err != nil {
		return err
	}
	table.Sort(tools)
	if err := s.tools.merge(p, tools); err != nil {
		return err
	}
	if err := errors.Join(s.spans.rest(p), s.sessions.rest(p), s.steps.rest(p), s.skills.rest(p)); err != nil {
		return err
	}
	s.m.mu.Lock()
	bm.run.horizon.note(s.spans.key, first)
	s.m.mu.Unlock()
	empty := s.sessions.out.w.Rows() == 0
	return errors.Join(finish(s.m, p, &s.spans, empty), finish(s.m, p, &s.sessions, empty), finish(s.m, p, &s.steps, empty),
		finish(s.m, p, &s.skills, empty), finish(s.m, p, &s.tools, empty))
}

// abandon closes what an error left open.
func (s *dayStager) abandon() {
	s.spans.abandon()
	s.sessions.abandon()
	s.steps.abandon()
	s.skills.abandon()
	s.tools.abandon()
}

func (l *lane[T]) abandon() {
	l.out.abandon()
	_ = l.in.close() // it was only read
	l.in = nil
	l.old.remove()
	l.old = localObject{}
}

// begin opens what is stored and what is to be written of one table.
func begin[T schema.Row[T]](ctx context.Context, bm *bucketMerge, d *dayMerge, l *lane[T], t schema.Table, off bool, idOf func(*T) (string, string)) (err error) {
	l.table, l.key, l.off, l.leaves, l.idOf = t, t.DayKey(d.dt, bm.b), off, false, idOf
	if off {
		return nil
	}
	if t.Name == schema.Spans.Name && d.spans.file != "" {
		l.old, d.spans = d.spans, localObject{}
	} else if l.old, err = bm.fetchDay(ctx, t, d.dt); err != nil {
		return err
	}
	if l.in, err = openRows[T](l.old); err != nil {
		return fmt.Errorf("read %s: %w", l.key, err)
	}
	l.path = localName(bm.dir, "stage", l.key)
	return l.out.begin(l.path, t, l.old.etag != "")
}

// put writes the rows of a session behind the stored rows of the sessions before it.
func (l *lane[T]) put(p plan, rows []T, tenant, key string) error {
	if err := l.upTo(p, tenant, key); err != nil || l.off {
		return err
	}
	for i := range rows {
		if err := l.write(&rows[i]); err != nil {
			return err
		}
	}
	return nil
}

// upTo writes the stored rows of the sessions before one, and passes those of its own.
func (l *lane[T]) upTo(p plan, tenant, key string) error {
	if l.off {
		return nil
	}
	for {
		old, err := l.in.peek()
		if err != nil {
			return fmt.Errorf("read %s: %w", l.key, err)
		}
		if old == nil {
			return nil
		}
		if t, k := l.idOf(old); compareSession(t, k, tenant, key) > 0 {
			return nil
		}
		if err := l.keep(p, old); err != nil {
			return err
		}
	}
}

// keep passes the stored row that peek showed: it stays unless its session is built anew.
func (l *lane[T]) keep(p plan, old *T) error {
	l.in.pop()
	if to, ok := p.affected[sessionID(l.idOf(old))]; ok {
		l.leaves = l.leaves || to != p.dt
		return nil
	}
	return l.write(old)
}

// rest keeps the stored rows that are left.
func (l *lane[T]) rest(p plan) error {
	if l.off {
		return nil
	}
	for {
		old, err := l.in.peek()
		if err != nil || old == nil {
			return err
		}
		if err := l.keep(p, old); err != nil {
			return err
		}
	}
}

// merge writes sorted rows among the stored ones that stay, for a table that is not in the order of sessions.
func (l *lane[T]) merge(p plan, rows []T) error {
	for i := range rows {
		for {
			old, err := l.in.peek()
			if err != nil {
				return fmt.Errorf("read %s: %w", l.key, err)
			}
			if old == nil || (*old).Compare(rows[i]) > 0 {
				break
			}
			if err := l.keep(p, old); err != nil {
				return err
			}
		}
		if err := l.write(&rows[i]); err != nil {
			return err
		}
	}
	return l.rest(p)
}

// finish ends the object of one table and stages it, if it differs from what is stored.
func finish[T schema.Row[T]](m *merger, p plan, l *lane[T], empty bool) error {
	if l.off {
		return nil
	}
	rows := l.out.w.Rows()
	sum, err := l.out.end()
	if err != nil {
		return fmt.Errorf("stage %s: %w", l.key, err)
	}
	st := staged{key: l.key, etag: l.old.etag, file: l.path, rows: rows, gains: p.gains}
	switch {
	case empty && st.etag == "":
		removeFile(l.path)
		return nil
	case !empty && st.etag != "" && sum == l.old.sum: // also what a run wrote that died before its commit
		removeFile(l.path)
		m.run.noteChanged(CommitEntry{Key: l.key, ETag: st.etag, Rows: rows})
		return nil
	case empty:
		removeFile(l.path)
		st.file = ""
	case p.gains && l.leaves:
		if st.early, err = l.early(m.dir, p); err != nil {
			return fmt.Errorf("stage %s: %w", l.key, err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.staged = append(m.staged, st)
	return nil
}

// early writes the object as it may be published before the sessions that leave have arrived elsewhere: with their rows.
func (l *lane[T]) early(dir string, p plan) (path string, err error) {
	info, err := fileOf(l.path)
	if err != nil {
		return "", err
	}
	fresh, err := openRows[T](info)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, fresh.close()) }()
	if l.in, err = openRows[T](l.old); err != nil {
		return "", err
	}
	path = localName(dir, "early", l.key)
	if err := l.out.begin(path, l.table, false); err != nil {
		return "", err
	}
	for {
		a, errA := fresh.peek()
		b, errB := l.in.peek()
		if err := errors.Join(errA, errB); err != nil {
			return "", err
		}
		switch {
		case a == nil && b == nil:
			_, err := l.out.end()
			return path, err
		case b == nil || a != nil && (*a).Compare(*b) <= 0:
			fresh.pop()
			err = l.out.w.Write(a)
		default:
			l.in.pop()
			if to, ok := p.affected[sessionID(l.idOf(b))]; ok && to != p.dt {
				err = l.out.w.Write(b)
			}
		}
		if err != nil {
			return "", err
		}
	}
}
