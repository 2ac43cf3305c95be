package exports

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tracejury/tracejury/schema"
)

// ManifestVersion is the version of manifest.json's form.
const ManifestVersion = 1

// Manifest is the content of manifest.json: what an export holds, where it comes from and what it could not hold.
type Manifest struct {
	ManifestVersion int               `json:"manifest_version"`
	SchemaVersion   int               `json:"schema_version"`
	AsOf            time.Time         `json:"as_of"`
	RunID           string            `json:"run_id"`
	Evaluator       string            `json:"evaluator"`
	State           string            `json:"state"`
	Rubric          string            `json:"rubric"`
	RubricVersion   int               `json:"rubric_version"`
	RubricSHA256    string            `json:"rubric_sha256"`
	JudgeModels     []string          `json:"judge_models"`
	JudgeMode       string            `json:"judge_mode"`
	Offline         bool              `json:"offline"` // the verdicts come from code, not from a model
	PromptSHA256    string            `json:"prompt_sha256"`
	Calibration     string            `json:"calibration"`
	Informational   bool              `json:"informational"` // not calibrated: do not decide by it
	Explanations    bool              `json:"explanations"`
	Sampled         int               `json:"sampled"`
	Graded          int               `json:"graded"`
	Ungraded        int               `json:"ungraded"`
	NotAttempted    int               `json:"not_attempted"`    // left by a budget stop or an interrupt
	Files           []ManifestFile    `json:"files"`            // all but manifest.json, by path
	Suite           *ManifestSuite    `json:"suite,omitempty"`  // whose tasks are in the files
	Tools           *ManifestTools    `json:"tools,omitempty"`  // whose grades are in the files
	Parts           []ManifestPart    `json:"parts,omitempty"`  // what other evaluators of the run found
	Strata          []ManifestStratum `json:"strata,omitempty"` // services of which the sample was drawn, each by itself
	Losses          map[string][]Loss `json:"losses"`
}

// ManifestStratum is one service of a sample that was drawn of each by itself: a graded session stands for eligible/attempted.
type ManifestStratum struct {
	Service   string `json:"service"`
	Eligible  int    `json:"eligible"`
	Attempted int    `json:"attempted"`
}

// ManifestPart is one further evaluator of the run.
type ManifestPart struct {
	Evaluator     string `json:"evaluator"`
	Kind          string `json:"kind"`
	State         string `json:"state"`
	Rubric        string `json:"rubric"`
	RubricVersion int    `json:"rubric_version"`
	RubricSHA256  string `json:"rubric_sha256"`
	Graded        int    `json:"graded"`
	Ungraded      int    `json:"ungraded"`
}

// ManifestSuite names the suite of an export.
type ManifestSuite struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	SHA256  string `json:"sha256"`
	Tasks   int    `json:"tasks"`
}

// ManifestTools names the run that graded the tools of an export; its fields are empty where nobody did.
type ManifestTools struct {
	RunID         string `json:"run_id"`
	Rubric        string `json:"rubric"`
	RubricVersion int    `json:"rubric_version"`
	RubricSHA256  string `json:"rubric_sha256"`
}

var safePath = regexp.MustCompile(`^[a-z0-9_]+(/[a-z0-9_.-]+)?$|^[a-z0-9_.-]+$`)

// Write writes the files of all targets, criteria.json (and criteria_tools.json), which lose nothing of the rubrics, and manifest.json last. It returns
// every file, manifest.json included, by path.
func Write(ctx context.Context, in *Input, targets []Target, sink Sink) ([]ManifestFile, error) {
	if err := in.Check(); err != nil { // whoever forgot a target's own Check must not let a sealed suite out
		return nil, err
	}
	m := Manifest{ManifestVersion: ManifestVersion, SchemaVersion: schema.Version, AsOf: in.AsOf.UTC(), RunID: in.Run.RunID, Evaluator: in.Run.Evaluator,
		State: in.Run.State, Rubric: in.Rubric.Name, RubricVersion: in.Rubric.Version, RubricSHA256: in.Run.RubricSHA256, JudgeModels: masked(in, in.Run.JudgeModels),
		JudgeMode: in.Run.JudgeMode, Offline: in.Run.Offline, PromptSHA256: in.Run.PromptSHA256, Calibration: in.Run.Calibration,
		Informational: in.Run.Calibration != "passed", Explanations: in.WithExplanations, Sampled: int(in.Run.Sampled), Graded: int(in.Run.Graded),
		Ungraded: int(in.Run.Ungraded), NotAttempted: int(in.Run.NotAttempted), Losses: map[string][]Loss{}}
	switch {
	case !in.HasRubric():
		m.RubricSHA256 = "" // that of a part stands beside it
	case m.RubricSHA256 == "":
		m.RubricSHA256 = in.Rubric.SHA256()
	}
	m.name(in)
	for i, service := range in.Run.Strata {
		if i < len(in.Run.StrataEligible) && i < len(in.Run.StrataAttempted) {
			m.Strata = append(m.Strata, ManifestStratum{Service: in.Text(service, 256), Eligible: int(in.Run.StrataEligible[i]), Attempted: int(in.Run.StrataAttempted[i])})
		}
	}
	for _, g := range in.Graded() {
		if g.IsPart() {
			m.Parts = append(m.Parts, ManifestPart{Evaluator: g.Run.Evaluator, Kind: g.Run.Kind, State: g.Run.State, Rubric: g.Rubric.Name, RubricVersion: g.Rubric.Version,
				RubricSHA256: g.Run.RubricSHA256, Graded: int(g.Run.Graded), Ungraded: int(g.Run.Ungraded)})
		}
	}
	count := &countingSink{next: sink}
	for _, t := range targets {
		count.target = t.Name()
		if err := t.Files(ctx, in, count); err != nil {
			return nil, fmt.Errorf("export %s: %w", t.Name(), err)
		}
		if l := Losses(t, in, count.files); len(l) > 0 {
			m.Losses[t.Name()] = l
		}
	}
	count.target = ""
	if in.HasRubric() {
		if err := WriteJSON(count, "criteria.json", in.Rubric); err != nil {
			return nil, err
		}
	}
	for _, g := range in.Graded() {
		if !g.IsPart() {
			continue
		}
		if err := WriteJSON(count, g.File("criteria.json"), g.Rubric); err != nil {
			return nil, err
		}
	}
	if in.Tools != nil && in.Tools.RunID != "" {
		if err := WriteJSON(count, "criteria_tools.json", in.Tools.Rubric); err != nil {
			return nil, err
		}
	}
	if in.Packages != nil {
		if err := WriteJSON(count, "criteria_packages.json", in.Packages.Rubric); err != nil {
			return nil, err
		}
	}
	m.Files = count.files
	slices.SortFunc(m.Files, func(a, b ManifestFile) int { return strings.Compare(a.Path, b.Path) })
	all := slices.Clone(m.Files)
	count.files = nil
	if err := WriteJSON(count, "manifest.json", m); err != nil {
		return nil, err
	}
	all = append(all, count.files...)
	slices.SortFunc(all, func(a, b ManifestFile) int { return cmp.Or(strings.Compare(a.Path, b.Path)) })
	return all, nil
}

// name names the suite and the run of tools.
func (m *Manifest) name(in *Input) {
	if s := in.Suite; s != nil {
		m.Suite = &ManifestSuite{Name: s.Name, Version: s.Version, SHA256: s.SHA256(), Tasks: len(s.Tasks)}
	}
	if t := in.Tools; t != nil {
		m.Tools = &ManifestTools{RunID: t.RunID}
		if t.RunID != "" {
			m.Tools.Rubric, m.Tools.RubricVersion, m.Tools.RubricSHA256 = t.Rubric.Name, t.Rubric.Version, t.Rubric.SHA256()
		}
	}
}

// JSON encodes v in one line with no HTML escapes: fields in the order of the struct, map keys sorted.
func JSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// ReadStrict decodes one JSON value of a file that an export wrote; an unknown field or a second value is an error.
func ReadStrict(name string, data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return fmt.Errorf("read %s: more than one value", name)
	}
	return nil
}

// WriteFile creates a file with the given content.
func WriteFile(sink Sink, name string, data []byte) error {
	w, err := sink.Create(name)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	_, err = w.Write(data)
	if cerr := w.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// countingSink notes size, lines and hash of what passes through.
type countingSink struct {
	next    Sink
	target  string
	files   []ManifestFile
	created []string
}

// Create implements Sink. A path that is not safe on every system is a bug of a target, and refused.
func (s *countingSink) Create(name string) (io.WriteCloser, error) {
	if !safePath.MatchString(name) || path.Clean(name) != name || !filepath.IsLocal(name) || name == "." {
		return nil, fmt.Errorf("path %q is not of the safe form", name)
	}
	if slices.Contains(s.created, name) {
		return nil, fmt.Errorf("path %q is written twice", name)
	}
	w, err := s.next.Create(name)
	if err != nil {
		return nil, err
	}
	s.created = append(s.created, name)
	return &countingFile{sink: s, w: w, sum: sha256.New(), file: ManifestFile{Path: name, Target: s.target}}, nil
}

type countingFile struct {
	sink *countingSink
	w    io.WriteCloser
	sum  hash.Hash
	file ManifestFile
}

func (f *countingFile) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	f.sum.Write(p[:n])
	f.file.Bytes += int64(n)
	f.file.Lines += int64(bytes.Count(p[:n], []byte("\n")))
	return n, err
}

func (f *countingFile) Close() error {
	f.file.SHA256 = hex.EncodeToString(f.sum.Sum(nil))
	f.sink.files = append(f.sink.files, f.file)
	return f.w.Close()
}
