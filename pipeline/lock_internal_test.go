package pipeline

import (
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline/store"
)

// gonePID is the id of a process that has ended.
func gonePID(t *testing.T) int {
	t.Helper()
	c := exec.Command("true")
	if err := c.Run(); err != nil {
		t.Skip("no command true:", err)
	}
	return c.Process.Pid
}

func TestAcquireLock_Holders(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	now, gone := time.Now().UTC(), gonePID(t)
	holder := func(h lockHolder) string {
		b, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for name, tt := range map[string]struct {
		content string
		force   bool
		says    string // of the refusal; "" means that the lock is taken
	}{
		"alive here":                {holder(lockHolder{host, os.Getpid(), pidNamespace(), now, now}), false, "is being written by process"},
		"gone here":                 {holder(lockHolder{host, gone, pidNamespace(), now, now}), false, ""},
		"of another container":      {holder(lockHolder{host, gone, "pid:[1]", now, now}), false, "is being written by process"},
		"of another host":           {holder(lockHolder{"elsewhere", gone, pidNamespace(), now, now}), false, "on elsewhere since"},
		"without a sign for long":   {holder(lockHolder{"elsewhere", 1, "", now, now.Add(-time.Hour)}), false, ""},
		"of another host, by force": {holder(lockHolder{"elsewhere", 1, "", now, now}), true, ""},
		"unreadable":                {"not a lock", false, "is being written by a process that left an unreadable _lock"},
		"unreadable, by force":      {"not a lock", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			st, err := store.Open(t.Context(), t.TempDir(), store.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.PutIfAbsent(t.Context(), lockKey, strings.NewReader(tt.content), store.PutOptions{}); err != nil {
				t.Fatal(err)
			}
			l, _, err := acquireLock(t.Context(), st, lockKey, tt.force, slog.New(slog.DiscardHandler))
			if err == nil {
				defer l.release(t.Context())
			}
			if tt.says == "" {
				if err != nil {
					t.Error("not taken:", err)
				}
				return
			}
			var exit *ExitError
			if !errors.As(err, &exit) || exit.Code != ExitLocked || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, want exit 6 that says %q", err, tt.says)
			}
		})
	}
}
