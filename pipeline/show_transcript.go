package pipeline

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator/session"
	"github.com/tracejury/tracejury/judge/transcript"
)

// TranscriptShow is what aggregate --show transcript:… reports: the steps of a session as a judge is shown them, whole and masked, and
// nothing that a judge said. It is what people label by.
type TranscriptShow struct {
	SessionKey string           `json:"session_key"`
	Missing    []string         `json:"missing"` // what the harness did not record
	Parts      []TranscriptPart `json:"parts"`   // one, but of a session that is too long for one question
}

// TranscriptPart is what is shown in one question.
type TranscriptPart struct {
	Name  string       `json:"name,omitempty"`
	Lines []judge.Line `json:"lines"`
	Cuts  []string     `json:"cuts"` // what had to be left out
}

// ShowTranscript renders the session of a key, an id or the beginning of either.
func ShowTranscript(ctx context.Context, cfg *Config, name string, log *slog.Logger) (*TranscriptShow, error) {
	root, err := openRoot(ctx, cfg, log)
	if err != nil {
		return nil, err
	}
	m, err := cfg.masker()
	if err != nil {
		return nil, err
	}
	found, err := findSession(ctx, root.Store, name)
	if err != nil {
		return nil, err
	}
	var s SessionShow
	if err := s.load(ctx, root, found, m); err != nil {
		return nil, err
	}
	out := &TranscriptShow{SessionKey: s.Session.SessionKey, Missing: s.Session.Missing, Parts: []TranscriptPart{}}
	if len(s.Steps) == 0 {
		return out, nil
	}
	for i := range s.Steps {
		if s.Steps[i].Earlier {
			s.Steps[i] = asContext(s.Steps[i])
		}
	}
	in := transcript.Input{Session: &s.Session, Steps: s.Steps, Skills: s.Skills}
	opts := transcript.Options{Nonce: strings.Repeat("0", 16), Mask: func(t string) string { return m.String(t, nil) }, MaskVersion: m.Version()}
	parts, err := transcript.RenderParts(transcript.Lines(in, opts), in, opts, func(lines []judge.Line) []judge.Fact { return session.Facts(lines, &s.Session) })
	if err != nil {
		return nil, fmt.Errorf("render session %s: %w", s.Session.SessionKey, err)
	}
	for i := range parts {
		p := TranscriptPart{Name: parts[i].Part.String(), Lines: parts[i].Lines, Cuts: []string{}}
		for _, r := range parts[i].Reductions {
			p.Cuts = append(p.Cuts, r.String())
		}
		out.Parts = append(out.Parts, p)
	}
	return out, nil
}

// WriteText prints the steps for a person.
func (s *TranscriptShow) WriteText(w io.Writer) {
	fmt.Fprintf(w, "session   %s\n", s.SessionKey)
	if missing := missingText(s.Missing); missing != "" {
		fmt.Fprintln(w, "missing  ", missing)
	}
	if len(s.Parts) == 0 {
		fmt.Fprintln(w, "steps     none are kept")
	}
	for _, p := range s.Parts {
		if p.Name != "" {
			fmt.Fprintf(w, "\n%s\n", p.Name)
		}
		for _, cut := range p.Cuts {
			fmt.Fprintln(w, "cut      ", cut)
		}
		for i := range p.Lines {
			writeLine(w, &p.Lines[i])
		}
	}
}

func writeLine(w io.Writer, l *judge.Line) {
	head := []string{l.Role, strings.ReplaceAll(l.Kind, "_", " ")}
	for _, part := range []string{l.Agent, l.Tool, l.CallID} {
		if part != "" {
			head = append(head, part)
		}
	}
	if l.Outcome != "" {
		code := ""
		if l.ExitCode != nil {
			code = fmt.Sprintf(", exit %d", *l.ExitCode)
		}
		head = append(head, "["+l.Outcome+code+"]")
	}
	fmt.Fprintf(w, "\n%4d  %s\n", l.Step, strings.Join(head, "  "))
	for _, text := range []string{l.Arguments, l.Text} {
		for line := range strings.Lines(text) {
			fmt.Fprintf(w, "      %s\n", strings.TrimRight(line, "\r\n"))
		}
	}
	if l.Note != "" {
		fmt.Fprintf(w, "      (%s)\n", l.Note)
	}
}
