package invocation

import (
	"cmp"
	"fmt"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/prompt"
	"github.com/tracejury/tracejury/judge/transcript"
)

// Options tunes the evaluators of skills in sessions. The zero value is right for models with a window of 200,000 tokens.
type Options struct {
	Mode   Mode // one subject a skill, or one an invocation; "" means a skill
	Compat bool // as Strands: its context, its reasons, and no way to say unclear

	Budget      int                 // tokens of what is shown; 0 means transcript.DefaultBudget
	Tokens      func(string) int    // nil means a token per 3 bytes
	Mask        func(string) string // nil shows text as it was stored
	MaskVersion string              // names what Mask does
	MaxTokens   int                 // of a reply; 0 leaves it to the evaluator
	Prompts     evaluator.Prompts
}

// OptionsOf takes what a run says of evaluators of skills.
func OptionsOf(o evaluator.Options) Options {
	return Options{Mode: Mode(o.Rows), Compat: o.Compat, Mask: o.Mask, MaskVersion: o.MaskVersion, MaxTokens: o.MaxTokens, Prompts: o.Prompts}
}

// Rendering is how a session is shown, beside a block of data of that many bytes.
func (o Options) Rendering(nonce string, beside int) transcript.Options {
	out := transcript.Options{Nonce: nonce, Budget: o.Budget, Tokens: o.Tokens, Mask: o.Mask, MaskVersion: o.MaskVersion}
	if beside > 0 {
		out.Budget = max(1000, cmp.Or(o.Budget, transcript.DefaultBudget)-beside/3)
	}
	return out
}

// SHA256 is the hash of what shapes a question beside prompt and rubric.
func (o Options) SHA256() string {
	return prompt.Hash(o.Rendering("", 0).SettingsSHA256(), string(cmp.Or(o.Mode, PerSkill)), fmt.Sprint("compat ", o.Compat))
}
