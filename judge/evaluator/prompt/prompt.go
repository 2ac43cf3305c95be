// Package prompt owns how evaluators keep their prompts: templates in folders by version, with one text on untrusted data
// that all of them share.
//
// It does not know what is asked.
package prompt

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Version is that of the newest templates.
const Version = "v0"

//go:embed prompts/v0/*.tmpl
var shared embed.FS

// Set is the two templates of one evaluator.
type Set struct {
	System  *template.Template // the stable prefix of every request
	User    *template.Template // one subject
	SHA256  string             // of both and of what they share
	Version string             // v0; with an override v0+system, v0+user or v0+system+user
}

// Load reads prompts/<version>/system<suffix>.tmpl and user<suffix>.tmpl of an evaluator, or takes what over has in their place. Both
// may use the template "fence": what every judge is told about untrusted data.
func Load(files fs.FS, suffix string, over evaluator.Prompts) (*Set, error) {
	version := cmp.Or(over.Version, Version)
	common, err := fs.ReadFile(shared, path.Join("prompts", Version, "fence"+suffix+".tmpl"))
	if err != nil {
		return nil, fmt.Errorf("read prompt: %w", err)
	}
	if known := versions(files); !slices.Contains(known, version) {
		return nil, fmt.Errorf("prompt version %q: there is %s", version, Or(known))
	}
	set := &Set{Version: version}
	texts := []string{string(common)}
	for _, part := range []struct {
		name, own string
		into      **template.Template
	}{{"system", over.System, &set.System}, {"user", over.User, &set.User}} {
		where := path.Join("prompts", version, part.name+suffix+".tmpl")
		text := part.own
		if text == "" {
			b, err := fs.ReadFile(files, where)
			if err != nil {
				return nil, fmt.Errorf("read prompt: %w", err)
			}
			text = string(b)
		} else {
			where = part.name
			set.Version += "+" + part.name
		}
		if *part.into, err = parse(where, text, string(common)); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	set.SHA256 = Hash(texts...)
	return set, nil
}

func parse(name, text, common string) (*template.Template, error) {
	t, err := template.New(path.Base(name)).Option("missingkey=error").Parse(text)
	if err == nil {
		_, err = t.New("fence").Parse(common)
	}
	if err != nil {
		return nil, fmt.Errorf("parse prompt %s: %w", name, err)
	}
	return t, nil
}

// versions are those of an evaluator's folders, oldest first.
func versions(files fs.FS) []string {
	entries, err := fs.ReadDir(files, "prompts")
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// Identify is what identifies an evaluator with these prompts. rendering is the hash of how it shows its subjects.
func (s *Set) Identify(name, kind string, rubric judge.Rubric, schema, rendering string) evaluator.Version {
	return evaluator.Version{
		Evaluator: name, Kind: kind, PromptVersion: s.Version, PromptSHA256: s.SHA256, Rubric: rubric, RubricSHA256: rubric.SHA256(),
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
