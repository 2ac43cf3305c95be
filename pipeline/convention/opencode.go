package convention

import "strings"

// OpenCode reads opencode, which runs on the AI SDK: its model and tool spans are the SDK's, all its others are internal. Its
// last batch is often lost, since the process ends before it is sent.
type OpenCode struct{}

const (
	openCode        = "opencode"
	openCodeVersion = "service.version"
)

// Name implements [Convention].
func (OpenCode) Name() string { return openCode }

// Match implements [Convention].
func (OpenCode) Match(r *Record) bool {
	return r.Row.ScopeName == openCode || r.Row.Service == openCode
}

// Internal implements [Convention].
func (OpenCode) Internal(r *Record) bool { return r.isLog() || !r.Attributes.Has("ai.operationId") }

// Exports implements [Convention].
func (OpenCode) Exports(r *Record) Content { return aiExports(r.Attributes) | ContentOffersSkills }

// Events implements [Convention].
func (c OpenCode) Events(r *Record, emit func(Event)) {
	if c.Internal(r) {
		return
	}
	t := newTeller(r, openCode, emit)
	if openCodeTitle(r.Attributes) {
		t.tellAt(r.end(), aiUsage(r, !strings.HasSuffix(r.Attributes.Str("ai.operationId"), ".doStream")))
		return
	}
	t.tell(&Identity{Harness: openCode, Version: r.Resource.Str(openCodeVersion)})
	aiTell(r, t)
}

// openCodeTitle says that a model call names the conversation and is no part of it.
func openCodeTitle(a Attributes) bool {
	text := a.Str("ai.prompt.messages", "ai.prompt")
	return strings.Contains(text[:min(len(text), 200)], "You are a title generator")
}
