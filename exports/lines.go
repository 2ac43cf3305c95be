package exports

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
)

// lineBuffer is what a file of lines is written in. Sessions are never collected: memory does not grow with their number.
const lineBuffer = 64 << 10

// Lines writes one file of JSON lines. each is called for every session, in order, and emits no, one or more values; the
// session is valid until it returns.
func Lines(ctx context.Context, in *Input, sink Sink, name string, each func(s *Session, emit func(v any) error) error) error {
	return WriteLines(sink, name, func(emit func(v any) error) error {
		return EachSession(ctx, in, func(s *Session) error { return each(s, emit) })
	})
}

// WriteLines writes one file of JSON lines, each of them emitted by fill.
func WriteLines(sink Sink, name string, fill func(emit func(v any) error) error) error {
	w, err := sink.Create(name)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	buf := bufio.NewWriterSize(w, lineBuffer)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	err = fill(enc.Encode)
	if err == nil {
		err = buf.Flush()
	}
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// EachSession calls each for every session, in order, until one fails. The session is valid until each returns.
func EachSession(ctx context.Context, in *Input, each func(*Session) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	for s, err := range in.Sessions(ctx) {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read sessions: %w", err)
		}
		if err := each(&s); err != nil {
			return err
		}
	}
	return nil
}

// WriteJSON writes a file of one JSON value: one line, no HTML escapes.
func WriteJSON(sink Sink, name string, v any) error {
	data, err := JSON(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	return WriteFile(sink, name, append(data, '\n'))
}
