package integration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// fakeKey and fakeSecret are the example credentials of the AWS documentation, which the archives leak on purpose.
const (
	fakeKey    = "AKIAIOSFODNN7EXAMPLE"
	fakeSecret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
)

// truth is archive-truth.json: what really happened in the sessions of the demo archive.
type truth struct {
	Records struct {
		Spans        int64 `json:"spans"`
		Logs         int64 `json:"logs"`
		MetricPoints int64 `json:"metric_points"`
		Duplicates   int64 `json:"duplicates"`
		Unreadable   int64 `json:"unreadable"`
		Empty        int64 `json:"empty"`
	} `json:"records"`
	Sessions []truthSession `json:"sessions"`
	Objects  []struct {
		Key     string `json:"key"`
		Records int64  `json:"records"`
		Bad     bool   `json:"bad"`
	} `json:"objects"`
}

type truthSession struct {
	Name       string   `json:"name"`
	SessionKey string   `json:"session_key"` // "" without a session id
	TraceIDs   []string `json:"trace_ids"`
	Service    string   `json:"service"`
	Harness    string   `json:"harness"`
	Dt         string   `json:"dt"`
	Finished   bool     `json:"finished"`
	Content    string   `json:"content"`
	Turns      int      `json:"turns"`
	ModelCalls int      `json:"model_calls"`
	ToolCalls  int      `json:"tool_calls"`
	ToolErrors int      `json:"tool_errors"`
	Denied     int      `json:"denied"`
	Skills     []struct {
		Skill   string `json:"skill"`
		Outcome string `json:"outcome"`
	} `json:"skills"`
	Expect map[string]string `json:"expect"`
}

func readTruth(t testing.TB) truth {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository(), "testdata", "archive-truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var v truth
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// key finds the session of the lake: by its key or, without a session id, by its trace.
func (s *truthSession) key(l *lake) string {
	if s.SessionKey != "" {
		return s.SessionKey
	}
	return l.value("SELECT session_key FROM traces WHERE trace_id = ?", s.TraceIDs[0])
}

// graded says whether the demo's as-of and window let a session be graded.
func (s *truthSession) graded() bool {
	return s.Finished && s.Content == "recorded" && s.Dt >= "2026-11-24"
}

// TestDemo runs the four jobs over the archive of the repository, offline, and holds every number that can be known against
// the archive's truth.
func TestDemo(t *testing.T) {
	w := newWorld(t)
	in := w.ingest()
	ev := w.evaluate(nil)
	w.run(nil, "aggregate", "--report", "report.html")
	w.run(nil, "export", "--to", "jsonl,agentcore,foundry,outcomes", "--out", "exports")
	l, want := openLake(t, w.data), readTruth(t)

	t.Run("counts", func(t *testing.T) { demoCounts(t, l, want, in, ev) })
	t.Run("tables", func(t *testing.T) { l.t = t; l.check() })
	t.Run("sessions", func(t *testing.T) { demoSessions(t, l, want) })
	t.Run("verdicts", func(t *testing.T) { demoVerdicts(t, l, want) })
	t.Run("aggregates", func(t *testing.T) { l.t = t; l.checkAggregates() })
	t.Run("services differ", func(t *testing.T) { demoServices(t, l) })
	t.Run("no credential", func(t *testing.T) {
		l.t = t
		l.holdsNone(fakeKey, fakeSecret)
		holdsNone(t, w.dir, fakeKey, fakeSecret)
	})
	t.Run("again", func(t *testing.T) {
		before := hashes(t, w.data)
		if again := w.ingest(); again.Commit != -1 || again.Counts.New != 0 {
			t.Errorf("nothing was new, yet: %+v", again)
		}
		if again := w.evaluate(nil); !again.Already || again.Calls != 0 || again.RunID != ev.RunID {
			t.Errorf("the same evaluation was made again: %+v", again)
		}
		w.run(nil, "aggregate", "--report", "report.html")
		same(t, "second run", before, hashes(t, w.data))
	})
	t.Run("elsewhere", func(t *testing.T) {
		other := w.with("other")
		other.ingest()
		other.evaluate(nil)
		other.run(nil, "aggregate")
		same(t, "another run on the same archive", hashes(t, w.data), hashes(t, other.data), byteIdentical...)
	})
}

// byteIdentical are the tables that the same input gives the same bytes of.
var byteIdentical = []string{"objects", "quarantine", "traces", "sessions_moved", "spans", "sessions", "steps", "skills", "tools", "materials",
	"runs", "verdicts", "grades", "explanations", "answers", "aggregates"}

func demoCounts(t *testing.T, l *lake, want truth, in ingestSummary, ev evaluateSummary) {
	l.t = t
	c, r := in.Counts, want.Records
	if got := c.FilteredBy["metrics"]; got != r.MetricPoints {
		t.Errorf("%d metric points, want %d", got, r.MetricPoints)
	}
	// Harness plumbing is dropped by rule; what is left and it are all records.
	if got := c.Written + c.FilteredBy["internal"]; got != r.Spans+r.Logs {
		t.Errorf("%d records written or internal, want %d", got, r.Spans+r.Logs)
	}
	// The object that was cut off repeats spans, as many as can be read of it.
	cut, err := strconv.ParseInt(l.value("SELECT duplicates FROM objects WHERE status = 'partial'"), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Duplicates - cut; got != r.Duplicates {
		t.Errorf("%d duplicates beside %d of the object that was cut, want %d", got, cut, r.Duplicates)
	}
	if got := c.Objects["partial"] + c.Objects["unreadable"]; got != r.Unreadable || c.Objects["empty"] != r.Empty || c.Listed != int64(len(want.Objects)) {
		t.Errorf("objects: %+v, want %d unreadable or cut and %d empty of %d", c.Objects, r.Unreadable, r.Empty, len(want.Objects))
	}
	for _, o := range want.Objects {
		if got := l.value("SELECT records - quarantined FROM objects WHERE object = ?", o.Key); !o.Bad && got != fmt.Sprint(o.Records) {
			t.Errorf("%s: %s records, want %d", o.Key, got, o.Records)
		}
	}
	if got := l.value("SELECT count(*) FROM sessions"); got != fmt.Sprint(len(want.Sessions)) || c.Sessions != int64(len(want.Sessions)) {
		t.Errorf("%s sessions in the table, %d in the summary, want %d", got, c.Sessions, len(want.Sessions))
	}
	if c.Masked["aws_access_key_id"] == 0 || c.Masked["aws_secret_access_key"] == 0 {
		t.Errorf("masked: %+v", c.Masked)
	}
	n := 0
	for _, s := range want.Sessions {
		if s.graded() {
			n++
		}
	}
	if ev.Eligible != n || ev.Graded != n || ev.Ungraded != 0 || !ev.Offline || ev.State != "finished" {
		t.Errorf("evaluate: %+v, want %d graded offline", ev, n)
	}
	if ev.LeftOut["not_finished"] != 1 || ev.LeftOut["content_missing"] != 1 || ev.Window != [2]string{"2026-11-24", "2026-11-30"} {
		t.Errorf("evaluate: %+v", ev)
	}
}

// harnesses are the names that the lake gives to what the truth calls by its attributes.
var harnesses = map[string]string{"otel_genai": "vercel_ai_sdk", "openinference": "openinference_langchain"}

// demoSessions compares every session with what happened in it.
func demoSessions(t *testing.T, l *lake, want truth) {
	l.t = t
	for _, s := range want.Sessions {
		key := s.key(l)
		rows := l.rows(`SELECT service, harness, dt::VARCHAR, n_turns, n_model_calls, n_tool_calls, n_tool_errors, n_denied, content_state <> 'missing',
			array_to_string(list_sort(trace_ids), ',') FROM sessions WHERE session_key = ?`, key)
		if len(rows) != 1 {
			t.Errorf("%s: %d sessions", s.Name, len(rows))
			continue
		}
		expect := []string{s.Service, cmp.Or(harnesses[s.Harness], s.Harness), s.Dt, fmt.Sprint(s.Turns), fmt.Sprint(s.ModelCalls), fmt.Sprint(s.ToolCalls), fmt.Sprint(s.ToolErrors), fmt.Sprint(s.Denied),
			fmt.Sprint(s.Content == "recorded"), strings.Join(slices.Sorted(slices.Values(s.TraceIDs)), ",")}
		if !slices.Equal(rows[0], expect) {
			t.Errorf("%s (%s): service, harness, day, turns, model calls, tool calls, errors, denied, content, traces:\n got %v\nwant %v", s.Name, key, rows[0], expect)
		}
		var skills []string
		for _, k := range s.Skills {
			skills = append(skills, k.Skill+" "+k.Outcome)
		}
		var got []string
		for _, row := range l.rows("SELECT skill || ' ' || outcome FROM skills WHERE session_key = ? ORDER BY attempt", key) {
			got = append(got, row[0])
		}
		if !slices.Equal(got, skills) {
			t.Errorf("%s (%s): skills %v, want %v", s.Name, key, got, skills)
		}
	}
}

// contradictions are decided verdicts of the rules that a careful reader does not share, with the reason why the rule cannot
// know better. A rule may say less than a reader; it must not say otherwise.
var contradictions = map[string]string{
	"op-14-wrong-service tool_use_sound": "the one call is well formed and succeeds; that its argument names another service than the question is for a reader to see",
}

func demoVerdicts(t *testing.T, l *lake, want truth) {
	l.t = t
	decided, agreed := map[string]int{}, map[string]int{}
	used := map[string]bool{}
	for _, s := range want.Sessions {
		if !s.graded() {
			continue
		}
		rows := l.rows(`SELECT criterion, verdict, coalesce(label, ''), evidence_steps::VARCHAR FROM verdicts WHERE session_key = ? AND vote = 'final' ORDER BY criterion`, s.key(l))
		if len(rows) != len(s.Expect) {
			t.Errorf("%s: %d verdicts, want %d", s.Name, len(rows), len(s.Expect))
		}
		for _, row := range rows {
			criterion, got := row[0], row[1]
			expect, known := s.Expect[criterion]
			if !known {
				t.Errorf("%s: no such criterion: %s", s.Name, criterion)
				continue
			}
			if got == "unclear" {
				continue
			}
			decided[criterion]++
			if got == expect {
				agreed[criterion]++
				continue
			}
			id := s.Name + " " + criterion
			if used[id] = true; contradictions[id] == "" {
				t.Errorf("%s: %s is %s by rule, truth says %s (label %q, evidence %s)", s.Name, criterion, got, expect, row[2], row[3])
			}
		}
	}
	for id := range contradictions {
		if !used[id] {
			t.Errorf("%s is listed as a contradiction and is none", id)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(decided)) {
		t.Logf("%-30s decided %2d, as a reader would %2d", c, decided[c], agreed[c])
	}
}

// demoServices: the archive holds a good service and a bad one, and a reader of the aggregates sees which.
func demoServices(t *testing.T, l *lake) {
	l.t = t
	rows := l.rows(`SELECT "group", estimate, low, high FROM aggregates WHERE group_by = 'service' AND metric = 'passed' AND "primary" ORDER BY "group"`)
	if len(rows) != 2 || rows[0][0] != "helpdesk-agent" || rows[1][0] != "ops-agent" {
		t.Fatalf("services: %v", rows)
	}
	good, bad := number(t, rows[0][1]), number(t, rows[1][1])
	t.Logf("helpdesk-agent %v, ops-agent %v", rows[0][1:], rows[1][1:])
	if good-bad < 0.2 {
		t.Errorf("helpdesk-agent passed %.2f, ops-agent %.2f: they hardly differ", good, bad)
	}
}

func number(t testing.TB, s string) float64 {
	t.Helper()
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
