package pipeline_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

func at(t *testing.T, cfg *pipeline.Config, asOf string) *pipeline.Config {
	t.Helper()
	cfg.AsOf = asOf
	if err := cfg.Complete(time.Now()); err != nil {
		t.Fatal(err)
	}
	return cfg
}

// sessionsOf reads every row of sessions below a data root.
func sessionsOf(t *testing.T, data string) map[string]schema.Session {
	t.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, data, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]schema.Session{}
	for key := range tree(t, data, "sessions/") {
		rows, _, err := table.Read[schema.Session](ctx, st, key)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			out[r.SessionKey] = r
		}
	}
	return out
}

// What has expired stays sealed, whatever the configuration says later: late records and a full reading neither bring content back
// nor replace a session's counts by those of a fragment.
func TestExpiredSessionsStaySealed(t *testing.T) {
	for name, later := range map[string]func(*pipeline.Config){
		"longer retention":      func(c *pipeline.Config) { c.Retention.Content = new(3650) },
		"kept for ever":         func(c *pipeline.Config) { c.Retention.Content = new(0) },
		"content storage again": func(c *pipeline.Config) { c.Content.Storage = "on" },
	} {
		t.Run(name, func(t *testing.T) {
			data := demoLake(t)
			before := sessionsOf(t, data)
			off := config(t, "", data)
			if name == "content storage again" {
				off.Content.Storage = "off"
			} else {
				off = at(t, off, "2027-02-01T00:00:00Z")
			}
			mustIngest(t, off, pipeline.IngestOptions{RetentionOnly: true, ExpireAhead: true})

			cfg := config(t, demoArchive, data)
			later(cfg)
			mustIngest(t, at(t, cfg, "2027-02-02T00:00:00Z"), pipeline.IngestOptions{Full: true})
			for _, prefix := range []string{"spans/", "steps/"} {
				if back := tree(t, data, prefix); len(back) > 0 {
					t.Errorf("expired content came back: %d objects of %s", len(back), prefix)
				}
			}
			after := sessionsOf(t, data)
			for key, b := range before {
				if a := after[key]; a.NToolCalls != b.NToolCalls || a.Revision != b.Revision || a.ContentState != "missing" {
					t.Errorf("session %s: %d tool calls, revision %.8s, content %s; was %d, %.8s", key, a.NToolCalls, a.Revision, a.ContentState, b.NToolCalls, b.Revision)
				}
			}
		})
	}
}

// A dry run writes nothing, not even the layout of a new root.
// Content without any time ages from the day on which it was written.
func TestRetention_ContentWithoutTimeExpires(t *testing.T) {
	from, data := t.TempDir(), filepath.Join(t.TempDir(), "lake")
	putFile(t, from, "a.json", spanAt("00000000000000000000000000000001", "0000000000000001", "timeless", "0", "0"))
	mustIngest(t, config(t, from, data), pipeline.IngestOptions{})
	for _, c := range []struct {
		days int
		kept bool
	}{{29, true}, {33, false}} {
		asOf := time.Now().AddDate(0, 0, c.days).UTC().Format(time.RFC3339)
		mustIngest(t, at(t, config(t, "", data), asOf), pipeline.IngestOptions{RetentionOnly: true, ExpireAhead: true})
		if kept := len(tree(t, data, "spans/dt="+schema.UnknownDay)) > 0; kept != c.kept {
			t.Errorf("after %d days: kept %v, want %v", c.days, kept, c.kept)
		}
	}
	for _, s := range sessionsOf(t, data) {
		if s.ContentState != "missing" {
			t.Errorf("session %s: content %s", s.SessionID, s.ContentState)
		}
	}
}

func TestDryRunWritesNothing(t *testing.T) {
	data := filepath.Join(t.TempDir(), "lake")
	sum, err := pipeline.Ingest(context.Background(), config(t, demoArchive, data), pipeline.IngestOptions{DryRun: true}, quiet())
	if err != nil || sum.Counts.New != 53 {
		t.Errorf("got %+v, %v", sum, err)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("a dry run made %s", data)
	}
}
