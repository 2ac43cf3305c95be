package skillpackage

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
)

// Limits of an evaluation set.
const (
	maxPackageBytes = 4 << 20
	maxRows         = 50_000
)

// Columns of an evaluation set of AgentArts.
const (
	columnPackage = "skill_package"
	columnScore   = "score"
	columnReason  = "reason"
)

// Row is one row of an evaluation set: a package, and the columns beside it as they were.
type Row struct {
	Package evaluator.SkillPackage
	Extra   map[string]string
	Score   *float64 // nil: not evaluated
	Reason  string
}

// ParsePackage reads a skill_package: the JSON of AgentArts, or a string that holds it. Its manifest may be an object.
func ParsePackage(text string) (evaluator.SkillPackage, error) { return parsePackage(text, 0) }

// maxWrapped is how often a package may be wrapped: in a row, in a string, in both.
const maxWrapped = 4

func parsePackage(text string, wrapped int) (evaluator.SkillPackage, error) {
	if wrapped > maxWrapped {
		return evaluator.SkillPackage{}, fmt.Errorf("read skill_package: wrapped more than %d times", maxWrapped)
	}
	if len(text) > maxPackageBytes {
		return evaluator.SkillPackage{}, fmt.Errorf("read skill_package: %d bytes, at most %d are read", len(text), maxPackageBytes)
	}
	var fields struct {
		Name     string          `json:"skill_name"`
		Manifest json.RawMessage `json:"skill_manifest"`
		Body     string          `json:"instruction_body"`
		Task     string          `json:"task_description"`
		Package  json.RawMessage `json:"skill_package"`
	}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		var inner string
		if json.Unmarshal([]byte(text), &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") {
			return parsePackage(inner, wrapped+1)
		}
		return evaluator.SkillPackage{}, fmt.Errorf("read skill_package: %w", err)
	}
	if fields.Package != nil && fields.Name == "" && fields.Body == "" {
		return parsePackage(string(fields.Package), wrapped+1)
	}
	p := evaluator.SkillPackage{Name: fields.Name, Body: fields.Body, Task: fields.Task}
	if m := bytes.TrimSpace(fields.Manifest); len(m) > 0 && !bytes.Equal(m, []byte("null")) {
		if json.Unmarshal(m, &p.Manifest) != nil {
			canonical, err := judge.CanonicalJSON(fields.Manifest)
			if err != nil {
				return evaluator.SkillPackage{}, fmt.Errorf("read skill_package: manifest: %w", err)
			}
			p.Manifest = string(canonical)
		}
	}
	if strings.TrimSpace(p.Name+p.Manifest+p.Body) == "" {
		return evaluator.SkillPackage{}, errors.New("read skill_package: none of skill_name, skill_manifest and instruction_body is there")
	}
	return p, nil
}

// FormatPackage writes a skill_package: the keys of AgentArts only, in its order. Files beside the skill have no place in it.
func FormatPackage(p evaluator.SkillPackage) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(struct {
		Name     string `json:"skill_name"`
		Manifest string `json:"skill_manifest"`
		Body     string `json:"instruction_body"`
		Task     string `json:"task_description"`
	}{p.Name, p.Manifest, p.Body, p.Task})
	if err != nil {
		return "", fmt.Errorf("write skill_package: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// ReadJSONL reads an evaluation set with one JSON object a line. Errors name the line.
func ReadJSONL(r io.Reader) ([]Row, error) {
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 64<<10), maxPackageBytes)
	var out []Row
	line := 0
	for scan.Scan() {
		line++
		text := bytes.TrimSpace(bytes.TrimPrefix(scan.Bytes(), []byte("\ufeff")))
		if len(text) == 0 {
			continue
		}
		if len(out) == maxRows {
			return nil, fmt.Errorf("read evaluation set: more than %d rows", maxRows)
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(text, &fields); err != nil {
			return nil, fmt.Errorf("read evaluation set: line %d: %w", line, err)
		}
		columns := make(map[string]string, len(fields))
		for name, raw := range fields {
			var s string
			if json.Unmarshal(raw, &s) != nil {
				s = string(raw)
			}
			columns[name] = s
		}
		row, err := newRow(columns)
		if err != nil {
			return nil, fmt.Errorf("read evaluation set: line %d: %w", line, err)
		}
		out = append(out, row)
	}
	if err := scan.Err(); err != nil {
		return nil, fmt.Errorf("read evaluation set: line %d: %w", line+1, err)
	}
	return out, nil
}

// ReadCSV reads an evaluation set in CSV with a header. Errors name the line.
func ReadCSV(r io.Reader) ([]Row, error) {
	in := csv.NewReader(r)
	in.ReuseRecord = true
	first, err := in.Read()
	if err != nil {
		return nil, fmt.Errorf("read evaluation set: header: %w", err)
	}
	header := slices.Clone(first)
	header[0] = strings.TrimPrefix(header[0], "\ufeff")
	if !slices.Contains(header, columnPackage) {
		return nil, fmt.Errorf("read evaluation set: the header has no column %s, but %s", columnPackage, strings.Join(header, ", "))
	}
	var out []Row
	for {
		record, err := in.Read()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		line, _ := in.FieldPos(0)
		if err != nil {
			return nil, fmt.Errorf("read evaluation set: %w", err)
		}
		if len(out) == maxRows {
			return nil, fmt.Errorf("read evaluation set: more than %d rows", maxRows)
		}
		columns := make(map[string]string, len(header))
		for i, name := range header {
			columns[name] = record[i]
		}
		row, err := newRow(columns)
		if err != nil {
			return nil, fmt.Errorf("read evaluation set: line %d: %w", line, err)
		}
		out = append(out, row)
	}
}

func newRow(columns map[string]string) (Row, error) {
	text, ok := columns[columnPackage]
	if !ok {
		return Row{}, fmt.Errorf("no column %s", columnPackage)
	}
	p, err := ParsePackage(text)
	if err != nil {
		return Row{}, err
	}
	row := Row{Package: p, Extra: map[string]string{}, Reason: columns[columnReason]}
	if s, err := strconv.ParseFloat(columns[columnScore], 64); err == nil && s >= 0 && s <= 1 {
		row.Score = &s
	}
	for name, value := range columns {
		if name != columnPackage && name != columnScore && name != columnReason {
			row.Extra[name] = value
		}
	}
	return row, nil
}

// Take puts an answer into the row. An answer without a score leaves the score empty: AgentArts has no word for it, so the
// reason says it.
func (r *Row) Take(a judge.Answer) {
	r.Score, r.Reason = a.Score, a.Explanation
	if a.Score == nil {
		r.Reason = strings.TrimSpace(a.Label + ": " + a.Explanation)
	}
}

// table is the header and the records of rows: the package, the other columns by name, and the result where there is one.
func table(rows []Row) (header []string, records [][]string, err error) {
	extra := map[string]bool{}
	judged := false
	for _, r := range rows {
		for name := range r.Extra {
			extra[name] = true
		}
		judged = judged || r.Score != nil || r.Reason != ""
	}
	others := slices.Sorted(maps.Keys(extra))
	header = append([]string{columnPackage}, others...)
	if judged {
		header = append(header, columnScore, columnReason)
	}
	for _, r := range rows {
		p, err := FormatPackage(r.Package)
		if err != nil {
			return nil, nil, err
		}
		record := []string{p}
		for _, name := range others {
			record = append(record, r.Extra[name])
		}
		if judged {
			score := ""
			if r.Score != nil {
				score = strconv.FormatFloat(*r.Score, 'f', -1, 64)
			}
			record = append(record, score, r.Reason)
		}
		records = append(records, record)
	}
	return header, records, nil
}

// WriteCSV writes an evaluation set. A judge's reason that a spreadsheet would take for a formula is made text.
func WriteCSV(w io.Writer, rows []Row) error {
	header, records, err := table(rows)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	records = append([][]string{header}, records...)
	for i, r := range records {
		if last := len(r) - 1; i > 0 && header[last] == columnReason && r[last] != "" && strings.ContainsRune("=+-@\t\r", rune(r[last][0])) {
			r[last] = "'" + r[last]
		}
		if err := out.Write(r); err != nil {
			return fmt.Errorf("write evaluation set: %w", err)
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("write evaluation set: %w", err)
	}
	return nil
}

// WriteJSONL writes an evaluation set with one JSON object a line; the score is a number or null.
func WriteJSONL(w io.Writer, rows []Row) error {
	header, records, err := table(rows)
	if err != nil {
		return err
	}
	for i, r := range records {
		object := make(map[string]any, len(header))
		for c, name := range header {
			object[name] = r[c]
		}
		if _, judged := object[columnScore]; judged {
			object[columnScore] = rows[i].Score
		}
		b, err := judge.CanonicalJSON(object)
		if err != nil {
			return fmt.Errorf("write evaluation set: row %d: %w", i+1, err)
		}
		if _, err := w.Write(append(b, '\n')); err != nil {
			return fmt.Errorf("write evaluation set: %w", err)
		}
	}
	return nil
}
