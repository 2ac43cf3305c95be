// Package labels writes a blinded sheet for people to label sessions on, and reads the labels back for calibration.
//
// It does not know what becomes of labels: who compares them with verdicts does.
package labels

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// The files of the target.
const (
	SheetFile = "labels/sheet.csv"
	GuideFile = "labels/guide.md"
)

// maxQuestion is our cap: a spreadsheet cuts a cell at 32,767 characters.
const maxQuestion = 2000

// Target writes the two files.
type Target struct{}

var _ exports.Target = Target{}

// Name implements exports.Target.
func (Target) Name() string { return "labels" }

// Check implements exports.Target.
func (Target) Check(ctx context.Context, in *exports.Input) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := in.Check(); err != nil {
		return err
	}
	return exports.NeedSessions(in)
}

// header is the columns of the sheet. Read takes these and no others; it needs the five of a Label.
var header = []string{"run_id", "subject", "transcript", "criterion", "question", "applies_when", "verdict", "labeller"}

// Row is one question to a labeller: a row of the sheet, whose last two columns are empty.
type Row struct {
	RunID       string
	Subject     string
	Transcript  string // what is to be judged, or where it is shown
	Criterion   string
	Question    string
	AppliesWhen string
}

func (r *Row) record() []string {
	return []string{r.RunID, r.Subject, r.Transcript, r.Criterion, r.Question, r.AppliesWhen, "", ""}
}

// Shown is where the steps of a session are shown as the judge saw them, and nothing that it said: for column transcript.
func Shown(key string) string { return "transcript:" + key }

// WriteRows writes a sheet of these rows, in their order.
func WriteRows(w io.Writer, rows []Row) error {
	out := csv.NewWriter(w)
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range rows {
		record := rows[i].record()
		for k := range record {
			record[k] = exports.Cell(record[k])
		}
		if err := out.Write(record); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// Files implements exports.Target. Rows are in the order of the subjects' keys, which are hashes: the order says nothing about
// time, service or verdict, and is the same for every labeller. Every sampled session has its rows, graded or not: to leave out
// what the judge could not grade would tell the labeller something about the rest.
func (Target) Files(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if err := exports.WriteFile(sink, GuideFile, []byte(Guide(&in.Rubric, func(s string) string { return in.Text(s, 0) }, "aggregate --labels"))); err != nil {
		return err
	}
	return exports.Sheet(ctx, in, sink, SheetFile, header, func(s *exports.Session, emit func([]string) error) error {
		if _, err := exports.Align(&in.Rubric, s); err != nil {
			return err
		}
		subject := in.HashID(s.Key)
		for i := range in.Rubric.Criteria {
			c := &in.Rubric.Criteria[i]
			row := Row{in.Run.RunID, subject, Shown(subject), c.ID, in.Text(c.Question, maxQuestion), in.Text(c.AppliesWhen, maxQuestion)}
			if err := emit(row.record()); err != nil {
				return err
			}
		}
		return nil
	})
}

// Loss implements exports.Target.
func (Target) Loss(in *exports.Input) []exports.Loss {
	return append([]exports.Loss{
		{What: "verdict", How: "left out on purpose: a label given in sight of a verdict is worth nothing"},
		{What: "explanation", How: "left out on purpose, as verdicts are"},
		{What: "service", How: "left out on purpose, with agent, harness, trace, revision and time: what is known of a session stands in its transcript"},
		{File: GuideFile, What: "weight", How: "left out: weights, gates and facts are not a labeller's concern; criteria.json holds them"},
		{File: SheetFile, What: "steps", How: "no transcript leaves: column transcript names it for aggregate --show, which prints the steps as the judge saw them and no verdict"},
	}, append(exports.Unheld(in), exports.PartsLeft(in)...)...)
}

// Guide tells people how to label by a rubric. text masks what is shown of it; to is the command that takes the filled sheet.
func Guide(r *judge.Rubric, text func(string) string, to string) string {
	line := func(s string) string { return strings.Join(strings.Fields(text(s)), " ") }
	var b strings.Builder
	fmt.Fprintf(&b, "# Labelling: %s (version %d)\n\n", cmp.Or(line(r.Title), r.Name), r.Version)
	fmt.Fprintf(&b, `Read each session with

    aggregate --data ... --show transcript:KEY

where transcript:KEY stands in column transcript of the sheet. It shows the steps as the judge saw them, and nothing that the judge
said. Answer every row on its own, from the steps only. Do not look at the report first. Write one of the answers below into column
verdict and your name or initials into column labeller, in every row that you answer. Leave a row empty that you did not get to. Save
as CSV and give the file to %s.

Answers: %s.
`, to, answers(r))
	for i := range r.Criteria {
		c := &r.Criteria[i]
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", c.ID, line(c.Question))
		if c.AppliesWhen != "" {
			fmt.Fprintf(&b, "\nApplies when: %s\n", line(c.AppliesWhen))
		}
		if len(c.Anchors) > 0 {
			b.WriteByte('\n')
		}
		for _, k := range slices.Sorted(maps.Keys(c.Anchors)) {
			fmt.Fprintf(&b, "- %s: %s\n", line(k), line(c.Anchors[k]))
		}
	}
	return b.String()
}

// answers lists what a labeller may write, for the scales that the rubric has.
func answers(r *judge.Rubric) string {
	var verdicts, points bool
	for _, c := range r.Criteria {
		if c.Scale == judge.ScaleFivePoint || c.Scale == judge.ScaleYesNo {
			points = true
		} else {
			verdicts = true
		}
	}
	var list []string
	if verdicts {
		list = append(list, "met", "not_met")
	}
	if points {
		list = append(list, "1, 0.75, 0.5, 0.25 or 0 where the criterion is scored (yes is 1, no is 0)")
	}
	return strings.Join(append(list, "not_applicable (its condition did not arise)", "unclear (the steps do not show enough)"), ", ")
}
