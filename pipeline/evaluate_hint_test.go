package pipeline_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/tracejury/tracejury/pipeline"
)

// Where nothing is eligible it is said what to change.
func TestNothingEligibleSaysWhatToChange(t *testing.T) {
	data := demoLake(t)
	for name, c := range map[string]struct {
		edit func(*pipeline.Config)
		want string
	}{
		"another service": {func(c *pipeline.Config) { c.Evaluate.Service = "ops-agnet" }, `the service "ops-agnet": did you mean "ops-agent"?`},
		"another agent":   {func(c *pipeline.Config) { c.Evaluate.Agent = "\x1b[31mnobody" }, "no session of the window has the agent"},
		"another week":    {func(c *pipeline.Config) { c.AsOf = "2026-03-01T00:00:00Z" }, "the tables hold sessions from 2026-11-2"},
	} {
		cfg := config(t, "", data)
		c.edit(cfg)
		if err := cfg.Complete(time.Now()); err != nil {
			t.Fatal(err)
		}
		_, err := pipeline.Evaluate(t.Context(), cfg, pipeline.EvaluateOptions{}, quiet())
		wantExit(t, err, pipeline.ExitNoResult)
		var exit *pipeline.ExitError
		if !errors.As(err, &exit) || !strings.Contains(exit.Hint, c.want) || strings.ContainsRune(exit.Hint, '\x1b') {
			t.Errorf("%s: %v, want a hint with %q", name, err, c.want)
		}
	}
}
