package session

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
	"github.com/tracejury/tracejury/schema"
)

// kind of a node, which becomes a step.
type kind uint8

const (
	kindSystem kind = iota
	kindPrompt
	kindMessage
	kindReasoning
	kindCall
	kindResult
	kindFailure
	kindCatalogue
)

// node is one thing that happened, told by one record or by many.
type node struct {
	kind       kind
	text       string
	agent      string
	nested     bool
	turn       string // the harness's own id of the turn
	responseID string
	at         int64
	order      int // of the event that told it first, to break ties
	sub        int // among nodes of one event
	span       spanID
	record     *schema.Span // that told it
	group      string       // the input or record that it was read in, to tell one turn's prompts from two turns
	earlier    bool         // happened before the session's first record, and is not its doing
	told       bool         // said where it was recorded, not only repeated
	truncated  bool
	redacted   bool
	call       *call
	catalogue  []convention.CatalogueSkill
	after      []*node // nodes that this one precedes
	step       int32   // number, once emitted
	turnNumber int32
	place      int // in the final order, from 0
}

// precedes adds the edge n before m.
func (n *node) precedes(m *node) {
	if n == nil || m == nil || n == m {
		return
	}
	for i := len(n.after) - 1; i >= 0 && i >= len(n.after)-8; i-- { // histories repeat the same edges
		if n.after[i] == m {
			return
		}
	}
	n.after = append(n.after, m)
}

// counter counts how often a witness told of a key.
type counter map[string]int

func (c counter) next(witness, key string) int {
	k := witness + "\x00" + key
	c[k]++
	return c[k]
}

// textKey is equal for texts that say the same: surrounding space is an exporter's, not the author's.
type textKey struct {
	kind kind
	text string
}

func nodeKey(k kind, text string) textKey { return textKey{k, strings.TrimSpace(text)} }

// textCounter counts how often a witness told of a text. Witnesses are apart, so that long texts are no parts of longer keys.
type textCounter map[string]map[textKey]int

func (c textCounter) next(witness string, k textKey) int {
	m := c[witness]
	if m == nil {
		m = map[textKey]int{}
		c[witness] = m
	}
	m[k]++
	return m[k]
}

// prefixBytes of a text must agree for a cut text to be the same as a whole one.
const prefixBytes = 200

func prefixKey(k kind, text string) string {
	t := strings.TrimSpace(text)
	if len(t) < prefixBytes {
		return ""
	}
	return string(rune('a'+k)) + t[:prefixBytes]
}
