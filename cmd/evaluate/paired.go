package main

import (
	"context"
	"log/slog"

	"github.com/tracejury/tracejury/pipeline"
)

// suites is the flags of evaluate suites.
type suites struct {
	Paths []string `arg:"" optional:"" name:"files" help:"Suite files to check and list beside the built-in ones."`
	Print string   `help:"Print a built-in suite, to start one of your own from." placeholder:"NAME"`
}

func (s *suites) job(ctx context.Context, cfg *pipeline.Config, log *slog.Logger) func() (textual, error) {
	return func() (textual, error) {
		return some(pipeline.ListSuites(ctx, cfg, pipeline.SuitesOptions{Files: s.Paths}, log))
	}
}
