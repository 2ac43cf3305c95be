package convention

import "strings"

// Strands reads Strands Agents, Python and TypeScript, in its three modes: span events with Bedrock blocks, the latest
// convention's operation.details events (several a span, each with a part), and attributes. The scope name of the
// TypeScript SDK is the service's own, so it is known by attributes that only Strands writes.
type Strands struct{}

// Name implements [Convention].
func (Strands) Name() string { return "strands" }

// Match implements [Convention].
func (Strands) Match(r *Record) bool {
	if r.isLog() {
		return false
	}
	if r.Row.ScopeName == "strands.telemetry.tracer" {
		return true
	}
	a := r.Attributes
	return a.Has("agent_loop.cycle_id") || a.Has("event_loop.cycle_id") ||
		a.Has("gen_ai.event.start_time") && a.Has("gen_ai.operation.name")
}

// Internal is false even for the wrappers of a cycle: sessions need them to find the agent above a call.
func (Strands) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (Strands) Exports(r *Record) Content { return genAIExports(r) }

// Events implements [Convention].
func (c Strands) Events(r *Record, emit func(Event)) {
	t := newTeller(r, c.Name(), emit)
	if isCycle(r) {
		return // repeats the history of the chat below it and the answer that follows
	}
	genAITell(r, t, genAIStyle{harness: c.Name()})
}

func isCycle(r *Record) bool {
	return strings.HasSuffix(r.Row.Name, "_loop_cycle") || r.Attributes.Has("event_loop.cycle_id") && !r.Attributes.Has("gen_ai.operation.name")
}
