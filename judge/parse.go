package judge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Limits of a rubric file. A rubric is sent with every call, so a long one is a mistake long before these.
const (
	maxRubricBytes = 64 << 10
	maxCriteria    = 50
	maxIDLength    = 48
	maxTextLength  = 4000
	maxNesting     = 32
)

var snakeCase = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// RubricError says what is wrong in a rubric file and where.
type RubricError struct {
	Name    string // of the file or built-in rubric
	Line    int    // from 1; 0 unknown
	Message string
	Hint    string // the nearest known name, or ""
}

func (e *RubricError) Error() string {
	var b strings.Builder
	b.WriteString("rubric ")
	b.WriteString(e.Name)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	b.WriteString(e.Message)
	if e.Hint != "" {
		fmt.Fprintf(&b, " (did you mean %q?)", e.Hint)
	}
	return b.String()
}

// ParseRubric reads a rubric in YAML. Unknown keys, duplicate keys, aliases and more than one document are errors; each
// error is a *RubricError with its line. name stands in errors only.
func ParseRubric(data []byte, name string) (Rubric, error) {
	var r Rubric
	root, err := ReadYAML(data, name, maxRubricBytes, &r, func(root ast.Node) error { return rubricShape.wrongType(name, "", root) })
	if e, ok := errors.AsType[*RubricError](err); ok && e.Message == emptyFile {
		e.Message += ": evaluate --print-rubric NAME prints one to start from"
	}
	if err != nil {
		return Rubric{}, err
	}
	for i := range r.Criteria {
		if r.Criteria[i].Scale == "" {
			r.Criteria[i].Scale = ScaleMet
		}
	}
	c := checker{name: name, root: root}
	if err := c.rubric(&r); err != nil {
		return Rubric{}, err
	}
	return r, nil
}

// blankDocument says that a file holds nothing but comments.
func blankDocument(body ast.Node) bool {
	switch body.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return true
	}
	return false
}

// SHA256 is the hash of the rubric's canonical JSON: what it means, not how its file is written.
func (r Rubric) SHA256() string {
	r.Criteria = slices.Clone(r.Criteria)
	for i := range r.Criteria {
		c := &r.Criteria[i]
		if c.Weight == 0 {
			c.Weight = 1
		}
		if c.Scale == "" {
			c.Scale = ScaleMet
		}
		if c.Anchors == nil {
			c.Anchors = map[string]string{}
		}
	}
	data, err := CanonicalJSON(r)
	if err != nil { // a Rubric holds strings, numbers and maps of strings: it always encodes
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// CanonicalJSON encodes v with sorted keys and without HTML escapes, so that equal values have equal bytes.
func CanonicalJSON(v any) ([]byte, error) {
	first, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode canonical JSON: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(first))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("encode canonical JSON: %w", err)
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(tree); err != nil {
		return nil, fmt.Errorf("encode canonical JSON: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// checker validates a decoded rubric and finds the lines of what is wrong in its tree.
type checker struct {
	name string
	root ast.Node
}

func (c *checker) fail(path, format string, args ...any) *RubricError {
	return &RubricError{Name: c.name, Line: c.line(path), Message: fmt.Sprintf(format, args...)}
}

func (c *checker) line(path string) int {
	for path != "" {
		if p, err := yaml.PathString(path); err == nil {
			if n, err := p.FilterNode(c.root); err == nil && n != nil {
				return line(n)
			}
		}
		path = path[:max(0, strings.LastIndexByte(path, '.'))] // a missing key: the line of what should hold it
	}
	return line(c.root)
}

func (c *checker) rubric(r *Rubric) error {
	switch {
	case !snakeCase.MatchString(r.Name) || len(r.Name) > maxIDLength:
		return c.fail("$.name", "name %q: want snake_case of at most %d characters", clip(r.Name), maxIDLength)
	case r.Version < 1:
		return c.fail("$.version", "version %d: want 1 or more", r.Version)
	case strings.TrimSpace(r.Title) == "":
		return c.fail("$.title", "title is missing")
	case !snakeCase.MatchString(r.Evaluator):
		return c.fail("$.evaluator", "evaluator %q: want the snake_case name of an evaluator", clip(r.Evaluator))
	case len(r.Criteria) == 0:
		return c.fail("$.criteria", "no criteria")
	case len(r.Criteria) > maxCriteria:
		return c.fail("$.criteria", "%d criteria: at most %d are allowed", len(r.Criteria), maxCriteria)
	case r.Judge.MaxTokens != 0 && (r.Judge.MaxTokens < 256 || r.Judge.MaxTokens > 64_000):
		return c.fail("$.judge.max_tokens", "judge.max_tokens %d: want 256 to 64000", r.Judge.MaxTokens)
	case r.Judge.Repeat < 0 || r.Judge.Repeat > 10:
		return c.fail("$.judge.repeat", "judge.repeat %d: want 1 to 10", r.Judge.Repeat)
	case r.Pass.MinScore != nil && (*r.Pass.MinScore < 0 || *r.Pass.MinScore > 1):
		return c.fail("$.pass.min_score", "pass.min_score %v: want 0 to 1", *r.Pass.MinScore)
	}
	seen := make(map[string]bool, len(r.Criteria))
	for i := range r.Criteria {
		if err := c.criterion(fmt.Sprintf("$.criteria[%d]", i), &r.Criteria[i], seen); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) criterion(path string, k *Criterion, seen map[string]bool) error {
	switch {
	case !snakeCase.MatchString(k.ID) || len(k.ID) > maxIDLength:
		return c.fail(path+".id", "criterion id %q: want snake_case of at most %d characters", clip(k.ID), maxIDLength)
	case seen[k.ID]:
		return c.fail(path+".id", "criterion %s appears twice", k.ID)
	case strings.TrimSpace(k.Question) == "":
		return c.fail(path+".question", "criterion %s: question is missing", k.ID)
	case len(k.Question) > maxTextLength || len(k.AppliesWhen) > maxTextLength:
		return c.fail(path, "criterion %s: a text is longer than %d bytes", k.ID, maxTextLength)
	case k.Weight < 0 || k.Weight > 100:
		return c.fail(path+".weight", "criterion %s: weight %d: want 0 to 100", k.ID, k.Weight)
	case k.AppliesFact != "" && !snakeCase.MatchString(k.AppliesFact):
		return c.fail(path+".applies_fact", "criterion %s: applies_fact %q: want the snake_case name of a fact", k.ID, clip(k.AppliesFact))
	}
	seen[k.ID] = true
	scales := []string{string(ScaleMet), string(ScaleFivePoint), string(ScaleYesNo)}
	if !slices.Contains(scales, string(k.Scale)) {
		err := c.fail(path+".scale", "criterion %s: scale %q is none of %s", k.ID, clip(string(k.Scale)), strings.Join(scales, ", "))
		err.Hint = Nearest(string(k.Scale), scales)
		return err
	}
	return c.anchors(path, k)
}

func (c *checker) anchors(path string, k *Criterion) error {
	verdicts := []string{string(Met), string(NotMet), string(NotApplicable), string(Unclear)}
	labels := make([]string, 0, len(k.Anchors))
	for label, text := range k.Anchors {
		labels = append(labels, label)
		if strings.TrimSpace(text) == "" || len(text) > maxTextLength {
			return c.fail(path+".anchors", "criterion %s: anchor %q: want 1 to %d bytes of text", k.ID, clip(label), maxTextLength)
		}
	}
	slices.Sort(labels)
	if k.Scale != ScaleMet {
		return nil
	}
	for _, label := range labels {
		if !slices.Contains(verdicts, label) {
			err := c.fail(path+".anchors."+label, "criterion %s: anchor %q is none of %s", k.ID, clip(label), strings.Join(verdicts, ", "))
			err.Hint = Nearest(label, verdicts)
			return err
		}
	}
	for _, want := range verdicts[:2] {
		if k.Anchors[want] == "" {
			return c.fail(path+".anchors", "criterion %s: anchor %s is missing: a judge must be told what it means", k.ID, want)
		}
	}
	if k.Anchors[string(NotApplicable)] != "" && k.AppliesWhen == "" && k.AppliesFact == "" {
		return c.fail(path+".anchors", "criterion %s: anchor not_applicable without applies_when or applies_fact: a criterion is not applicable only where it says when it applies", k.ID)
	}
	return nil
}

// Nearest is the known name closest to got, or "" when none is near.
func Nearest(got string, known []string) string {
	best, bestAt := "", 1+max(2, len(got)/3)
	if len(got) > 2*maxIDLength {
		return ""
	}
	for _, k := range known {
		if d := editDistance(got, k); d < bestAt {
			best, bestAt = k, d
		}
	}
	return best
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

var (
	unknownField = regexp.MustCompile(`unknown field "([^"]*)"`)
	rubricKeys   = []string{
		"name", "version", "title", "description", "evaluator", "criteria",
		"id", "question", "safety", "scale", "weight", "gate", "anchors", "applies_when", "applies_fact",
		"services", "agents", "judge", "max_tokens", "repeat", "safety_unanimous", "pass", "min_score",
	}
)

func yamlError(name string, err error) error {
	out := &RubricError{Name: name, Message: err.Error()}
	var y yaml.Error
	if errors.As(err, &y) {
		out.Message = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			out.Line = t.Position.Line
		}
	}
	if m := unknownField.FindStringSubmatch(out.Message); m != nil {
		out.Message = fmt.Sprintf("unknown key %q", clip(m[1]))
		out.Hint = Nearest(m[1], rubricKeys)
	}
	return out
}

// nestedTooDeep is the line at which flow brackets or indentation nest too deep for a recursive parser, or 0. Brackets
// inside texts count too: 32 open ones in a rubric are no text either.
func nestedTooDeep(data []byte) int {
	depth, at := 0, 1
	for i, b := range data {
		switch b {
		case '\n':
			at++
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '-', '?', ':': // "- - - -" nests too
			if i+1 < len(data) && data[i+1] == ' ' && bytes.Count(lineOf(data, i), []byte("- ")) > maxNesting {
				return at
			}
		}
		if depth > maxNesting {
			return at
		}
	}
	return 0
}

func lineOf(data []byte, i int) []byte {
	from := bytes.LastIndexByte(data[:i], '\n') + 1
	if to := bytes.IndexByte(data[i:], '\n'); to >= 0 {
		return data[from : i+to]
	}
	return data[from:]
}

type aliasFinder struct{ found ast.Node }

func (f *aliasFinder) Visit(n ast.Node) ast.Visitor {
	switch n.(type) {
	case *ast.AliasNode, *ast.AnchorNode, *ast.MergeKeyNode:
		if f.found == nil {
			f.found = n
		}
		return nil
	}
	return f
}

func findAlias(n ast.Node) ast.Node {
	f := &aliasFinder{}
	ast.Walk(f, n)
	return f.found
}

func line(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}

func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
