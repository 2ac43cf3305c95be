// Package skillpackage owns the evaluators of skills as packages, before any agent runs them: how well a skill fits a task,
// how completely it guides, and what threat is in it. Each is five points on named dimensions; none has a pass.
//
// It reads packages as Huawei Cloud AgentArts has them and as folders with a SKILL.md. It does not know which judge answers.
package skillpackage

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/judge/transcript"
)

const unclear = "Unclear"

// Findings of packages that are not asked about.
const (
	FindingTaskMissing  = "task_missing"
	FindingPackageEmpty = "package_empty"
)

//go:embed prompts/v0/*.tmpl
var prompts embed.FS

// Options tunes an [Evaluator].
type Options struct {
	Language string // en or zh; "" takes it from the rubric's name, which ends in _zh for Chinese
	Compat   bool   // as AgentArts: no way to say unclear

	Mask        func(string) string // nil shows text as it is
	MaskVersion string              // names what Mask does
	MaxTokens   int                 // of a reply; 0 means 4096: room for thinking
	Prompts     evaluator.Prompts
}

// Evaluator asks one criterion about packages.
type Evaluator struct {
	opts      Options
	criterion judge.Criterion
	kind      kind
	points    []evaluator.Point
	ratings   []string
	version   evaluator.Version
	prompts   *prompt.Set
	system    string
	schema    string
}

var _ evaluator.Evaluator = (*Evaluator)(nil)

// New makes an evaluator for a rubric of one criterion with five points: skill_relevance, skill_completeness or skill_threat.
func New(rubric judge.Rubric, opts Options) (*Evaluator, error) {
	if len(rubric.Criteria) != 1 {
		return nil, fmt.Errorf("skill package evaluator: rubric %s: want one criterion", rubric.Name)
	}
	e := &Evaluator{opts: opts, criterion: rubric.Criteria[0]}
	if e.opts.Language == "" {
		e.opts.Language = English
		if strings.HasSuffix(rubric.Name, "_zh") {
			e.opts.Language = Chinese
		}
	}
	byCriterion, ok := kinds[e.opts.Language]
	if !ok {
		return nil, fmt.Errorf("skill package evaluator: language %q: want %s or %s", e.opts.Language, English, Chinese)
	}
	if e.kind, ok = byCriterion[e.criterion.ID]; !ok {
		known := slices.Sorted(maps.Keys(byCriterion))
		return nil, fmt.Errorf("skill package evaluator: criterion %q is none of %s", e.criterion.ID, strings.Join(known, ", "))
	}
	var err error
	if e.points, err = evaluator.Points(e.criterion, 1, 0.75, 0.5, 0.25, 0); err != nil {
		return nil, fmt.Errorf("skill package evaluator: %w", err)
	}
	e.ratings = evaluator.Labels(e.points)
	if !opts.Compat {
		e.ratings = append(e.ratings, unclear)
	}
	e.opts.MaxTokens = cmp.Or(opts.MaxTokens, 4096)
	suffix := ""
	if e.opts.Language != English {
		suffix = "_" + e.opts.Language
	}
	if e.prompts, err = prompt.Load(prompts, suffix, opts.Prompts); err != nil {
		return nil, fmt.Errorf("skill package evaluator: %w", err)
	}
	if e.schema, err = e.replySchema(); err != nil {
		return nil, fmt.Errorf("skill package evaluator: %w", err)
	}
	e.system, err = prompt.Fill(e.prompts.System, map[string]any{
		"Rubric": rubric, "Criterion": e.criterion, "Dimensions": e.kind.dimensions, "Findings": e.kind.findings, "Points": e.points, "Compat": opts.Compat,
		"DimensionIDs": strings.Join(ids(e.kind.dimensions), ", "), "FindingIDs": strings.Join(ids(e.kind.findings), ", "),
		"Choices": strings.Join(e.ratings, ", "), "Schema": e.schema,
	})
	if err != nil {
		return nil, fmt.Errorf("skill package evaluator: %w", err)
	}
	rendering := prompt.Hash(transcript.Options{MaskVersion: opts.MaskVersion}.SettingsSHA256(), e.opts.Language, fmt.Sprint("most ", maxShown))
	e.version = e.prompts.Identify(e.criterion.ID, "skill_package", rubric, e.schema, rendering)
	return e, nil
}

// Version is what identifies the evaluator: it has the name of its criterion, since one package may be asked all three.
func (e *Evaluator) Version() evaluator.Version { return e.version }

func (e *Evaluator) replySchema() (string, error) {
	var lists [3]string
	for i, list := range [][]string{ids(e.kind.dimensions), ids(e.kind.findings), e.ratings} {
		b, err := judge.CanonicalJSON(list)
		if err != nil {
			return "", fmt.Errorf("reply schema: %w", err)
		}
		lists[i] = string(b)
	}
	return `{"type":"object","additionalProperties":false,"required":["dimensions","findings","rating"],"properties":{` +
		`"dimensions":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["id","evidence_lines","assessment"],"properties":{` +
		`"id":{"type":"string","enum":` + lists[0] + `},"evidence_lines":{"type":"array","items":{"type":"integer"}},"assessment":{"type":"string"}}}},` +
		`"findings":{"type":"array","items":{"type":"string","enum":` + lists[1] + `}},` +
		`"rating":{"type":"string","enum":` + lists[2] + `}}}`, nil
}

// Subject is a package as a subject. Equal packages have equal ids; its revision is the SHA-256 of its canonical JSON.
func Subject(p evaluator.SkillPackage) (evaluator.Subject, error) {
	b, err := judge.CanonicalJSON(p)
	if err != nil {
		return evaluator.Subject{}, fmt.Errorf("subject of skill package %s: %w", p.Name, err)
	}
	digest := sha256.Sum256(b) // of what is kept in materials
	sum := hex.EncodeToString(digest[:])
	name := p.Name
	if len(name) > 120 {
		name = strings.ToValidUTF8(name[:120], "")
	}
	return evaluator.Subject{
		Kind: "skill_package", ID: name + "@" + sum[:12], Revision: sum, Package: &p,
		Skill: strings.ReplaceAll(strings.ToLower(strings.TrimSpace(p.Name)), "_", "-"),
	}, nil
}

// Item asks about one package. A package without text, or without the task that the criterion needs, is not asked about.
func (e *Evaluator) Item(s evaluator.Subject, nonce string) (*evaluator.Item, []judge.Answer, error) {
	switch p := s.Package; {
	case p == nil:
		return nil, nil, fmt.Errorf("skill package evaluator: subject %s holds no package", s.ID)
	case strings.TrimSpace(p.Manifest+p.Body) == "" && len(p.Files) == 0:
		return nil, evaluator.NotApplicable(e.criterion.ID, FindingPackageEmpty, "The package has neither manifest nor instructions."), nil
	case e.kind.needsTask && strings.TrimSpace(p.Task) == "":
		return nil, evaluator.NotApplicable(e.criterion.ID, FindingTaskMissing, "The package comes without the task that it is measured against."), nil
	}
	item, err := e.question(s, nonce)
	if err != nil {
		return nil, nil, fmt.Errorf("skill package evaluator: subject %s: %w", s.ID, err)
	}
	return item, nil, nil
}

// Kinds of the lines of a request, with the line's number as step; task and skill have none.
const (
	kindSkill       = "skill"
	kindTask        = "task"
	kindManifest    = "manifest"
	kindInstruction = "instruction"
	kindFile        = "file"
)

const (
	maxShown = 240_000 // characters: 80,000 tokens
	maxLine  = 4_000
)

// linesOf are the numbered lines of a package, masked, and whether some are left out.
func linesOf(p *evaluator.SkillPackage, mask func(string) string) (out []judge.Line, truncated bool) {
	opts := transcript.Options{Mask: mask}
	room := maxShown
	add := func(kind, text string) {
		text = strings.TrimRight(transcript.Text(text, opts), "\n")
		for line := range strings.SplitSeq(text, "\n") {
			if room <= 0 {
				truncated = true
				return
			}
			shown := clip(line, maxLine)
			truncated = truncated || shown != line
			room -= len(shown)
			out = append(out, judge.Line{Step: len(out) + 1, Role: "user", Kind: kind, Text: shown})
		}
	}
	if strings.TrimSpace(p.Manifest) != "" {
		add(kindManifest, p.Manifest)
	}
	if strings.TrimSpace(p.Body) != "" {
		add(kindInstruction, p.Body)
	}
	for _, f := range p.Files {
		add(kindFile, f.Path)
		out[len(out)-1].Note = "file begins"
		add(kindFile, f.Text)
	}
	return out, truncated
}

func (e *Evaluator) question(s evaluator.Subject, nonce string) (*evaluator.Item, error) {
	opts := transcript.Options{Nonce: nonce, Mask: e.opts.Mask}
	lines, truncated := linesOf(s.Package, e.opts.Mask)
	name := clip(transcript.Text(s.Package.Name, opts), 200)
	var task *string
	if t := strings.TrimSpace(clip(transcript.Text(s.Package.Task, opts), 20_000)); t != "" {
		task = &t
	}
	data := []any{map[string]string{"skill": name}, map[string]*string{"task": task}}
	var plain strings.Builder
	for _, l := range lines {
		key := l.Kind
		if l.Note != "" {
			key = "file_begins"
		}
		if strings.TrimSpace(l.Text) != "" { // an empty line tells nothing; the numbers of the others stay
			data = append(data, shownLine{l.Step, key, l.Text})
		}
		plain.WriteString(l.Text)
		plain.WriteByte('\n')
	}
	block, body, err := transcript.Block(nonce, data...)
	if err != nil {
		return nil, err
	}
	facts := factsOf(e.criterion.ID, lines)
	var told strings.Builder
	for _, f := range facts {
		told.WriteString(prompt.Fact(f))
	}
	user, err := prompt.Fill(e.prompts.User, map[string]any{
		"Facts": told.String(), "Truncated": truncated, "Task": task != nil, "Package": block, "Criterion": e.criterion,
		"Question": prompt.Question(e.criterion.ID, "yes"),
	})
	if err != nil {
		return nil, err
	}
	about := []judge.Line{{Kind: kindSkill, Tool: name}}
	if task != nil {
		about = append(about, judge.Line{Kind: kindTask, Text: *task})
		plain.WriteString(*task)
	}
	item := &evaluator.Item{
		Subject: s.ID, RenderingSHA256: prompt.Hash(e.version.Rendering, told.String(), body), Transcript: plain.String(), Reductions: []string{},
		Request: judge.Request{
			Evaluator: e.criterion.ID, Subject: s.ID, System: e.system, User: user, Schema: e.schema, SchemaName: e.criterion.ID, MaxTokens: e.opts.MaxTokens,
			Criteria: []judge.Criterion{e.criterion}, Facts: facts, Lines: append(about, lines...),
		},
	}
	item.Suspected = len(transcript.Suspicious(item.Request.Lines)) > 0
	return item, nil
}

// shownLine is a line of a package in the prompt: {"line":3,"instruction":"…"}.
type shownLine struct {
	number int
	key    string
	text   string
}

// MarshalJSON puts the number first.
func (l shownLine) MarshalJSON() ([]byte, error) {
	text, err := judge.CanonicalJSON(l.text)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, `{"line":%d,%q:%s}`, l.number, l.key, text), nil
}

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return fmt.Sprintf("%s[%d characters omitted]", string(r[:most]), len(r)-most)
	}
	return s
}
