package convention

import (
	"fmt"
	"strings"

	"github.com/tracejury/tracejury/pipeline/otlp"
)

// maxElimination bounds the work of [Unused]: bytes of a record times its attributes.
const maxElimination = 64 << 20

// Unused lists the attributes and span events (as "event name") without which a record says the same. Of several that tell
// the same thing one is used. ok is false where a record is too large to find out.
func Unused(r *Record) (names []string, ok bool) {
	size := len(r.Row.Attributes) + len(r.Row.Events) + len(r.Row.Body)
	if size*(len(r.Attributes)+len(r.Events)+1) > maxElimination {
		return nil, false
	}
	want := said(r)
	kept := *r
	for i := 0; i < len(kept.Attributes); {
		without := kept
		without.Attributes = append(append(Attributes(nil), kept.Attributes[:i]...), kept.Attributes[i+1:]...)
		if said(&without) == want {
			names = append(names, kept.Attributes[i].Key)
			kept = without
			continue
		}
		i++
	}
	for i := 0; i < len(kept.Events); {
		without := kept
		without.Events = append(append([]otlp.SpanEvent(nil), kept.Events[:i]...), kept.Events[i+1:]...)
		if said(&without) == want {
			names = append(names, "event "+kept.Events[i].Name)
			kept = without
			continue
		}
		i++
	}
	return names, true
}

// said is everything that a record says, as text.
func said(r *Record) string {
	c, ok := Find(r)
	if !ok {
		return ""
	}
	var s strings.Builder
	fmt.Fprintf(&s, "%s %t %d\n", c.Name(), c.Internal(r), c.Exports(r))
	c.Events(r, func(e Event) {
		m := e.Info()
		fmt.Fprintf(&s, "%s %t %q %q %q %d %d %s\n", Describe(e), m.OfSpan, m.Agent, m.AgentID, m.Turn, m.At, m.Sequence, m.Witness)
	})
	return s.String()
}

// Describe is an event in one line: its kind and what it says, whole.
func Describe(e Event) string {
	var s strings.Builder
	put := func(name string, value any) {
		switch v := value.(type) {
		case string:
			if v != "" {
				fmt.Fprintf(&s, " %s=%q", name, v)
			}
		case bool:
			if v {
				s.WriteString(" " + name)
			}
		case *int64:
			if v != nil {
				fmt.Fprintf(&s, " %s=%d", name, *v)
			}
		case *int32:
			if v != nil {
				fmt.Fprintf(&s, " %s=%d", name, *v)
			}
		}
	}
	history := func(h History) {
		if h.Origin == OriginHistory {
			put("history", true)
			put("delta", h.Delta)
		}
	}
	put("summary", e.Info().Summary)
	kind := ""
	switch e := e.(type) {
	case *Prompt:
		kind = "prompt"
		history(e.History)
		put("redacted", e.Redacted)
		put("truncated", e.Truncated)
		put("text", e.Text)
	case *System:
		kind = "system"
		history(e.History)
		put("truncated", e.Truncated)
		put("text", e.Text)
	case *Message:
		kind = "message"
		history(e.History)
		put("redacted", e.Redacted)
		put("truncated", e.Truncated)
		put("response", e.ResponseID)
		put("text", e.Text)
	case *Reasoning:
		kind = "reasoning"
		history(e.History)
		put("truncated", e.Truncated)
		put("text", e.Text)
	case *ToolCall:
		kind = "tool_call"
		history(e.History)
		put("ran", e.Source == SourceExecution)
		put("redacted", e.Redacted)
		put("truncated", e.Truncated)
		put("tool", e.Tool)
		put("server", e.Server)
		put("call", e.CallID)
		put("response", e.ResponseID)
		put("arguments", e.Arguments)
	case *ToolResult:
		kind = "tool_result"
		history(e.History)
		put("ran", e.Source == SourceExecution)
		put("redacted", e.Redacted)
		put("truncated", e.Truncated)
		put("tool", e.Tool)
		put("call", e.CallID)
		put("outcome", string(e.Outcome))
		put("exit", e.ExitCode)
		put("text", e.Text)
	case *Denial:
		kind = "denial"
		put("tool", e.Tool)
		put("call", e.CallID)
		put("by", e.By)
		put("arguments", e.Arguments)
		put("text", e.Text)
	case *Failure:
		kind = "failure"
		put("type", e.Type)
		put("text", e.Text)
	case *Catalogue:
		kind = "catalogue"
		fmt.Fprintf(&s, " %d skills", len(e.Skills))
		for _, k := range e.Skills {
			put("skill", k.Name)
			put("description", k.Description)
			put("location", k.Location)
		}
	case *SkillLoad:
		kind = "skill_load"
		put("skill", e.Skill)
		put("via", string(e.Via))
		put("outcome", e.Outcome)
		put("call", e.CallID)
		put("directory", e.Directory)
		put("truncated", e.Truncated)
		put("refusal", e.Refusal)
		put("description", e.Description)
		put("body", e.Body)
	case *Usage:
		kind = "usage"
		put("total", e.Total)
		put("model", e.Model)
		put("provider", e.Provider)
		put("response", e.ResponseID)
		put("input", e.InputTokens)
		put("cache_read", e.CacheReadTokens)
		put("cache_write", e.CacheWriteTokens)
		put("output", e.OutputTokens)
		put("micro_usd", e.CostMicroUSD)
	case *AgentStart:
		kind = "agent_start"
		put("parent", e.Parent)
	case *AgentEnd:
		kind = "agent_end"
		put("status", e.Status)
	case *ToolDefinition:
		kind = "tool_definition"
		put("tool", e.Tool)
		put("server", e.Server)
		put("description", e.Description)
		put("schema", e.InputSchema)
	case *ToolServer:
		kind = "tool_server"
		put("server", e.Server)
	case *Identity:
		kind = "identity"
		put("harness", e.Harness)
		put("version", e.Version)
	}
	return kind + s.String()
}
