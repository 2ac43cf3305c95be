package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
)

// Exit codes of every command.
const (
	ExitOK       = 0
	ExitGate     = 1 // a gate failed
	ExitUsage    = 2 // bad usage or configuration
	ExitNoResult = 3 // nothing to grade, or over 10 % ungraded
	ExitPartial  = 4 // budget or interrupt: run again to go on
	ExitService  = 5 // a service failed
	ExitLocked   = 6 // someone else holds the lock
)

// ExitError is an error with the exit code it ends a command with, and what a person can do about it.
type ExitError struct {
	Code int
	Err  error
	Hint string // one sentence, or ""
}

func (e *ExitError) Error() string { return e.Err.Error() }

// Unwrap is the cause.
func (e *ExitError) Unwrap() error { return e.Err }

// usagef makes an error of bad usage or configuration.
func usagef(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Exit prints err in one line, its hint in another, and returns the exit code.
func Exit(w io.Writer, err error) int {
	if err == nil {
		return ExitOK
	}
	code, hint := ExitService, ""
	if e, ok := errors.AsType[*ExitError](err); ok {
		code, hint = e.Code, e.Hint
	} else if errors.Is(err, store.ErrBadURI) || errors.Is(err, store.ErrRegion) {
		code = ExitUsage
	} else if errors.Is(err, context.Canceled) {
		code, hint = ExitPartial, "run the same command again to go on"
	}
	if errors.Is(err, table.ErrDamaged) && hint == "" {
		hint = "ingest --full reads the archive again and builds damaged tables anew"
	}
	if se, ok := errors.AsType[*store.Error](err); ok && hint == "" {
		hint = se.Hint
	}
	fmt.Fprintln(w, "error:", oneLine(err.Error()))
	if hint != "" {
		fmt.Fprintln(w, "hint:", oneLine(hint))
	}
	return code
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
