package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/schema"
)

// BenchmarkCumulative builds a session whose every model call repeats all that came before, 600 calls and about 60 MiB.
func BenchmarkCumulative(b *testing.B) {
	rows := cumulative(&testing.T{}, 600, 300)
	size := 0
	for i := range rows {
		size += len(rows[i].Attributes)
	}
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if got := Build(Ident{Key: "k", ID: "s", Source: "session.id"}, "default", rows, Options{}); got.Session.NModelCalls != 600 {
			b.Fatalf("%d model calls", got.Session.NModelCalls)
		}
	}
}

// cumulative makes calls that ask for a tool each, with words of text a turn.
func cumulative(t *testing.T, calls, bytes int) []schema.Span {
	m := newRows(t)
	words := strings.Repeat("It says \"no\" here. ", bytes/19/2+1)
	history := []any{text("user", "go")}
	for i := range calls {
		id := fmt.Sprintf("call_cumulative%05d", i)
		ask := asks(id, "look", map[string]any{"at": fmt.Sprint(i)})
		m.chat("", history, []any{ask})
		history = append(history[:len(history):len(history)], ask, answers(id, fmt.Sprint(i, words)))
	}
	return m.rows
}
