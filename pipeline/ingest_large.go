package pipeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/shuffle"
	"github.com/tracejury/tracejury/schema"
)

// A session whose records do not fit into memory takes the way of every other one, record by record over local disk: its rows are
// sorted and freed of duplicates by a shuffle of their own, and what is derived of it comes from the first
// limits.max_session_bytes of them, as it does where all fit.

// largeSession is what session does for records that do not fit into memory.
func (bm *bucketMerge) largeSession(ctx context.Context, id string, log *recordLog) error {
	r := bm.run
	g := gathered{}
	g.tenant, g.key, _ = strings.Cut(strings.Clone(id), "\x00")
	days, err := bm.located(g.tenant, g.key)
	if err != nil {
		return err
	}
	sorted := shuffle.New(shuffle.Options{Memory: bm.g.load, Load: bm.g.load, Dir: bm.dir, Partitions: 1})
	defer func() { _ = sorted.Close() }() // the spill directory goes as a whole
	find := r.newIdentFinder(g.tenant, g.key)
	var buf []byte
	add := func(s *spilled) error {
		find.add(s)
		buf = appendRow(buf[:0], s)
		return sorted.Add(rowOrder(&s.row), buf)
	}
	err = log.each(false, func(rec []byte) error {
		s, ok, err := g.take(r, rec)
		if err != nil || !ok {
			return err
		}
		return add(&s)
	})
	if err != nil {
		return err
	}
	if g.rows > 0 && !g.touched {
		return nil
	}
	if why := g.leftOut(r, days); why != "" {
		return log.each(false, func(rec []byte) error {
			s, ok, err := g.take(r, rec)
			if ok {
				r.filter([]spilled{s}, why)
			}
			return err
		})
	}
	for _, dt := range days {
		if slices.Contains(g.whole, dt) {
			continue
		}
		if err := bm.eachStored(ctx, g.tenant, g.key, dt, add); err != nil {
			return err
		}
	}
	return bm.placeLarge(ctx, &g, days, find.ident(), sorted)
}

// rowOrder is a key that equal records of one session share, and no others, and that sorts as their table does.
func rowOrder(row *schema.Span) string {
	key := row.Signal + "\x00" + row.TraceID + "\x00" + row.SpanID + "\x00"
	if id := identity(row); id[0] == 'r' {
		key += row.RecordSHA256
	}
	return key
}

// placeLarge is what place does for rows that come sorted, group by group of equal records.
func (bm *bucketMerge) placeLarge(ctx context.Context, g *gathered, days []string, id session.Ident, sorted *shuffle.Shuffle) error {
	out, err := newRecordLog(bm.dir, "session")
	if err != nil {
		return err
	}
	to, traces := "", map[string]struct{}{}
	err = func() error {
		var buf []byte
		for group, err := range sorted.Groups(ctx, 0) {
			if err != nil {
				return err
			}
			rows, all := make([]spilled, len(group.Records)), make([]schema.Span, len(group.Records))
			for i, rec := range group.Records {
				if rows[i], err = decodeRow(rec); err != nil {
					return err
				}
				all[i] = rows[i].row
			}
			kept, _ := session.Dedupe(all)
			bm.run.countRows(rows, kept)
			for i := range kept {
				if dt := session.Dt(kept[i : i+1]); to == "" || to == schema.UnknownDay || dt != schema.UnknownDay && dt < to {
					to = dt
				}
				if t := kept[i].TraceID; t != "" {
					traces[strings.Clone(t)] = struct{}{}
				}
				buf = appendRow(buf[:0], &spilled{row: kept[i], kind: recStored})
				if err := out.add(buf); err != nil {
					return err
				}
			}
		}
		return nil
	}()
	if err != nil || to == "" { // all its rows have left
		if err = errors.Join(err, out.close()); err != nil {
			return err
		}
		return bm.placed(g, days, "")
	}
	if err := bm.arrives(to, days).spool.addLarge(g.tenant, id, out); err != nil {
		return fmt.Errorf("spool day %s: %w", to, err)
	}
	for t := range traces {
		if err := bm.locate(g.tenant, t, g.key, to); err != nil {
			return err
		}
	}
	return bm.placed(g, days, to)
}

// build derives a session. It is one after the other for those that do not fit into memory.
func (bm *bucketMerge) build(s *spooled, dt string) (session.Built, error) {
	r := bm.run
	opts := session.Options{AsOf: time.Unix(0, r.horizon.until), Join: r.joinMasked, Prices: r.cfg.Ingest.Prices, MaxBytes: r.cfg.Limits.MaxSessionBytes}
	if s.log == nil {
		return session.Build(s.id, s.tenant, s.rows, opts), nil
	}
	bm.large.Lock()
	defer bm.large.Unlock()
	all := session.NewExtent(opts.AsOf)
	err := s.log.each(false, func(rec []byte) error {
		row, err := decodeRow(rec)
		if err == nil {
			all.Add(&row.row)
		}
		return err
	})
	if err != nil {
		return session.Built{}, err
	}
	in := all.Within(opts.MaxBytes)
	var rows []schema.Span
	i := -1
	err = s.log.each(false, func(rec []byte) error {
		if i++; in != nil && !in[i] {
			return nil
		}
		row, err := decodeRow(slices.Clone(rec))
		rows = append(rows, row.row)
		return err
	})
	return session.BuildWithin(s.id, s.tenant, dt, rows, all, opts), err
}

// eachRow hands over the rows of a spooled session in the order of the table.
func (s *spooled) eachRow(do func(*schema.Span) error) error {
	for i := range s.rows {
		if err := do(&s.rows[i]); err != nil {
			return err
		}
	}
	if s.log == nil {
		return nil
	}
	return s.log.each(true, func(rec []byte) error {
		row, err := decodeRow(rec)
		if err != nil {
			return err
		}
		return do(&row.row)
	})
}

// putSpooled is put for the rows of a spooled session.
func putSpooled(l *lane[schema.Span], p plan, s *spooled) error {
	if err := l.upTo(p, s.tenant, s.id.Key); err != nil || l.off {
		return err
	}
	return s.eachRow(l.write)
}
