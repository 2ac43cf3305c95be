package exports

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"strings"
	"unicode/utf8"
)

// formula are the characters at the start of a cell that make a spreadsheet run it. The wide forms count too: Excel folds them.
const formula = "=+-@|%\t\r＝＋－＠"

// Cell is s as a cell of a sheet: one line, and never a formula. What a spreadsheet would run begins with an apostrophe, which
// it shows as text; [UnquoteCell] takes it away again.
func Cell(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case '\n', '\r', '\t', '\u0085', '\u2028', '\u2029':
			return ' '
		}
		return r
	}, s)
	if runs(s) || quoted(s) {
		return "'" + s
	}
	return s
}

// UnquoteCell is the text of a cell that [Cell] made.
func UnquoteCell(s string) string {
	if quoted(s) {
		return s[1:]
	}
	return s
}

// quoted says whether s begins with an apostrophe that Cell may have put there, also before another such.
func quoted(s string) bool {
	rest, ok := strings.CutPrefix(s, "'")
	return ok && (runs(rest) || quoted(rest))
}

// runs looks past leading blanks and quotes, as spreadsheets do.
func runs(s string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " \u00a0\u3000\ufeff\""))
	return r != utf8.RuneError && strings.ContainsRune(formula, r)
}

// Sheet writes one CSV file (RFC 4180, UTF-8, a header). each is called for every session, in order, and emits no, one or more
// records; the session is valid until it returns. Every cell passes through [Cell].
func Sheet(ctx context.Context, in *Input, sink Sink, name string, header []string, each func(s *Session, emit func(record []string) error) error) error {
	w, err := sink.Create(name)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	buf := bufio.NewWriterSize(w, lineBuffer)
	out := csv.NewWriter(buf)
	cells := make([]string, len(header))
	emit := func(record []string) error {
		if len(record) != len(cells) {
			return fmt.Errorf("%d cells for %d columns", len(record), len(cells))
		}
		for i, s := range record {
			cells[i] = Cell(s)
		}
		return out.Write(cells)
	}
	err = emit(header)
	if err == nil {
		err = EachSession(ctx, in, func(s *Session) error { return each(s, emit) })
	}
	if out.Flush(); err == nil {
		err = out.Error()
	}
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
