package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/schema"
)

// view is the model in the words of a reader. All strings are clean: fit to print after the escaping of the format.
type view struct {
	Title, Date, Window, Data, RunID string
	Noun                             string // of what was graded, singular
	parts                            bool   // of sampled sessions
	scored                           bool   // some criterion has a score
	Eligible, Sampled, Graded        int32
	Ungraded, NotAttempted           int32
	UngradedShare                    string
	Filters                          string
	Strata                           int  // services that were drawn from one by one; 0: one sample of all
	Weighted                         bool // some rate is not the quotient of the counts beside it
	NoResult, Partial, Offline       bool
	Banners                          []banner
	Passed, Safe                     figure
	SafeExact                        *interval // Clopper–Pearson beside the printed one
	Undecided                        int32
	NothingApplied                   int32 // graded, but no criterion applied
	Level                            string
	Change                           []change
	Criteria                         []criterionRow
	Columns                          []criterionRow // of a table of sessions: safety first
	Services                         []serviceRow
	ServicesLeft                     int // services that were too many to show
	Intervals                        []interval
	Sessions                         []sessionRow
	SessionsLeft                     int
	Choices                          []string // services of the sessions, for a filter
	Basis                            []pair
	Masked                           []pair
	ingest                           *Ingest // nil when unknown
	Rubric                           rubricView
	Run                              []pair
	Past                             pastView
	Parts                            []partView
	Skills                           []skillRow
	SkillColumns                     []string
	SkillsLeft                       int
	Agreement                        *agreementView // nil without labels, repeats or a panel
	Tasks                            *Tasks         // nil but of a run on a suite
	Catalogue                        *catalogueView // nil but of a run of tools or packages
	Scores                           []scoreRow
	Left                             []leftRow
	LeftBy                           []pair
	LeftAll                          int // sessions that could not be judged
}

// Kinds of a banner, from the gravest.
const (
	bannerStop = "stop"
	bannerWarn = "warn"
	bannerInfo = "info"
	bannerGood = "good"
)

type banner struct{ Kind, Title, Text string }

type pair struct{ Name, Value string }

type change struct{ Metric, Change, Baseline, Detectable, Overlap string }

type criterionRow struct {
	ID, Label, Question string
	Safety              bool
	Figure              figure
	Index               int
	key                 string // the id as it stands in the tables
}

type serviceRow struct {
	Name         string // "" when the telemetry named none
	Passed, Safe figure
	Cells        []figure // by criterion, in the order of the criteria
}

type rubricView struct {
	Title, Name, Description string
	Version                  int
	Criteria                 []questionRow
}

type questionRow struct {
	ID, Label, Question, AppliesWhen string
	Safety, Gate                     bool
	Anchors                          []pair
}

// maxServices keeps a report readable when a service name is made anew for every pod.
const maxServices = 200

// look turns a model into a view. sessions is how many sessions the format shows.
func look(m *Model, sessions int) *view {
	run := &m.Run
	figures := collect(m.Aggregates, run.Evaluator)
	v := &view{
		Title: title(m), Date: m.AsOf.UTC().Format("2006-01-02"), Data: phrase(m.Data), RunID: name(run.RunID),
		Window: window(run), Noun: noun(run.Kind), parts: isPart(run.Kind),
		Eligible: run.Eligible, Sampled: run.Sampled, Graded: run.Graded, Ungraded: run.Ungraded, NotAttempted: run.NotAttempted,
		NoResult: run.State == "no_result", Partial: run.State == "partial" || run.NotAttempted > 0, Offline: run.Offline,
		Filters: filters(run), Strata: len(run.Strata),
	}
	for _, f := range figures {
		v.Weighted = v.Weighted || f.Weighted
	}
	if tried := run.Graded + run.Ungraded; tried > 0 {
		v.UngradedShare = percent(float64(run.Ungraded) / float64(tried))
	}
	if m.AsOf.IsZero() {
		v.Date = "no date"
	}
	v.Passed = figures[figureKey{metric: metricPassed, groupBy: byOverall}]
	v.Safe = figures[figureKey{metric: metricSafe, groupBy: byOverall}]
	if v.NoResult {
		v.Passed.NoResult, v.Safe.NoResult = true, true
	}
	v.Level = levelText(cmp.Or(v.Passed.level, v.Safe.level, 0.95))
	v.Undecided = v.Passed.Undecided
	v.NothingApplied = v.Passed.NotApplicable
	v.scored = slices.ContainsFunc(m.Aggregates, func(a schema.Aggregate) bool { return a.Evaluator == run.Evaluator && a.Metric == metricScore })
	v.criteria(m, figures)
	if len(v.Criteria) == 1 { // a subject passes as its one criterion says, and one that is unclear does neither
		v.NothingApplied = v.Criteria[0].Figure.NotApplicable
	}
	if !v.canPass() {
		v.NothingApplied = 0 // to nothing was a bar set
	}
	v.Columns = slices.Clone(v.Criteria)
	slices.SortStableFunc(v.Columns, func(a, b criterionRow) int { return safetyFirst(a.Safety, b.Safety) })
	v.services(m, figures)
	v.intervals()
	v.changes()
	v.sessions(m, sessions)
	v.tasks(m)
	v.catalogue(m)
	v.scores(m)
	v.Banners = v.banners(m)
	v.basis(m)
	v.Past = past(m, cmp.Or(v.Passed.level, v.Safe.level, 0.95))
	v.others(m)
	v.agreement(m)
	v.left(m)
	v.Rubric = rubric(m)
	v.Run = provenance(run)
	return v
}

// criteria lists the rubric's criteria in its order, then those that only the numbers or the verdicts know.
func (v *view) criteria(m *Model, figures map[figureKey]figure) {
	seen := make(map[string]bool)
	for i := range m.Rubric.Criteria {
		c := &m.Rubric.Criteria[i]
		if seen[c.ID] {
			continue
		}
		seen[c.ID] = true
		v.Criteria = append(v.Criteria, criterionRow{
			ID: name(c.ID), Label: label(c.ID), Question: phrase(c.Question), Safety: c.Safety, key: c.ID,
		})
	}
	safety := make(map[string]bool)
	var extra []string
	note := func(id string) {
		if id != "" && !seen[id] {
			seen[id] = true
			extra = append(extra, id)
		}
	}
	for key := range figures {
		note(key.criterion)
	}
	for i := range m.Sessions {
		for j := range m.Sessions[i].Verdicts {
			note(m.Sessions[i].Verdicts[j].Criterion)
			if m.Sessions[i].Verdicts[j].Safety {
				safety[m.Sessions[i].Verdicts[j].Criterion] = true
			}
		}
	}
	slices.Sort(extra)
	for _, id := range extra {
		v.Criteria = append(v.Criteria, criterionRow{ID: name(id), Label: label(id), Safety: safety[id], key: id})
	}
	for i := range v.Criteria {
		c := &v.Criteria[i]
		c.Index = i
		c.Figure = figures[figureKey{metric: metricMet, groupBy: byCriterion, criterion: c.key}]
		if v.NoResult {
			c.Figure.NoResult = true
		}
	}
}

func (v *view) services(m *Model, figures map[figureKey]figure) {
	names := make(map[string]bool)
	for key := range figures {
		if key.groupBy == byService || key.groupBy == byCriterionService {
			names[key.service] = true
		}
	}
	ordered := slices.Sorted(maps.Keys(names))
	if len(ordered) > maxServices {
		v.ServicesLeft, ordered = len(ordered)-maxServices, ordered[:maxServices]
	}
	for _, service := range ordered {
		row := serviceRow{
			Name:   name(service),
			Passed: figures[figureKey{metric: metricPassed, groupBy: byService, service: service}],
			Safe:   figures[figureKey{metric: metricSafe, groupBy: byService, service: service}],
		}
		for _, c := range v.Criteria {
			row.Cells = append(row.Cells, figures[figureKey{
				metric: metricMet, groupBy: byCriterionService, criterion: c.key, service: service,
			}])
		}
		v.Services = append(v.Services, row)
	}
}

// intervals lists every interval that was computed, for the reader who does not trust one method.
func (v *view) intervals() {
	v.Intervals = append(v.Passed.intervals("passed", "overall"), v.Safe.intervals("safe", "overall")...)
	for i := range v.Intervals {
		if iv := &v.Intervals[i]; iv.Metric == "safe" && iv.Method == "Clopper–Pearson" && !iv.Primary && iv.Interval != unknown {
			v.SafeExact = iv
		}
	}
	for _, s := range v.Services {
		v.Intervals = append(v.Intervals, s.Passed.intervals("passed", cmp.Or(s.Name, noService))...)
		v.Intervals = append(v.Intervals, s.Safe.intervals("safe", cmp.Or(s.Name, noService))...)
	}
	for _, c := range v.Criteria {
		v.Intervals = append(v.Intervals, c.Figure.intervals("met", c.Label)...)
	}
}

func (v *view) changes() {
	add := func(metric string, f figure) {
		if s := f.Change(); s != "" {
			v.Change = append(v.Change, change{metric, s, f.baseline, f.Detectable(), f.Overlap()})
		}
	}
	add("Passed", v.Passed)
	add("Safe", v.Safe)
	for _, c := range v.Criteria {
		add(c.Label, c.Figure)
	}
	for _, s := range v.Services {
		add("Passed, "+cmp.Or(s.Name, noService), s.Passed)
		add("Safe, "+cmp.Or(s.Name, noService), s.Safe)
	}
}

// WeightedNote is what stands below figures that are marked.
func (v *view) WeightedNote() string { return weightedNote }

// weightedNote explains the mark of weighted figures.
const weightedNote = "weighted: the sample was drawn of every service by itself, so each service counts by its eligible sessions, and the rate is " +
	"not the quotient of the counts beside it."

// safetyFirst compares for an order with safety first.
func safetyFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// noService stands for the service of telemetry that names none.
const noService = "(no service)"

// label is a criterion's id in words.
func label(id string) string { return strings.ReplaceAll(name(id), "_", " ") }

// isPart is whether what was graded are parts of the sessions that were sampled.
func isPart(kind string) bool { return kind == "skill" || kind == "tool_call" }

// canPass is whether anything passed or did not: evaluators with scores alone set no bar.
func (v *view) canPass() bool { return v.Passed.N > 0 || !v.scored }

// PassRule says what passing and being safe mean here.
func (v *view) PassRule() string {
	switch {
	case v.Catalogue != nil && v.Catalogue.tools:
		return "The grade is the mean of the criteria's scores: A from 0.875, B from 0.75, C from 0.625, D from 0.5, else F. Hidden instructions cap it at D, " +
			"and a tool without a description has an F. A tool with a criterion that is unclear has no grade, and a server is graded by the median of its tools, the lower of two."
	case !v.canPass():
		return "Answers are scores from 0 to 1. No score is a pass."
	}
	return "A " + v.Noun + " passes when no criterion is not met. It is safe when no safety criterion is not met."
}

// CanPass is whether there is a rate of passing to show.
func (v *view) CanPass() bool { return v.canPass() }

// HasSafety is whether there is a rate of safety to show.
func (v *view) HasSafety() bool { return v.hasSafety() }

// hasSafety is whether any criterion is one of safety, and anything was safe or not.
func (v *view) hasSafety() bool {
	if v.scored && v.Safe.N == 0 {
		return false
	}
	return len(v.Criteria) == 0 || slices.ContainsFunc(v.Criteria, func(c criterionRow) bool { return c.Safety })
}

// noun names what was graded.
func noun(kind string) string {
	switch kind {
	case "", "session":
		return "session"
	case "skill", "tool", "task":
		return kind
	case "tool_call":
		return "tool call"
	case "skill_package":
		return "skill package"
	}
	return "subject" // never text of a table: the noun stands in sentences
}

// title names what the run holds: one evaluator by its rubric, several by what they graded.
func title(m *Model) string {
	if n := noun(m.Run.Kind); len(m.Parts) > 0 && n != "session" && n != "subject" {
		return strings.ToUpper(n[:1]) + plural(n)[1:]
	}
	if m.Rubric.Title != "" {
		return phrase(m.Rubric.Title)
	}
	return name(strings.ReplaceAll(cmp.Or(m.Run.Evaluator, m.Run.Kind, "report"), "_", " "))
}

func window(run *schema.Run) string {
	switch {
	case run.WindowFrom == "" && run.WindowTo == "":
		return ""
	case run.WindowFrom == run.WindowTo:
		return name(run.WindowTo)
	}
	return name(run.WindowFrom) + " to " + name(run.WindowTo)
}

func filters(run *schema.Run) string {
	var parts []string
	if run.FilterService != "" {
		parts = append(parts, "service "+isolate(name(run.FilterService)))
	}
	if run.FilterAgent != "" {
		parts = append(parts, "agent "+isolate(name(run.FilterAgent)))
	}
	return strings.Join(parts, ", ")
}
