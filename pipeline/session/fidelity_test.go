package session

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

type truth struct {
	Skills    map[string]string   `json:"skills"`
	Scenarios map[string]scenario `json:"scenarios"`
}

type scenario struct {
	Prompts []string `json:"prompts"`
	Turns   []struct {
		Text  *string          `json:"text"`
		Calls []map[string]any `json:"calls"`
	} `json:"turns"`
	Truth struct {
		Skills [][]string `json:"skills"`
		Denied any        `json:"denied"`
	} `json:"truth"`
}

// tally counts facts: expected, found and invented.
type tally struct{ want, got, invented int }

type score map[string]*tally

func (s score) at(fact string) *tally {
	if s[fact] == nil {
		s[fact] = &tally{}
	}
	return s[fact]
}

func (s score) expect(t *testing.T, fact string, ok bool, format string, args ...any) {
	t.Helper()
	s.at(fact).want++
	if ok {
		s.at(fact).got++
	} else {
		t.Errorf("%s: "+format, append([]any{fact}, args...)...)
	}
}

func (s score) invent(t *testing.T, fact, format string, args ...any) {
	t.Helper()
	s.at(fact).invented++
	t.Errorf("%s invented: "+format, append([]any{fact}, args...)...)
}

var facts = []string{"prompt", "text", "answer", "call", "order", "outcome", "result", "skill", "body", "catalogue", "denial", "tokens", "missing", "session"}

// TestFidelity holds sessions built from real telemetry against the script that the harnesses were driven with.
func TestFidelity(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	shared := os.Getenv("TRACEJURY_SHARED")
	if shared == "" {
		t.Skip("TRACEJURY_SHARED is not set: no captures of real harnesses")
	}
	raw, err := os.ReadFile(filepath.Join(shared, "captures", "truth.json"))
	if err != nil {
		t.Fatalf("read truth: %v", err)
	}
	var tr truth
	if err := json.Unmarshal(raw, &tr); err != nil {
		t.Fatalf("parse truth: %v", err)
	}
	scores := map[string]score{}
	listed := map[string]bool{}
	at := func(client string) score {
		if scores[client] == nil {
			scores[client] = score{}
		}
		return scores[client]
	}
	for _, line := range fidelity {
		for _, name := range line.scenarios {
			listed[line.client+"/"+name] = true
			base, _, _ := strings.Cut(name, "__")
			t.Run(line.client+"/"+name, func(t *testing.T) {
				rows := capturedRows(t, line.client, name)
				checkFidelity(t, at(line.client), tr, tr.Scenarios[base], line.exported, rows)
			})
		}
	}
	for _, name := range captureNames(t, shared) {
		if listed[name] {
			continue
		}
		t.Run("beside the table/"+name, func(t *testing.T) {
			if why := unusable[name]; why != "" {
				t.Log(why)
			}
			client, scenario, _ := strings.Cut(name, "/")
			checkAny(t, sessionsOf(capturedRows(t, client, scenario), Options{}))
		})
	}
	clients := make([]string, 0, len(scores))
	for c := range scores {
		clients = append(clients, c)
	}
	slices.Sort(clients)
	t.Log("\n" + tableOf(clients, scores))
	checkReadme(t, clients, scores)
}

// checkReadme holds the table of the page of ingest to be this one.
func checkReadme(t *testing.T, clients []string, scores map[string]score) {
	t.Helper()
	seen := map[string]bool{}
	for _, line := range fidelity {
		seen[line.client] = true
	}
	if len(clients) != len(seen) {
		return // only some were run
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "cmd", "ingest", "README.md"))
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	for _, c := range clients {
		row := "| " + c
		for _, f := range facts {
			cell := "–"
			if x := scores[c][f]; x != nil {
				cell = fmt.Sprintf("%d/%d", x.got, x.want)
			}
			row += " | " + cell
		}
		if row += " |"; !strings.Contains(string(readme), row+"\n") {
			t.Errorf("the table of cmd/ingest/README.md lacks the row\n%s", row)
		}
	}
}

// captureNames lists the captures on disk as client/scenario.
func captureNames(t *testing.T, shared string) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(shared, "captures", "*", "*", "index.tsv"))
	if err != nil {
		t.Fatalf("list captures: %v", err)
	}
	var out []string
	for _, d := range dirs {
		d = filepath.Dir(d)
		out = append(out, filepath.Base(filepath.Dir(d))+"/"+filepath.Base(d))
	}
	return out
}

// checkAny holds of every capture: something was recognised, steps are numbered, counts agree with rows.
func checkAny(t *testing.T, all []Built) {
	t.Helper()
	if len(all) == 0 {
		t.Fatal("no session")
	}
	if all[0].Session.Harness == "" {
		t.Errorf("no convention recognised anything: %v", all[0].Session.Warnings)
	}
	for _, b := range all {
		calls := 0
		for i, st := range b.Steps {
			if st.Step != int32(i+1) {
				t.Errorf("step %d is numbered %d", i+1, st.Step)
			}
			if st.Kind == "tool_call" {
				calls++
			}
		}
		if calls != int(b.Session.NToolCalls) {
			t.Errorf("%d tool calls counted, %d steps", b.Session.NToolCalls, calls)
		}
	}
	if testing.Verbose() {
		t.Log("\n" + dump(all[0]))
	}
}

func tableOf(clients []string, scores map[string]score) string {
	var table strings.Builder
	fmt.Fprintf(&table, "%-18s", "recall (invented)")
	for _, f := range facts {
		fmt.Fprintf(&table, "%10s", f)
	}
	for _, c := range clients {
		fmt.Fprintf(&table, "\n%-18s", c)
		for _, f := range facts {
			cell := "-"
			if x := scores[c][f]; x != nil {
				cell = fmt.Sprintf("%d/%d", x.got, x.want)
				if x.invented > 0 {
					cell += fmt.Sprintf(" (+%d)", x.invented)
				}
			}
			fmt.Fprintf(&table, "%10s", cell)
		}
	}
	return table.String()
}
