package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/stats"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// quietPeriod is how long after its last record a session counts as finished.
const quietPeriod = 30 * time.Minute

// window is the days of a run: dt in (to−days, to].
type window struct {
	from, to string // first and last dt
}

func newWindow(asOf time.Time, days int) window {
	return window{from: asOf.AddDate(0, 0, 1-days).Format(time.DateOnly), to: asOf.Format(time.DateOnly)}
}

func (w window) holds(dt string) bool { return dt >= w.from && dt <= w.to }

// candidate is a session of the window, or a subject that was given.
type candidate struct {
	row   schema.Session // of a given subject, what groups it: tenant, service
	dt    string
	key   string // object of sessions that holds it
	given *evaluator.Subject
}

// pair is what of a candidate enters the run id: what it is, and which revision of it.
func (c *candidate) pair() [2]string {
	if c.given != nil {
		return [2]string{c.given.ID, c.given.Revision}
	}
	return [2]string{c.row.SessionKey, c.row.Revision}
}

// whyNot says why a session cannot be judged, "" if it can.
func (e *evaluateRun) whyNot(c *candidate) string {
	s := &c.row
	switch {
	case e.cfg.Evaluate.Service != "" && s.Service != e.cfg.Evaluate.Service:
		return "other_service"
	case e.cfg.Evaluate.Agent != "" && s.Agent != e.cfg.Evaluate.Agent:
		return "other_agent"
	case s.LastRecordUnixNano == 0:
		return "no_usable_time"
	case time.Unix(0, s.LastRecordUnixNano).Add(quietPeriod).After(e.cfg.asOf):
		return "not_finished"
	case contentExpired(e.cfg, c.dt):
		return "content_expired"
	case s.StartedUnixNano < e.contentSince.UnixNano() && !e.contentSince.IsZero():
		return "began_while_content_was_off"
	case s.ContentState == "missing":
		return "content_missing"
	case s.NTurns == 0 && s.NToolCalls == 0:
		return "no_prompt_and_no_tool_call"
	case session.Cut(s):
		return "too_large"
	}
	return ""
}

// findEligible reads the sessions of the window. Counts says how many were left out, by reason.
func (e *evaluateRun) findEligible(ctx context.Context) (eligible []candidate, counts map[string]int, err error) {
	counts = map[string]int{}
	err = e.eachOfWindow(ctx, newWindow(e.cfg.asOf, e.cfg.Evaluate.Days), func(c candidate, why string) {
		if why != "" {
			counts[why]++
			return
		}
		eligible = append(eligible, c)
	})
	return eligible, counts, err
}

// eachOfWindow reads the sessions of a window, and says of each why it cannot be judged, "" if it can.
func (e *evaluateRun) eachOfWindow(ctx context.Context, w window, do func(c candidate, why string)) error {
	e.met.searched = true
	for obj, err := range e.root.Store.List(ctx, schema.Sessions.Name+"/", store.ListOptions{KeysOnly: true}) {
		if err != nil {
			return fmt.Errorf("list sessions: %w", err)
		}
		m := dayBucket.FindStringSubmatch(obj.Key)
		if m == nil {
			continue
		}
		e.met.day(m[2])
		if !w.holds(m[2]) {
			continue
		}
		rows, _, err := table.Read[schema.Session](ctx, e.root.Store, obj.Key)
		if err != nil {
			return fmt.Errorf("read sessions: %w", err)
		}
		for _, s := range rows {
			c := candidate{row: s, dt: m[2], key: obj.Key}
			e.met.session(&s)
			do(c, e.whyNot(&c))
		}
	}
	return nil
}

// metSessions is what a search for sessions came by, to say what to change where none was eligible.
type metSessions struct {
	searched         bool
	first, last      string // days that hold sessions, in the window or not
	services, agents map[string]bool
}

// maxMet bounds the names that are kept for a hint.
const maxMet = 500

func (m *metSessions) day(dt string) {
	if m.first == "" || dt < m.first {
		m.first = dt
	}
	m.last = max(m.last, dt)
}

func (m *metSessions) session(s *schema.Session) {
	if m.services == nil {
		m.services, m.agents = map[string]bool{}, map[string]bool{}
	}
	for _, x := range []struct {
		names map[string]bool
		name  string
	}{{m.services, s.Service}, {m.agents, s.Agent}} {
		if x.name != "" && len(x.names) < maxMet {
			x.names[printable(x.name, 64)] = true
		}
	}
}

// hint says what would find sessions; "" where that is not known.
func (m *metSessions) hint(c *EvaluateConfig) string {
	switch {
	case !m.searched:
	case m.first == "":
		return "the tables hold no session: run ingest with the same --data first"
	case m.services == nil:
		return fmt.Sprintf("the tables hold sessions from %s to %s: --as-of and --days choose the window", m.first, m.last)
	case c.Service != "" && !m.services[printable(c.Service, 64)] && len(m.services) > 0:
		return fmt.Sprintf("no session of the window has the service %q: %s", printable(c.Service, 64), suggest(c.Service, slices.Sorted(maps.Keys(m.services))))
	case c.Agent != "" && !m.agents[printable(c.Agent, 64)] && len(m.agents) > 0:
		return fmt.Sprintf("no session of the window has the agent %q: %s", printable(c.Agent, 64), suggest(c.Agent, slices.Sorted(maps.Keys(m.agents))))
	}
	return ""
}

// drawSample takes the n eligible sessions with the smallest hash of seed and key, in that order.
func drawSample(eligible []candidate, seed string, n int) []candidate {
	byKey := make(map[string]candidate, len(eligible))
	keys := make([]string, 0, len(eligible))
	for _, c := range eligible {
		byKey[c.row.SessionKey] = c
		keys = append(keys, c.row.SessionKey)
	}
	var sample []candidate
	for _, key := range stats.SampleSmallest(seed, keys, n) {
		sample = append(sample, byKey[key])
	}
	return sample
}

// runIdentity is everything that a run's id is a hash of. Label, concurrency, budget and paths are not in it.
type runIdentity struct {
	Schema      int                 `json:"schema"`
	Evaluators  []evaluatorIdentity `json:"evaluators"`
	Judge       judge.Identity      `json:"judge"`
	MaxTokens   int                 `json:"max_tokens"`
	MaskVersion string              `json:"mask_version"`
	WindowFrom  string              `json:"window_from"`
	WindowTo    string              `json:"window_to"`
	Service     string              `json:"service"`
	Agent       string              `json:"agent"`
	Per         string              `json:"per,omitempty"`
	Seed        string              `json:"seed"`
	Repeat      int                 `json:"repeat"`
	Panel       []judge.Identity    `json:"panel,omitempty"`            // further judges
	Second      *judge.Identity     `json:"on_refusal,omitempty"`       // asked what the judge refuses
	Unanimous   bool                `json:"safety_unanimous,omitempty"` //
	Tasks       *taskIdentity       `json:"tasks,omitempty"`            // of a run on a suite
	Sample      [][2]string         `json:"sample"`                     // (subject, revision) in sample order
}

type evaluatorIdentity struct {
	Evaluator     string `json:"evaluator"`
	RubricSHA256  string `json:"rubric_sha256"`
	PromptSHA256  string `json:"prompt_sha256"`
	SchemaSHA256  string `json:"schema_sha256"`
	Rendering     string `json:"rendering"`
	PromptVersion string `json:"prompt_version"`
}

func identityOf(v evaluator.Version) evaluatorIdentity {
	return evaluatorIdentity{Evaluator: v.Evaluator, RubricSHA256: v.RubricSHA256, PromptSHA256: v.PromptSHA256, SchemaSHA256: v.SchemaSHA256, Rendering: v.Rendering, PromptVersion: v.PromptVersion}
}

// runID is the run's date and 12 hex of the hash of what makes the run what it is.
func runID(asOf time.Time, id runIdentity) string {
	return asOf.Format(time.DateOnly) + "-" + hashJSON(id)[:12]
}

// hashJSON is the SHA-256 of v's JSON: structs encode their fields in order, maps sort their keys.
func hashJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("BUG: hash of a value that is not JSON: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
