// Package prompt owns how evaluators keep their prompts: templates in folders by version, with one text on untrusted data
// that all of them share.
//
// It does not know what is asked.
package prompt

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"text/template"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Version of the templates.
const Version = "v0"

//go:embed prompts/v0/*.tmpl
var shared embed.FS

// Set is the two templates of one evaluator.
type Set struct {
	System *template.Template // the stable prefix of every request
	User   *template.Template // one subject
	SHA256 string             // of both and of what they share
}

// Load reads prompts/<Version>/system<suffix>.tmpl and user<suffix>.tmpl of an evaluator. Both may use the template "fence":
// what every judge is told about untrusted data.
func Load(files fs.FS, suffix string) (*Set, error) {
	common, err := fs.ReadFile(shared, path.Join("prompts", Version, "fence"+suffix+".tmpl"))
	if err != nil {
		return nil, fmt.Errorf("read prompt: %w", err)
	}
	texts := []string{string(common)}
	parsed := make([]*template.Template, 2)
	for i, name := range []string{"system", "user"} {
		text, err := fs.ReadFile(files, path.Join("prompts", Version, name+suffix+".tmpl"))
		if err != nil {
			return nil, fmt.Errorf("read prompt: %w", err)
		}
		t, err := template.New(name).Option("missingkey=error").Parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("parse prompt: %w", err)
		}
		if _, err := t.New("fence").Parse(string(common)); err != nil {
			return nil, fmt.Errorf("parse prompt: %w", err)
		}
		parsed[i] = t
		texts = append(texts, string(text))
	}
	return &Set{System: parsed[0], User: parsed[1], SHA256: Hash(texts...)}, nil
}

// Version is what identifies an evaluator with these prompts. rendering is the hash of how it shows its subjects.
func (s *Set) Version(name, kind string, rubric judge.Rubric, schema, rendering string) evaluator.Version {
	return evaluator.Version{
		Evaluator: name, Kind: kind, PromptVersion: Version, PromptSHA256: s.SHA256, Rubric: rubric, RubricSHA256: rubric.SHA256(),
		SchemaSHA256: Hash(schema), Rendering: rendering,
	}
}

// Fill executes a template.
func Fill(t *template.Template, data any) (string, error) {
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return "", fmt.Errorf("fill prompt %s: %w", t.Name(), err)
	}
	return b.String(), nil
}

// Hash is the SHA-256 of parts, each ended so that no two lists of parts have the same.
func Hash(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Question is the line that asks one criterion. applies is yes, no, or judge where the judge decides it.
func Question(criterion, applies string) string {
	return fmt.Sprintf(`{"criterion":%q,"applies":%q}`, criterion, applies) // snake_case and words: nothing to escape
}

// Or lists words: "a, b or c".
func Or(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// Fact is a fact as a line of a prompt. Its steps may be lines of a text; at most twenty are told.
func Fact(f judge.Fact) string {
	var b strings.Builder
	b.WriteString(f.Name + ": " + string(f.Truth))
	if f.Detail != "" {
		b.WriteString("; " + f.Detail)
	}
	for i, n := range f.Steps[:min(len(f.Steps), 20)] {
		b.WriteString([]string{"; at ", ", "}[min(i, 1)] + strconv.Itoa(n))
	}
	if more := len(f.Steps) - 20; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	b.WriteByte('\n')
	return b.String()
}
