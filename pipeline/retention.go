package pipeline

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// expired says that the content of sessions of day dt is no longer kept. What has expired once stays so: a day at or below the
// floor of the last commit is sealed, whatever the configuration says now.
func (r *ingestRun) expired(dt string) bool {
	return contentExpired(r.cfg, dt) || dt != schema.UnknownDay && dt <= r.floor
}

// contentFloor is the last day whose content has expired by this configuration, "" none.
func contentFloor(cfg *Config) string {
	switch days := *cfg.Retention.Content; {
	case cfg.Content.Storage == "off":
		return cfg.asOf.Format(time.DateOnly)
	case days > 0:
		return cfg.asOf.AddDate(0, 0, -days-1).Format(time.DateOnly)
	}
	return ""
}

func contentExpired(cfg *Config, dt string) bool {
	if cfg.Content.Storage == "off" {
		return true
	}
	days := *cfg.Retention.Content
	if days == 0 || dt == schema.UnknownDay {
		return false
	}
	t, err := time.Parse(time.DateOnly, dt)
	return err == nil && t.AddDate(0, 0, days).Before(cfg.asOf.Truncate(24*time.Hour))
}

// expireContent takes the content out of what is kept for ever.
func expireContent(b *session.Built) {
	b.Steps = nil
	expireSession(&b.Session)
	for i := range b.Skills {
		expireSkill(&b.Skills[i])
	}
}

func expireSession(s *schema.Session) { s.ContentState = "missing" }

func expireSkill(s *schema.Skill) { s.Refusal, s.Description, s.Body = "", "", "" }

var dayBucket = regexp.MustCompile(`^(\w+)/dt=(\d{4}-\d{2}-\d{2})/bucket=\d+\.parquet$`)

// applyRetention deletes the content of days that have expired by as-of: the objects of spans and steps, and the content columns
// of what stays.
func (r *ingestRun) applyRetention(ctx context.Context, c *Commit) error {
	st := r.root.Store
	var gone []store.Object
	for obj, err := range st.List(ctx, schema.Spans.Name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return fmt.Errorf("list spans: %w", err)
		}
		if m := dayBucket.FindStringSubmatch(obj.Key); m != nil && r.expired(contentDay(m[2], obj)) {
			gone = append(gone, obj)
		}
	}
	if ahead := time.Until(r.cfg.asOf); len(gone) > 0 && ahead > 24*time.Hour && !r.opts.ExpireAhead && r.cfg.Content.Storage == "on" {
		return &ExitError{Code: ExitUsage, Err: fmt.Errorf("as-of %s lies %d days ahead of this machine's clock: the content of %d objects would be deleted for good", r.cfg.asOf.Format(time.RFC3339), int(ahead.Hours()/24), len(gone)),
			Hint: "mend --as-of, or give --expire-ahead if it is meant"}
	}
	days := map[string]bool{}
	for _, obj := range gone {
		m := dayBucket.FindStringSubmatch(obj.Key)
		days[m[2]] = true
		name := obj.Key[len(schema.Spans.Name):]
		if err := r.expireBucket(ctx, name); err != nil {
			return fmt.Errorf("expire content: %w", err)
		}
	}
	r.counts.Expired = int64(len(days))
	if err := errors.Join(r.expireTools(ctx), r.expireQuarantine(ctx), r.expireMaterials(ctx)); err != nil {
		return err
	}
	return errors.Join(r.expireExplanations(ctx), r.expireAnswers(ctx),
		r.expireRuns(ctx, "_ledger", r.expired), // replies hold the judge's own words
		r.expireWork(ctx), r.expireOutside(ctx))
}

// contentDay is the day from which the content of a bucket of day dt ages: where no record tells a time, the last that was written there.
func contentDay(dt string, obj store.Object) string {
	if dt == schema.UnknownDay && !obj.Modified.IsZero() {
		return obj.Modified.UTC().Format(time.DateOnly)
	}
	return dt
}

// expireBucket deletes the content of one bucket of a day. The spans go last, and only when all else is gone: they are what the next
// run looks for.
func (r *ingestRun) expireBucket(ctx context.Context, name string) error {
	if err := rewrite(ctx, r, schema.Sessions, schema.Sessions.Name+name, expireSession); err != nil {
		return err
	}
	if err := rewrite(ctx, r, schema.Skills, schema.Skills.Name+name, expireSkill); err != nil {
		return err
	}
	if err := r.delete(ctx, schema.Steps.Name+name); err != nil {
		return err
	}
	return r.delete(ctx, schema.Spans.Name+name)
}

// toolDays is how long definitions of tools are kept.
const toolDays = 400

func (r *ingestRun) expireTools(ctx context.Context) error {
	first := r.cfg.asOf.AddDate(0, 0, -toolDays).Format(time.DateOnly)
	for key, err := range r.root.keys(ctx, schema.Tools.Name+"/") {
		if err != nil {
			return fmt.Errorf("list tools: %w", err)
		}
		if m := dayBucket.FindStringSubmatch(key); m != nil && m[2] < first && m[2] != schema.UnknownDay {
			if err := r.delete(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *ingestRun) expireQuarantine(ctx context.Context) error {
	days := *r.cfg.Retention.Quarantine
	if days == 0 {
		return nil
	}
	first := r.cfg.asOf.AddDate(0, 0, -days).UnixNano()
	for b := range r.root.Layout.Buckets {
		err := mergeRows(ctx, r, schema.Quarantine, schema.Quarantine.BucketKey(b), nil, func(q schema.QuarantineRow) bool { return q.QuarantinedNano >= first })
		if err != nil {
			return fmt.Errorf("expire quarantine: %w", err)
		}
	}
	return nil
}

func (r *ingestRun) delete(ctx context.Context, key string) error {
	if err := r.root.Store.Delete(ctx, key); err != nil {
		return err
	}
	r.deleted = append(r.deleted, key)
	return nil
}

// rewrite applies change to every row of the object at key.
func rewrite[T schema.Row[T]](ctx context.Context, r *ingestRun, t schema.Table, key string, change func(*T)) error {
	rows, etag, err := table.Read[T](ctx, r.root.Store, key)
	if err != nil || etag == "" {
		return err
	}
	for i := range rows {
		change(&rows[i])
	}
	obj, err := table.Write(ctx, r.root.Store, t, key, rows, etag)
	if err != nil {
		return writeError(err, r.root.Store, key)
	}
	r.noteChanged(CommitEntry{Key: key, ETag: obj.ETag, Rows: len(rows)})
	return nil
}

var runObject = regexp.MustCompile(`^\w+/run=(\d{4}-\d{2}-\d{2})-[0-9a-f]{12}/`)

// workAge is how long transcripts and locks below _work may lie: no run takes two days.
const workAge = 48 * time.Hour

// expireWork deletes what runs that died left below _work, by when it was written: a run's date says nothing about its age.
func (r *ingestRun) expireWork(ctx context.Context) error {
	for obj, err := range r.root.Store.List(ctx, "_work/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return fmt.Errorf("list _work: %w", err)
		}
		if time.Since(obj.Modified) > workAge {
			if err := r.delete(ctx, obj.Key); err != nil {
				return err
			}
		}
	}
	return nil
}

// expireRuns deletes a run table's objects whose run's date has passed.
func (r *ingestRun) expireRuns(ctx context.Context, name string, passed func(dt string) bool) error {
	for obj, err := range r.root.Store.List(ctx, name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return fmt.Errorf("list %s: %w", name, err)
		}
		if m := runObject.FindStringSubmatch(obj.Key); m != nil && passed(m[1]) {
			if err := r.delete(ctx, obj.Key); err != nil {
				return err
			}
		}
	}
	return nil
}
