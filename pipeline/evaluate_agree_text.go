package pipeline

import (
	"fmt"
	"io"
)

// writeAgreement prints how far several judges or repeats agree, a line a criterion.
func (s *EvaluateSummary) writeAgreement(w io.Writer) {
	if len(s.Agreement) == 0 {
		return
	}
	fmt.Fprintf(w, "agreement of %d votes a subject; ties and no majority count as unclear\n", s.Agreement[0].Votes)
	for _, a := range s.Agreement {
		fmt.Fprintf(w, "          %-34s %3.0f %% of pairs%s%s, %d subjects%s\n", printable(a.Evaluator+"/"+a.Criterion, 60), 100*a.Observed,
			coefficient("kappa", a.Fleiss), coefficient("AC1", a.AC1), a.Subjects, tied(a.Undecided))
	}
}

func coefficient(name string, v *float64) string {
	if v == nil {
		return fmt.Sprintf(", %s not defined", name)
	}
	return fmt.Sprintf(", %s %.2f", name, *v)
}

func tied(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", %d without a majority", n)
}
