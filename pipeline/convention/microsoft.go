package convention

import "strings"

// Microsoft reads Microsoft's Agent Framework, Semantic Kernel and Microsoft.Extensions.AI, which follow OpenTelemetry's
// convention and add their names.
type Microsoft struct{}

const microsoft = "microsoft_agent_framework"

// Name implements [Convention].
func (Microsoft) Name() string { return microsoft }

// Match implements [Convention].
func (Microsoft) Match(r *Record) bool {
	for _, p := range [...]string{"agent_framework", "Experimental.Microsoft.Extensions.AI", "Experimental.Microsoft.Agents.AI", "Microsoft.Agents.AI", "Microsoft.Extensions.AI", "Microsoft.SemanticKernel"} {
		if strings.HasPrefix(r.Row.ScopeName, p) {
			return OTelGenAI{}.Match(r)
		}
	}
	return false
}

// Internal implements [Convention].
func (Microsoft) Internal(*Record) bool { return false }

// Exports implements [Convention].
func (Microsoft) Exports(r *Record) Content { return genAIExports(r) }

// Events implements [Convention].
func (Microsoft) Events(r *Record, emit func(Event)) {
	genAITell(r, newTeller(r, microsoft, emit), genAIStyle{harness: microsoft})
}
