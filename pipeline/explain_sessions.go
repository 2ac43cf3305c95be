package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/schema"
)

// maxExplainedBytes bounds the rows of which sessions are made to be explained.
const maxExplainedBytes = 256 << 20

// ExplainedSession is what one object alone makes of a session.
type ExplainedSession struct {
	Key       string           `json:"session_key"`
	ID        string           `json:"session_id"`
	IDSource  string           `json:"session_id_source"`
	Harness   string           `json:"harness"`
	ToolCalls int32            `json:"tool_calls"`
	Content   string           `json:"content_state"`
	Missing   []string         `json:"missing"`
	Warnings  []string         `json:"warnings"`
	Skills    []ExplainedSkill `json:"skills"`
}

// ExplainedSkill is one attempt to load a skill, with the rule that joined its name to the catalogue.
type ExplainedSkill struct {
	Skill     string `json:"skill"`
	Via       string `json:"via"`
	Outcome   string `json:"outcome"`
	Catalogue string `json:"catalogue_state"`
	MatchRule string `json:"match_rule"` // "" where no catalogue is recorded
	Body      string `json:"body_state"`
}

// keep notes a row for the sessions that are explained last.
func (x *explainer) keep(row *schema.Span) {
	if x.kept += int64(len(row.Attributes) + len(row.Events) + len(row.Body) + len(row.Resource)); x.kept > maxExplainedBytes {
		x.rows = nil
		return
	}
	x.rows = append(x.rows, cloned(row))
}

// cloned is a row that owns its text.
func cloned(row *schema.Span) schema.Span {
	c := *row
	for _, s := range [...]*string{&c.TraceID, &c.SpanID, &c.ParentSpanID, &c.Name, &c.Kind, &c.ScopeName, &c.ScopeVersion, &c.Service, &c.Status,
		&c.StatusMessage, &c.Severity, &c.Attributes, &c.Events, &c.Body, &c.RecordSHA256} {
		*s = strings.Clone(*s)
	}
	return c
}

// sessions prints what the records of this object make of sessions, as if there were no other object.
func (x *explainer) sessions() {
	if x.kept > maxExplainedBytes {
		x.printf("\nsessions: too large to make them of one object\n")
		return
	}
	idents, rows := sessionsOfRows(x.src, x.rows)
	for _, key := range slices.Sorted(maps.Keys(idents)) {
		b := session.Build(idents[key], x.src.Tenant, rows[key], session.Options{AsOf: time.Unix(0, x.maker.horizon.until), Prices: x.cfg.Ingest.Prices, MaxBytes: x.cfg.Limits.MaxSessionBytes})
		if b.Session.Harness == "" {
			continue // records of no convention
		}
		x.session(&b)
	}
}

// sessionsOfRows groups rows as ingest does, trace by trace.
func sessionsOfRows(src Source, rows []schema.Span) (map[string]session.Ident, map[string][]schema.Span) {
	byTrace := map[string][]*schema.Span{}
	for i := range rows {
		byTrace[rows[i].TraceID] = append(byTrace[rows[i].TraceID], &rows[i])
	}
	idents, grouped := map[string]session.Ident{}, map[string][]schema.Span{}
	for _, trace := range slices.Sorted(maps.Keys(byTrace)) {
		list := byTrace[trace]
		for i, id := range session.Assign(src.Tenant, list, src.SessionIDAttributes) {
			if was, ok := idents[id.Key]; !ok || session.Outranks(id.Source, was.Source, src.SessionIDAttributes) {
				idents[id.Key] = id
			}
			list[i].SessionKey = id.Key
			grouped[id.Key] = append(grouped[id.Key], *list[i])
		}
	}
	return idents, grouped
}

func (x *explainer) session(b *session.Built) {
	s := &b.Session
	e := ExplainedSession{Key: s.SessionKey, ID: s.SessionID, IDSource: s.SessionIDSource, Harness: s.Harness, ToolCalls: s.NToolCalls, Content: s.ContentState,
		Missing: s.Missing, Warnings: s.Warnings}
	x.printf("\nsession %s %s=%q harness %s: %d turns, %d model calls, %d tool calls (%d failed, %d denied), %d steps, content %s%s\n", s.SessionKey, s.SessionIDSource,
		shorten(s.SessionID), orNone(s.Harness), s.NTurns, s.NModelCalls, s.NToolCalls, s.NToolErrors, s.NDenied, len(b.Steps), s.ContentState, lacking(s.Missing))
	for _, k := range b.Skills {
		e.Skills = append(e.Skills, ExplainedSkill{Skill: k.Skill, Via: k.Via, Outcome: k.Outcome, Catalogue: k.CatalogueState, MatchRule: k.MatchRule, Body: k.BodyState})
		joined := "no catalogue recorded"
		switch k.MatchRule {
		case "":
		case "none":
			joined = "not in the catalogue (none)"
		default:
			joined = "in the catalogue by rule " + k.MatchRule
		}
		x.printf("  skill %q %s by %s, %s, body %s\n", shorten(k.Skill), k.Outcome, k.Via, joined, k.BodyState)
	}
	if len(b.Skills) == 0 && s.NToolCalls > 0 {
		x.printf("  no skill call was recognised; tools seen: %s\n", printable(list(toolNames(b.Steps)), maxExplained))
	}
	for _, w := range s.Warnings {
		x.printf("  warning %s\n", printable(w, maxExplained))
	}
	x.sum.Sessions = append(x.sum.Sessions, e)
}

func lacking(missing []string) string {
	if len(missing) == 0 {
		return ""
	}
	return ", missing " + strings.Join(missing, ", ")
}

// noteSkillTools counts what a session warns of, and says it once for each tool.
func (r *ingestRun) noteSkillTools(s *schema.Session) {
	tools := skillToolsUnknown(s)
	if len(tools) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range tools {
		if r.counts.SkillTools[t]++; r.counts.SkillTools[t] == 1 {
			r.log.Warn("a tool seems to load skills and no load was recognised", "tool", t, "session", s.SessionKey)
		}
	}
}

// noteCut counts a session that lacks its end.
func (r *ingestRun) noteCut(s *schema.Session) {
	if !session.Cut(s) {
		return
	}
	r.log.Warn("a session is larger than sessions are derived from: its spans are all kept, it will not be judged", "session", s.SessionKey, "session_id", s.SessionID, "warnings", s.Warnings)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Cut++
}

func toolNames(steps []schema.Step) []string {
	var names []string
	for i := range steps {
		if steps[i].Kind == "tool_call" && !slices.Contains(names, steps[i].Tool) {
			names = append(names, steps[i].Tool)
		}
	}
	slices.Sort(names)
	return names
}

// skillToolsUnknown lists the tools of a session that seem to load skills and of which no load was recognised, each with the
// harness: as "opencode use_skill".
func skillToolsUnknown(s *schema.Session) (tools []string) {
	for _, w := range s.Warnings {
		names, ok := strings.CutPrefix(w, session.WarnSkillCalls+":")
		if !ok {
			continue
		}
		for _, n := range strings.Split(names, ",") {
			tools = append(tools, fmt.Sprintf("%s %s", orNone(s.Harness), n))
		}
	}
	return tools
}
