package exports

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// HasRubric is whether a rubric of sessions goes out.
func (in *Input) HasRubric() bool { return in.Rubric.Name != "" }

// HasSessions is whether graded sessions go out.
func (in *Input) HasSessions() bool { return in.Sessions != nil }

// Graded are the inputs that hold grades, one an evaluator: the sessions, then the parts. The files of a part carry its evaluator in
// their names: see [Input.File].
func (in *Input) Graded() []*Input {
	var out []*Input
	if in.HasSessions() {
		out = append(out, in)
	}
	taken := map[string]bool{}
	for i := range in.Parts {
		p := &in.Parts[i]
		name := fileWord(p.Run.Evaluator)
		for n := 2; taken[name]; n++ {
			name = fmt.Sprintf("%s_%d", fileWord(p.Run.Evaluator), n)
		}
		taken[name] = true
		sub := *in
		sub.Run, sub.Rubric, sub.Sessions, sub.part = p.Run, p.Rubric, p.Subjects, name
		sub.Parts, sub.Suite, sub.Tools, sub.Packages = nil, nil, nil, nil
		out = append(out, &sub)
	}
	return out
}

// IsPart is whether this is a part of another input: its sessions have a Subject.
func (in *Input) IsPart() bool { return in.part != "" }

// File is the name of a file of this input: that of a part has the evaluator before the extension, in place of the word sessions.
func (in *Input) File(name string) string {
	if in.part == "" {
		return name
	}
	ext := path.Ext(name)
	return strings.TrimSuffix(strings.TrimSuffix(name, ext), "_sessions") + "_" + in.part + ext
}

// fileWord is a name as a part of a file's name.
func fileWord(s string) string {
	out := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(s))
	if len(out) > 48 {
		out = out[:48]
	}
	if out == "" {
		return "part"
	}
	return out
}

// SubjectOf is what was graded as files name it.
func (in *Input) SubjectOf(s *Session) Subject {
	if s.Subject == nil {
		return Subject{ID: in.HashID(s.Key), Kind: "session"}
	}
	u := *s.Subject
	return Subject{ID: in.Text(u.ID, 256), Kind: u.Kind, Skill: in.Text(u.Skill, 256), Server: in.Text(u.Server, 256), Tool: in.Text(u.Tool, 256),
		SpanID: in.HashID(u.SpanID), Grade: in.Text(u.Grade, 16), Score: u.Score,
		Arm: in.Text(u.Arm, 64), Category: in.Text(u.Category, 256), TaskKind: in.Text(u.TaskKind, 64)}
}

// PartsLeft are the losses of a target that holds what was found about whole sessions and nothing of the run's other evaluators.
func PartsLeft(in *Input) []Loss {
	if len(in.Parts) == 0 {
		return nil
	}
	var names []string
	for i := range in.Parts {
		names = append(names, Cut(in.Parts[i].Run.Evaluator, 64))
	}
	return []Loss{{What: "evaluators", How: "left out: " + strings.Join(names, ", ") + "; jsonl, csv, parquet and otlp hold them"}}
}

// Losses are those of a target's files that were written, those of parts among them, and those of the whole target.
func Losses(t Target, in *Input, written []ManifestFile) []Loss {
	there, any := map[string]bool{}, false
	for _, f := range written {
		there[f.Path] = true
		any = any || f.Target == t.Name()
	}
	graded := in.Graded()
	var out []Loss
	add := func(l Loss) {
		if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	for _, l := range t.Loss(in) {
		if l.File == "" {
			add(l)
			continue
		}
		if there[l.File] {
			add(l)
		}
		for _, g := range graded {
			if name := g.File(l.File); g.IsPart() && there[name] {
				part := l
				part.File = name
				add(part)
			}
		}
	}
	if len(graded) == 0 || !any {
		return out
	}
	named := func(what string) bool { return slices.ContainsFunc(out, func(l Loss) bool { return l.What == what }) }
	if (in.Run.Repeat > 1 || len(in.Run.JudgeModels) > 1) && !named("votes") {
		add(Loss{What: "votes", How: "final verdicts only: the votes of several judges and repeats stay in the table"})
	}
	if len(in.Run.Strata) > 0 {
		add(Loss{What: "strata", How: "the sample was drawn of every service by itself: a rate over several services wants the weights that manifest.json names under strata"})
	}
	return out
}

// refuseNothing is the error of a target that holds nothing of what an input has.
func refuseNothing(in *Input, holds string) error {
	if in.Run.RunID == "" {
		return Refuse("", "run", "without one there is nothing for this target: it holds %s", holds)
	}
	return Refuse("", "run", "%s has nothing for this target: it holds %s", in.Run.RunID, holds)
}

// NeedGrades refuses an input without any grade.
func NeedGrades(in *Input) error {
	if in.HasSessions() || len(in.Parts) > 0 {
		return nil
	}
	return refuseNothing(in, "grades")
}

// NeedSessions refuses an input without graded sessions.
func NeedSessions(in *Input) error {
	if in.HasSessions() {
		return nil
	}
	return refuseNothing(in, "graded sessions")
}

// NeedRubricOrTools refuses an input that has neither a rubric of sessions nor tool descriptions.
func NeedRubricOrTools(in *Input) error {
	if in.HasRubric() || in.Tools != nil {
		return nil
	}
	return refuseNothing(in, "rubrics of sessions, tasks, tool descriptions and graded sessions")
}

// Has is whether there is a file of that name.
func Has(files fs.FS, name string) bool {
	_, err := fs.Stat(files, name)
	return !errors.Is(err, fs.ErrNotExist)
}

// ErrNothing is a push of an export that holds nothing for the platform.
var ErrNothing = errors.New("the export holds nothing that this platform takes by a push")
