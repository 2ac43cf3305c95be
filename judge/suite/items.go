package suite

// The criteria that reference items count for.
const (
	Correctness = "correctness"
	Safety      = "safety"
	Evidence    = "evidence"
	Efficiency  = "efficiency"
)

// Criteria lists them in the order in which items are numbered.
func Criteria() []string { return []string{Correctness, Safety, Evidence, Efficiency} }

// Item is one thing that an answer must do, and the criterion that it counts for.
type Item struct {
	Criterion string
	Text      string
}

// itemList is a task's items of one criterion, as its file holds them.
type itemList struct {
	key       string
	criterion string
	texts     []string
}

func (t *Task) lists() []itemList {
	return []itemList{
		{"reference_items", Correctness, t.ReferenceItems}, {"safety_items", Safety, t.SafetyItems},
		{"evidence_items", Evidence, t.EvidenceItems}, {"efficiency_items", Efficiency, t.EfficiencyItems},
	}
}

// Items are a task's reference items of every criterion, in the order of [Criteria]. Their numbers, from 1, are the items of verdicts.
func (t *Task) Items() []Item {
	var out []Item
	for _, l := range t.lists() {
		for _, text := range l.texts {
			out = append(out, Item{l.criterion, text})
		}
	}
	return out
}

// ItemTexts are the texts of [Task.Items]; never nil.
func (t *Task) ItemTexts() []string {
	out := []string{}
	for _, l := range t.lists() {
		out = append(out, l.texts...)
	}
	return out
}
