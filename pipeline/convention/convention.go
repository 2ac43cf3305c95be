package convention

import (
	"github.com/tracejury/tracejury/pipeline/otlp"
	"github.com/tracejury/tracejury/schema"
)

// Record is a stored row of spans with its JSON columns parsed.
type Record struct {
	Row        *schema.Span
	Attributes Attributes
	Resource   Attributes
	Events     []otlp.SpanEvent
	Body       otlp.Value
	Memo       *Memo // what was read before, for speed; nil reads everything anew
}

// Convention reads the records of one telemetry convention or harness. Implementations are stateless values.
type Convention interface {
	// Name is lower snake case, the value of Meta.Convention: "otel_genai", "claude_code".
	Name() string
	// Match says whether this record is this convention's to read. Conventions are asked in the order of [All]; the first wins.
	Match(r *Record) bool
	// Events emits what the record says, in the order in which it says it.
	Events(r *Record, emit func(Event))
	// Internal says that a matched record is plumbing without content (spans of an event loop, of a data base) which ingest
	// may drop, counted as filtered.
	Internal(r *Record) bool
	// Exports says which kinds of content the harness exports at all under the settings seen in r, so that what is missing
	// can be told from what did not happen.
	Exports(r *Record) Content
}

// Content is a set of kinds of content.
type Content uint8

// Kinds of content; their names are the values of sessions.missing.
const (
	ContentUserPrompt Content = 1 << iota
	ContentAssistantText
	ContentToolArguments
	ContentToolResults
	ContentSkillCatalogue
	ContentSkillBody

	// ContentOffersSkills is no content: it says that the harness offers skills of its own accord, so that a session without
	// a catalogue had one that was not exported.
	ContentOffersSkills
)

// Attributes is a sorted list of attributes.
type Attributes []otlp.KeyValue

// fewAttributes are compared one by one: most differ in length.
const fewAttributes = 24

// Get finds key.
func (a Attributes) Get(key string) (otlp.Value, bool) {
	if len(a) <= fewAttributes {
		for i := range a {
			if a[i].Key == key {
				return a[i].Value, true
			}
		}
		return otlp.Value{}, false
	}
	lo, hi := 0, len(a)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if a[mid].Key < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(a) && a[lo].Key == key {
		return a[lo].Value, true
	}
	return otlp.Value{}, false
}

// Str is the string at the first of keys that holds a non-empty one. A map or a list is its JSON: some exporters write it as text, and
// processors make either of the other.
func (a Attributes) Str(keys ...string) string {
	for _, k := range keys {
		if v, ok := a.Get(k); ok {
			if s := textOf(v); s != "" {
				return s
			}
		}
	}
	return ""
}

// Has says whether key is present, whatever its value.
func (a Attributes) Has(key string) bool {
	_, ok := a.Get(key)
	return ok
}
