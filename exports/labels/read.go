package labels

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge"
)

// Limits of a file of labels.
const (
	maxBytes = 256 << 20
	maxLine  = 1 << 20
	maxRows  = 1_000_000
	maxField = 256
)

// Label is what one person said about one criterion of one subject.
type Label struct {
	RunID     string        `json:"run_id,omitempty"` // of the sheet; "" where the file names no run
	Subject   string        `json:"subject"`          // a key, or a session's own id
	Criterion string        `json:"criterion"`
	Verdict   judge.Verdict `json:"verdict"` // met, not_met, not_applicable, unclear, scored
	Score     *float64      `json:"score,omitempty"`
	Labeller  string        `json:"labeller,omitempty"` // "" is somebody
}

// row is a line of JSON: the columns of the sheet, those that people's own files have, and a score.
type row struct {
	Session     string   `json:"session"` // the same as subject
	Comment     string   `json:"comment"` // left alone
	RunID       string   `json:"run_id"`
	Subject     string   `json:"subject"`
	Transcript  string   `json:"transcript"`
	Criterion   string   `json:"criterion"`
	Question    string   `json:"question"`
	AppliesWhen string   `json:"applies_when"`
	Verdict     string   `json:"verdict"`
	Score       *float64 `json:"score"`
	Labeller    string   `json:"labeller"`
}

// Read reads labels from CSV (also with semicolons or tabs, as spreadsheets save them) or from lines of JSON; the first
// character tells which. Needed are subject (or session), criterion and verdict; run_id and labeller may be missing. Rows without a verdict
// are skipped. Labels come in the order of run, subject, criterion and labeller; the same label of one labeller twice counts once, two
// answers of one labeller to one question are an error, and rows without a labeller are each by somebody else. Errors name the line.
func Read(r io.Reader) ([]Label, error) {
	in := bufio.NewReaderSize(io.LimitReader(r, maxBytes+1), 64<<10)
	if bom, _ := in.Peek(3); string(bom) == "\ufeff" {
		_, _ = in.Discard(3)
	}
	first, err := in.Peek(1)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	var set collector
	if first[0] == '{' {
		err = readJSON(in, &set)
	} else {
		err = readCSV(in, &set)
	}
	if err != nil {
		return nil, fmt.Errorf("read labels: %w", err)
	}
	return set.sorted(), nil
}

func readJSON(in *bufio.Reader, set *collector) error {
	scan := bufio.NewScanner(in)
	scan.Buffer(make([]byte, 64<<10), maxLine)
	line := 0
	for scan.Scan() {
		line++
		text := bytes.TrimSpace(scan.Bytes())
		if len(text) == 0 {
			continue
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.DisallowUnknownFields()
		var r row
		if err := dec.Decode(&r); err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		if dec.More() {
			return fmt.Errorf("line %d: more than one value", line)
		}
		if r.Score != nil && r.Verdict == "" {
			r.Verdict = string(judge.Scored)
		}
		if r.Verdict == string(judge.Scored) {
			if r.Score == nil {
				return fmt.Errorf("line %d: scored without a score", line)
			}
			r.Verdict = strconv.FormatFloat(*r.Score, 'f', -1, 64)
		} else if r.Score != nil {
			return fmt.Errorf("line %d: verdict %q has a score", line, exports.Cut(r.Verdict, 40))
		}
		if err := set.add(line, &r); err != nil {
			return err
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("line %d: %w", line+1, err)
	}
	return nil
}

func readCSV(in *bufio.Reader, set *collector) error {
	r := csv.NewReader(in)
	r.Comma = delimiter(in)
	r.ReuseRecord = true
	record, err := r.Read()
	if err != nil {
		return fmt.Errorf("header: %w", err)
	}
	place := map[string]int{}
	for i, name := range record {
		name = strings.ToLower(strings.TrimSpace(name))
		switch _, twice := place[name]; {
		case name == "":
			continue // a spreadsheet adds empty columns
		case twice:
			return fmt.Errorf("column %s appears twice", exports.Cut(name, 40))
		case !slices.Contains(header, name) && name != "session" && name != "comment":
			return fmt.Errorf("column %q is unknown: want session, %s or comment", exports.Cut(name, 40), strings.Join(header, ", "))
		}
		place[strings.Clone(name)] = i
	}
	if _, ok := place["subject"]; !ok {
		if _, ok = place["session"]; !ok {
			return errors.New("column session (or subject) is missing")
		}
	}
	for _, name := range []string{"criterion", "verdict"} {
		if _, ok := place[name]; !ok {
			return fmt.Errorf("column %s is missing: want session, criterion and verdict", name)
		}
	}
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		line, _ := r.FieldPos(0)
		get := func(name string) string {
			if _, ok := place[name]; !ok {
				return ""
			}
			return strings.Clone(strings.TrimSpace(exports.UnquoteCell(record[place[name]])))
		}
		err = set.add(line, &row{RunID: get("run_id"), Subject: get("subject"), Session: get("session"), Criterion: get("criterion"), Verdict: get("verdict"), Labeller: get("labeller")})
		if err != nil {
			return err
		}
	}
}

// delimiter is what stands most in the header, where no column has any of them in its name.
func delimiter(in *bufio.Reader) rune {
	head, _ := in.Peek(4 << 10)
	head, _, _ = bytes.Cut(head, []byte("\n"))
	best, most := ',', bytes.Count(head, []byte(","))
	for _, c := range ";\t" {
		if n := bytes.Count(head, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// question is one criterion of one subject put to one labeller.
type question struct {
	run, subject, criterion, labeller string
	line                              int // of a label by nobody in particular; else 0
}

type collector struct {
	labels map[question]Label
	lines  map[question]int
}

func (c *collector) add(line int, r *row) error {
	if strings.TrimSpace(r.Verdict) == "" {
		return nil
	}
	l := Label{RunID: strings.TrimSpace(r.RunID), Subject: strings.TrimSpace(cmp.Or(r.Subject, r.Session)), Criterion: strings.TrimSpace(r.Criterion), Labeller: strings.TrimSpace(r.Labeller)}
	for _, f := range []struct{ name, value string }{{"run_id", l.RunID}, {"session", l.Subject}, {"criterion", l.Criterion}, {"labeller", l.Labeller}} {
		if needed := f.name == "session" || f.name == "criterion"; f.value == "" && needed || len(f.value) > maxField {
			return fmt.Errorf("line %d: %s is empty or longer than %d bytes", line, f.name, maxField)
		}
	}
	var err error
	if l.Verdict, l.Score, err = parseVerdict(r.Verdict); err != nil {
		return fmt.Errorf("line %d: %w", line, err)
	}
	key := question{run: l.RunID, subject: l.Subject, criterion: l.Criterion, labeller: l.Labeller}
	if l.Labeller == "" {
		key.line = line
	}
	if old, ok := c.labels[key]; ok {
		if old.Verdict != l.Verdict || (old.Score != nil && *old.Score != *l.Score) {
			return fmt.Errorf("line %d: %s answered %s of %s already, and otherwise, in line %d", line, l.Labeller, l.Criterion, l.Subject, c.lines[key])
		}
		return nil
	}
	if c.labels == nil {
		c.labels, c.lines = map[question]Label{}, map[question]int{}
	}
	if len(c.labels) == maxRows {
		return fmt.Errorf("line %d: more than %d labels", line, maxRows)
	}
	c.labels[key], c.lines[key] = l, line
	return nil
}

// parseVerdict reads an answer as people write it: case, blanks and hyphens do not count.
func parseVerdict(s string) (judge.Verdict, *float64, error) {
	word := strings.NewReplacer(" ", "_", "-", "_", "/", "").Replace(strings.ToLower(strings.TrimSpace(s)))
	switch word {
	case "met":
		return judge.Met, nil, nil
	case "not_met", "unmet":
		return judge.NotMet, nil, nil
	case "not_applicable", "na":
		return judge.NotApplicable, nil, nil
	case "unclear":
		return judge.Unclear, nil, nil
	case "yes":
		return judge.Scored, new(1.0), nil
	case "no":
		return judge.Scored, new(0.0), nil
	}
	if f, err := strconv.ParseFloat(strings.Replace(word, ",", ".", 1), 64); err == nil {
		if f != 0 && f != 0.25 && f != 0.5 && f != 0.75 && f != 1 {
			return "", nil, fmt.Errorf("score %v: want 1, 0.75, 0.5, 0.25 or 0", f)
		}
		return judge.Scored, new(f + 0), nil // + 0: -0 is 0
	}
	return "", nil, fmt.Errorf("verdict %q: want met, not_met, not_applicable, unclear or a score", exports.Cut(s, 40))
}

func (c *collector) sorted() []Label {
	keys := slices.SortedFunc(maps.Keys(c.labels), func(a, b question) int {
		return cmp.Or(strings.Compare(a.run, b.run), strings.Compare(a.subject, b.subject), strings.Compare(a.criterion, b.criterion), strings.Compare(a.labeller, b.labeller), cmp.Compare(a.line, b.line))
	})
	out := make([]Label, 0, len(keys))
	for _, k := range keys {
		out = append(out, c.labels[k])
	}
	return out
}
