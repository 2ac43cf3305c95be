package tooldescription

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/schema"
)

// Names of the facts.
const (
	FactTautological = "description_repeats_name"
	FactParameters   = "any_parameter"
	FactUndocumented = "parameters_undocumented"
	FactChanges      = "changes_state_by_name"
	FactImperative   = "imperative_to_model"
	FactConceals     = "conceals_from_user"
	FactInvisible    = "invisible_characters"
)

// Patterns over each line. The first finds orders of any kind, so that a match is no proof of a hidden one.
var (
	imperative = regexp.MustCompile(`(?i)\b(?:you (?:must|should|need to|have to|will|are required)|(?:always|never) (?:call|use|run|invoke|read|include|send|pass|ask|tell|mention|respond|answer)|` +
		`(?:call|use|run|invoke) (?:this|the \w+) tool (?:first|before|after|instead)|before (?:using|calling|running|invoking|doing) any|(?:ignore|disregard|forget|override)\b.{0,40}\b(?:instructions?|rules?|prompts?|tools?)|` +
		`important:|(?:do not|don't|must not) (?:use|call|mention|tell|ask|show|reveal|inform))|</?(?:important|system|instructions?|secret|assistant|user|admin)\b[^>]*>`)
	conceals = regexp.MustCompile(`(?i)\b(?:do not|don't|never|must not)\s+(?:tell|mention|inform|show|reveal|notify|let)\b.{0,40}\b(?:user|human|owner|anyone|person|them)\b|` +
		`\b(?:ignore|disregard|forget|override)\b.{0,20}\b(?:previous|prior|above|earlier|system|safety)\b.{0,20}\b(?:instructions?|rules?|prompts?)`)
	invisibles = regexp.MustCompile(`\[U\+(?:200[BCEF]|202[A-E]|206[0-9A-F]|FEFF|E00[0-9A-F]{2}|00AD)\b[^\]]*\]|\[U\+200D ×\d+\]`)
)

// Facts are what code can see of a tool's definition: what a judge is told of it. mask may be nil.
func Facts(t *schema.Tool, mask func(string) string) []judge.Fact {
	d := define(t, mask)
	return d.facts()
}

// facts are what code can see of a definition.
func (d *definition) facts() []judge.Fact {
	undocumented := judge.Fact{Name: FactUndocumented, Truth: judge.No}
	for _, p := range d.parameters {
		if !p.documented {
			undocumented.Truth = judge.Yes
			undocumented.Steps = append(undocumented.Steps, p.line)
		}
	}
	if n := len(d.parameters); n > 0 {
		undocumented.Detail = fmt.Sprintf("%d of %d", len(undocumented.Steps), n)
	}
	return []judge.Fact{
		{Name: FactTautological, Truth: truth(repeats(d.text, d.tool))},
		{Name: FactParameters, Truth: truth(len(d.parameters) > 0), Detail: fmt.Sprint(len(d.parameters))},
		undocumented,
		{Name: FactChanges, Truth: d.effect()},
		d.matching(FactImperative, imperative),
		d.matching(FactConceals, conceals),
		d.matching(FactInvisible, invisibles),
	}
}

func (d *definition) matching(name string, re *regexp.Regexp) judge.Fact {
	f := judge.Fact{Name: name, Truth: judge.No}
	for _, l := range d.lines {
		if re.MatchString(l.Text) {
			f.Truth = judge.Yes
			f.Steps = append(f.Steps, l.Step)
		}
	}
	return f
}

func truth(yes bool) judge.Truth {
	if yes {
		return judge.Yes
	}
	return judge.No
}

// blank says that a text has nothing that a person could read.
func blank(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// wordsOf are the words of a text or of a name in any spelling, in lower case, without their endings.
func wordsOf(s string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, stem(strings.ToLower(string(word))))
			word = word[:0]
		}
	}
	var before rune
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
		case unicode.IsUpper(r) && unicode.IsLower(before):
			flush()
			word = append(word, r)
		default:
			word = append(word, r)
		}
		before = r
	}
	flush()
	return words
}

func stem(w string) string {
	for _, ending := range []string{"ing", "ies", "es", "s", "ed", "e"} {
		if s, ok := strings.CutSuffix(w, ending); ok && len(s) > 2 {
			return s
		}
	}
	return w
}

// fillers say nothing about a tool.
var fillers = []string{"a", "an", "the", "this", "that", "tool", "function", "method", "call", "to", "of", "for", "with", "and", "or", "your", "it", "is", "us", "on", "in"}

// repeats says that a description holds no word but those of the tool's name and fillers.
func repeats(description, tool string) bool {
	name := wordsOf(tool)
	for _, w := range wordsOf(description) {
		if !slices.Contains(name, w) && !slices.ContainsFunc(fillers, func(f string) bool { return w == f || w == stem(f) }) {
			return false
		}
	}
	return true
}
