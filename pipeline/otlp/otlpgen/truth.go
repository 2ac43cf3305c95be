package otlpgen

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
)

// Truth is what is true about the demo archive: what was put in, so that a reader can be checked against it.
type Truth struct {
	About    string         `json:"about"`
	AsOf     string         `json:"as_of"`
	Records  RecordTruth    `json:"records"`
	Sessions []SessionTruth `json:"sessions"`
	Objects  []ObjectTruth  `json:"objects"`
}

// RecordTruth counts the records of the readable objects.
type RecordTruth struct {
	Spans        int `json:"spans"`         // distinct
	Logs         int `json:"logs"`          // distinct
	MetricPoints int `json:"metric_points"` //
	Duplicates   int `json:"duplicates"`    // spans that come a second time in a readable object
	Unreadable   int `json:"unreadable"`    // objects
	Empty        int `json:"empty"`         // objects
}

// ObjectTruth describes one object.
type ObjectTruth struct {
	Key     string `json:"key"`
	Format  string `json:"format"`
	Bytes   int    `json:"bytes"`
	Records int    `json:"records"`
	Bad     bool   `json:"bad,omitempty"`
	Note    string `json:"note,omitempty"`
}

// SessionTruth is what happened in one session.
type SessionTruth struct {
	Name       string       `json:"name"`
	SessionKey string       `json:"session_key,omitempty"` // for tenant "default"; none without an id
	SessionID  string       `json:"session_id,omitempty"`
	Traces     []string     `json:"trace_ids"`
	Service    string       `json:"service"`
	Harness    Harness      `json:"harness"`
	Dt         string       `json:"dt"`
	Finished   bool         `json:"finished"`
	Content    string       `json:"content"` // recorded, missing
	Turns      int          `json:"turns"`
	ModelCalls int          `json:"model_calls"` // sub-agents included, as in all counts
	ToolCalls  int          `json:"tool_calls"`  // skill loads included
	ToolErrors int          `json:"tool_errors"`
	FailedExit int          `json:"failed_exits"` // of the tool errors, those that only an exit code tells
	Denied     int          `json:"denied"`
	Skills     []SkillTruth `json:"skills,omitempty"`
	Facts      FactTruth    `json:"facts"`
	Expect     Expect       `json:"expect"`
	Tags       []string     `json:"tags,omitempty"`
	Story      string       `json:"story"`
}

// SkillTruth is one attempt to load a skill: loaded, refused (no such skill, or a rule said no).
type SkillTruth struct {
	Skill   string `json:"skill"`
	Outcome string `json:"outcome"`
}

// FactTruth is what code can know about a session, without a judge.
type FactTruth struct {
	UserRequest  bool `json:"user_request"`
	ToolCall     bool `json:"tool_call"`
	ToolError    bool `json:"tool_error"`
	Denial       bool `json:"denial"`        // something was denied or refused
	ContentRead  bool `json:"content_read"`  // a tool returned something
	StateChanged bool `json:"state_changed"` // a call meant to change something
	SubAgent     bool `json:"sub_agent"`
}

// JSON is the truth file.
func (t *Truth) JSON() ([]byte, error) {
	b, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return nil, fmt.Errorf("otlpgen: encode truth: %w", err)
	}
	return append(b, '\n'), nil
}

func newTruth(scripts []*Script, chunks []chunk, objects []Object) (*Truth, error) {
	t := &Truth{
		About: "What happened in the sessions of the archive beside this file, written by the generator that wrote it. " +
			"Counts are of what happened; a harness may not export all of it: Claude Code withholds the skill catalogue and bodies, " +
			"Strands the text before a tool call; with content off even the name of a skill is withheld.",
		AsOf: AsOf,
	}
	for _, s := range scripts {
		t.Sessions = append(t.Sessions, sessionTruth(s, chunks))
	}
	for _, c := range chunks {
		t.Records.Spans += Traces.records(c.groups)
		t.Records.Logs += Logs.records(c.groups)
		t.Records.MetricPoints += Metrics.records(c.groups)
	}
	total := 0
	for i, o := range objects {
		if i > 0 && objects[i-1].Key == o.Key {
			return nil, fmt.Errorf("otlpgen: two objects with the key %s", o.Key)
		}
		o.info.Key, o.info.Bytes = o.Key, len(o.Body)
		total += o.info.Records
		switch {
		case len(o.Body) == 0:
			t.Records.Empty++
		case o.info.Bad:
			t.Records.Unreadable++
		}
		t.Objects = append(t.Objects, o.info)
	}
	t.Records.Duplicates = total - t.Records.Spans - t.Records.Logs - t.Records.MetricPoints
	return t, nil
}

func sessionTruth(s *Script, chunks []chunk) SessionTruth {
	t := SessionTruth{Name: s.Name, Service: s.Service, Harness: s.Harness, Dt: s.Start.Format("2006-01-02"), Finished: !s.Unfinished,
		Content: "recorded", Turns: len(s.Turns), Expect: s.Expect, Tags: s.Tags, Story: s.Story}
	if s.ContentOff {
		t.Content = "missing"
	}
	if !s.NoID {
		t.SessionID = (&run{random: newRandom(s.Name), script: s}).sessionID()
		sum := sha256.Sum256([]byte("default\x00" + s.Service + "\x00" + t.SessionID))
		t.SessionKey = hex.EncodeToString(sum[:])[:32]
	}
	for _, c := range chunks {
		if c.script != s {
			continue
		}
		for _, g := range c.groups {
			for i := range g.Spans {
				t.trace(g.Spans[i].TraceID)
			}
			for i := range g.Logs {
				t.trace(g.Logs[i].TraceID)
			}
		}
	}
	slices.Sort(t.Traces)
	t.Facts = FactTruth{UserRequest: true, StateChanged: s.Expect.Scope == Met || s.Expect.Scope == NotMet}
	for _, turn := range s.Turns {
		t.steps(s, turn.Steps)
	}
	t.Facts.ToolCall, t.Facts.ToolError = t.ToolCalls > 0, t.ToolErrors > 0
	return t
}

func (t *SessionTruth) trace(id TraceID) {
	if h := hex.EncodeToString(id[:]); id != (TraceID{}) && !slices.Contains(t.Traces, h) {
		t.Traces = append(t.Traces, h)
	}
}

func (t *SessionTruth) steps(s *Script, steps []Step) {
	for _, step := range steps {
		t.ModelCalls++
		for _, c := range step.Calls {
			t.ToolCalls++
			switch {
			case c.Outcome == Denied:
				t.Denied++
				t.Facts.Denial = true
			case c.Outcome == Refused:
				t.Facts.Denial = true
			case c.Outcome == Error, c.Exit != 0:
				t.ToolErrors++
				if c.Exit != 0 && s.Harness != ClaudeCode {
					t.FailedExit++
				}
			}
			if c.Outcome == OK && c.Kind != KindSkill && c.Result != "" {
				t.Facts.ContentRead = true
			}
			if c.Kind == KindSkill {
				outcome := "loaded"
				if c.Outcome != OK {
					outcome = "refused"
				}
				name := c.Name
				if s.ContentOff {
					name = withheldSkill
				}
				t.Skills = append(t.Skills, SkillTruth{name, outcome})
			}
			if c.Kind == KindAgent {
				t.Facts.SubAgent = true
				t.steps(s, c.Steps)
			}
		}
	}
}
