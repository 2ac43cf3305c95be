package pipeline

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
)

// label is what a person said of one criterion of one session.
type label struct {
	Session   string `json:"session"` // its key or its id
	Criterion string `json:"criterion"`
	Verdict   string `json:"verdict"` // met, not_met, not_applicable, unclear
	Labeller  string `json:"labeller,omitempty"`
}

// labelVerdicts are the categories of an agreement table, in its order.
var labelVerdicts = []string{string(judge.Met), string(judge.NotMet), string(judge.NotApplicable), string(judge.Unclear)}

const (
	maxLabelBytes = 64 << 20
	maxLabelLine  = 1 << 20
)

// readLabels reads a file of labels: CSV with a header when it ends in .csv, JSON lines otherwise.
func readLabels(path string) ([]label, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usagef("--labels: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxLabelBytes+1))
	if err != nil {
		return nil, usagef("--labels: %w", err)
	}
	if len(data) > maxLabelBytes {
		return nil, usagef("--labels %s: larger than %d MiB", path, maxLabelBytes>>20)
	}
	parse := parseLabelLines
	if strings.HasSuffix(strings.ToLower(path), ".csv") {
		parse = parseLabelCSV
	}
	labels, err := parse(data)
	if err != nil {
		return nil, usagef("--labels %s: %w", path, err)
	}
	return labels, nil
}

func parseLabelLines(data []byte) ([]label, error) {
	var out []label
	sc := bufio.NewScanner(bytes.NewReader(data))
	sc.Buffer(nil, maxLabelLine)
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(line))
		var l label
		if err := d.Decode(&l); err != nil {
			return nil, fmt.Errorf("line %d: want {\"session\":…, \"criterion\":…, \"verdict\":…}: %w", n, err)
		}
		if err := l.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		out = append(out, l)
	}
	return out, sc.Err()
}

func parseLabelCSV(data []byte) ([]label, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	head, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("empty: want the header session,criterion,verdict")
	}
	if err != nil {
		return nil, err
	}
	column := map[string]int{}
	for i, name := range head {
		column[strings.ToLower(strings.TrimSpace(name))] = i
	}
	for _, name := range []string{"session", "criterion", "verdict"} {
		if _, ok := column[name]; !ok {
			return nil, fmt.Errorf("the header has no column %s: want session,criterion,verdict", name)
		}
	}
	var out []label
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		l := label{Session: row[column["session"]], Criterion: row[column["criterion"]], Verdict: row[column["verdict"]]}
		if i, ok := column["labeller"]; ok {
			l.Labeller = row[i]
		}
		if err := l.check(); err != nil {
			line, _ := r.FieldPos(0)
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		out = append(out, l)
	}
}

// check folds what people write for verdicts and refuses what is none.
func (l *label) check() error {
	l.Session, l.Criterion = strings.TrimSpace(l.Session), strings.TrimSpace(l.Criterion)
	l.Verdict = strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToLower(strings.TrimSpace(l.Verdict)))
	switch {
	case l.Session == "" || l.Criterion == "":
		return errors.New("session or criterion is missing")
	case !slices.Contains(labelVerdicts, l.Verdict):
		return fmt.Errorf("verdict %q: %s", printable(l.Verdict, 48), suggest(l.Verdict, labelVerdicts))
	}
	return nil
}
