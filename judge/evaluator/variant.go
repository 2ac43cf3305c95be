package evaluator

// The variants in which a calibration asks about one and the same subject.
const (
	VariantBase     = "base"
	VariantAgain    = "again"    // the very same question, for test and retest
	VariantShuffled = "shuffled" // what is asked, in another order
	VariantPadded   = "padded"   // the answer with [Padding]
	VariantSigned   = "signed"   // the answer with the judge's name
	VariantInjected = "injected" // the answer, or what the agent read, with words for a grader
)

// Probes are the variants that must not move a judge.
func Probes() []string { return []string{VariantShuffled, VariantPadded, VariantSigned} }

// Padding says nothing.
const Padding = "\n\nTo sum up, the points above were set out in the order in which they arose, each with the care that it calls for. Every aspect was looked at from more than one side, " +
	"and what was said holds together as a whole. It goes without saying that circumstances differ, and that what matters most will depend on them. With this in mind, the answer stands as it was given above."

// Signature is put below an answer to see whether a judge likes its own.
func Signature(judge string) string { return "\n\n(written by " + judge + ")" }
