package agentcore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge/suite"
)

// The files of a suite's tasks. A dataset takes maxExamples: what is over goes into dataset_2.jsonl and so on.
const (
	DatasetFile        = "agentcore/dataset.jsonl"
	DatasetRequestFile = "agentcore/dataset_request.json"
)

// Limits of datasets.
const (
	maxExamples     = 1000
	maxExampleBytes = 1_000_000
	maxRequestBytes = 4_500_000 // about 5 MB are taken
)

const predefined = "AGENTCORE_EVALUATION_PREDEFINED_V1"

// scenario is one line of DatasetFile.
type scenario struct {
	ScenarioID string            `json:"scenario_id"`
	Turns      []turn            `json:"turns"`
	Trajectory []string          `json:"expected_trajectory,omitempty"`
	Assertions []string          `json:"assertions,omitempty"`
	Metadata   map[string]string `json:"metadata"`
}

type turn struct {
	Input            string `json:"input"`
	ExpectedResponse string `json:"expected_response,omitempty"`
}

// datasetRequest is the body of CreateDataset. Without a source its examples go inline, in as many calls as they need.
type datasetRequest struct {
	DatasetName string            `json:"datasetName"`
	Description string            `json:"description"`
	SchemaType  string            `json:"schemaType"`
	ClientToken string            `json:"clientToken"`
	Tags        map[string]string `json:"tags"`
	Source      *datasetSource    `json:"source,omitempty"`
}

type datasetSource struct {
	S3 s3Source `json:"s3Source"`
}

type s3Source struct {
	URI string `json:"s3Uri"`
}

var (
	// datasetPlace is where the lines of datasets may lie: a bucket and a folder in it.
	datasetPlace = regexp.MustCompile(`^s3://[a-z0-9][a-z0-9.\-]{1,61}[a-z0-9](/[A-Za-z0-9!_.*'()/-]{0,900})?$`)
	datasetURI   = regexp.MustCompile(`^s3://([a-z0-9][a-z0-9.\-]{1,61}[a-z0-9])/(.{1,1000})$`)
)

// dataset is one dataset of a suite: its lines and its request.
type dataset struct {
	file, requestFile string
	lines             [][]byte // without newlines
	request           datasetRequest
}

// datasets are the suite's tasks, at most maxExamples in each.
func (t Target) datasets(in *exports.Input) ([]dataset, error) {
	if in.Suite == nil {
		return nil, nil
	}
	var out []dataset
	for from := 0; from < len(in.Suite.Tasks); from += maxExamples {
		d, err := t.newDataset(in, len(out)+1, in.Suite.Tasks[from:min(from+maxExamples, len(in.Suite.Tasks))])
		if err != nil {
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

func (t Target) newDataset(in *exports.Input, n int, tasks []suite.Task) (dataset, error) {
	s := in.Suite
	end := fmt.Sprintf("_v%d", s.Version)
	d := dataset{file: numbered(DatasetFile, n), requestFile: numbered(DatasetRequestFile, n)}
	if n > 1 {
		end += "_" + strconv.Itoa(n)
	}
	sum := sha256.New()
	for i := range tasks {
		line, err := exports.JSON(newScenario(in, &tasks[i]))
		if err != nil {
			return d, fmt.Errorf("encode %s: %w", d.file, err)
		}
		if len(line) > maxExampleBytes {
			return d, exports.Refuse(d.file, "task "+tasks[i].ID, "%d bytes: at most %d are allowed", len(line), maxExampleBytes)
		}
		sum.Write(append(line, '\n'))
		d.lines = append(d.lines, line)
	}
	content := hex.EncodeToString(sum.Sum(nil))
	d.request = datasetRequest{DatasetName: boundedName("tracejury_"+s.Name, end), SchemaType: predefined,
		Description: in.Text(oneLine(fmt.Sprintf("%s (version %d)", s.Title, s.Version)), maxDescription),
		Tags:        map[string]string{"tracejury.suite": s.Name, "tracejury.suite_version": strconv.Itoa(s.Version), "tracejury.content_sha256": content}}
	if t.DatasetS3 != "" {
		d.request.Source = &datasetSource{s3Source{strings.TrimSuffix(t.DatasetS3, "/") + "/" + d.request.DatasetName + "-" + content[:16] + ".jsonl"}}
	}
	data, err := exports.JSON(d.request)
	if err != nil {
		return d, fmt.Errorf("encode %s: %w", d.requestFile, err)
	}
	d.request.ClientToken = token("dataset", string(data))
	return d, nil
}

// newScenario maps a task. Its assertions feed the goal evaluators, its reference the correctness ones.
func newScenario(in *exports.Input, t *suite.Task) *scenario {
	m := in.Task(t)
	s := &scenario{ScenarioID: m.ID, Turns: []turn{{Input: m.Prompt, ExpectedResponse: m.Reference}}, Trajectory: m.ExpectedTools, Assertions: m.ItemTexts(),
		Metadata: map[string]string{"kind": m.Kind, "suite": in.Suite.Name}}
	if m.Category != "" {
		s.Metadata["category"] = m.Category
	}
	return s
}

// numbered is the name of the nth file of a kind: file.jsonl, file_2.jsonl.
func numbered(file string, n int) string {
	if n == 1 {
		return file
	}
	stem, ext, _ := strings.Cut(file, ".")
	return stem + "_" + strconv.Itoa(n) + "." + ext
}

// check holds a request against the rules that the SDK does not know.
func (r *datasetRequest) check(file string) error {
	switch {
	case !namePattern.MatchString(r.DatasetName):
		return exports.Refuse(file, "datasetName", "%q: want a letter and up to 47 letters, digits and underscores", exports.Cut(r.DatasetName, 100))
	case !length(r.Description, 1, maxDescription):
		return exports.Refuse(file, "description", "want 1 to %d characters", maxDescription)
	case r.SchemaType != predefined:
		return exports.Refuse(file, "schemaType", "%q: want %s", exports.Cut(r.SchemaType, 100), predefined)
	case len(r.ClientToken) < minToken || len(r.ClientToken) > maxToken || !tokenPattern.MatchString(r.ClientToken):
		return exports.Refuse(file, "clientToken", "%q: want %d to %d letters, digits and inner hyphens", r.ClientToken, minToken, maxToken)
	case r.Source != nil && !datasetURI.MatchString(r.Source.S3.URI):
		return exports.Refuse(file, "source.s3Source.s3Uri", "%q: want s3://bucket/key", exports.Cut(r.Source.S3.URI, 100))
	}
	return checkTags(file, r.Tags)
}

// check holds a scenario against the form of predefined datasets.
func (s *scenario) check(file, field string) error {
	switch {
	case s.ScenarioID == "":
		return exports.Refuse(file, field+".scenario_id", "want at least one character")
	case len(s.Turns) == 0 || strings.TrimSpace(s.Turns[0].Input) == "":
		return exports.Refuse(file, field+".turns", "want at least one, with an input")
	}
	return nil
}

func (t Target) checkDatasets(in *exports.Input) error {
	if t.DatasetS3 != "" && !datasetPlace.MatchString(t.DatasetS3) {
		return exports.Refuse(DatasetRequestFile, "source.s3Source.s3Uri", "%q: want s3://bucket or s3://bucket/folder", exports.Cut(t.DatasetS3, 100))
	}
	all, err := t.datasets(in)
	if err != nil {
		return err
	}
	for i := range all {
		if err := all[i].request.check(all[i].requestFile); err != nil {
			return err
		}
	}
	return nil
}

func (t Target) writeDatasets(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	all, err := t.datasets(in)
	if err != nil {
		return err
	}
	for i := range all {
		d := &all[i]
		if err := ctx.Err(); err != nil {
			return err
		}
		var data []byte
		for _, line := range d.lines {
			data = append(append(data, line...), '\n')
		}
		if err := exports.WriteFile(sink, d.file, data); err != nil {
			return err
		}
		if err := exports.WriteJSON(sink, d.requestFile, &d.request); err != nil {
			return err
		}
	}
	return nil
}
