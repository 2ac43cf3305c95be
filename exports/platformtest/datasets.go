package platformtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AWSDataset is one that the account has.
type AWSDataset struct {
	ID, Name, Description, Status string
	Tags                          map[string]string
	Examples                      []map[string]any   // the draft's, each with its exampleId
	Versions                      [][]map[string]any // what was published
	changes, polls, minted        int
}

var (
	s3Place  = regexp.MustCompile(`^s3://([a-z0-9][a-z0-9.\-]{1,61}[a-z0-9])/(.+)$`)
	scenario = map[string]bool{"scenario_id": true, "turns": true, "expected_trajectory": true, "assertions": true, "metadata": true}
)

type source struct {
	Inline *struct {
		Examples []map[string]any `json:"examples"`
	} `json:"inlineExamples"`
	S3 *struct {
		URI string `json:"s3Uri"`
	} `json:"s3Source"`
}

// datasets answers the calls below /datasets.
func (s *AWS) datasets(r *http.Request, body []byte) (int, any, http.Header) {
	if len(body) > 5_000_000 {
		return refuse(http.StatusBadRequest, "ValidationException", "%d bytes", len(body))
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	call := r.Method + " " + strings.Join(parts[min(2, len(parts)):], "/")
	if len(parts) == 1 {
		switch r.Method {
		case http.MethodPost:
			return s.createDataset(body)
		case http.MethodGet:
			return s.listDatasets(r)
		}
	}
	var d *AWSDataset
	if len(parts) > 1 {
		d = s.Datasets[parts[1]]
	}
	if d == nil {
		return refuse(http.StatusNotFound, "ResourceNotFoundException", "no dataset")
	}
	switch call {
	case "GET ":
		if d.Status == "CREATING" || d.Status == "UPDATING" {
			if d.polls--; d.polls <= 0 {
				d.Status = "ACTIVE"
			}
		}
		draft := "MODIFIED"
		if n := len(d.Versions); n > 0 && reflect.DeepEqual(d.Versions[n-1], d.Examples) {
			draft = "UNMODIFIED"
		}
		return http.StatusOK, map[string]any{"datasetArn": "arn:" + d.ID, "datasetId": d.ID, "datasetName": d.Name, "datasetVersion": "DRAFT", "exampleCount": len(d.Examples), "status": d.Status,
			"schemaType": "AGENTCORE_EVALUATION_PREDEFINED_V1", "draftStatus": draft, "createdAt": 1, "updatedAt": 1 + d.changes, "description": d.Description}, nil
	case "GET examples":
		return s.listExamples(r, d)
	case "POST examples/add", "POST examples/update", "POST versions":
		return s.changeDataset(strings.TrimPrefix(call, "POST "), d, body)
	}
	return refuse(http.StatusBadRequest, "ValidationException", "no such call: %s %s", r.Method, r.URL.Path)
}

func (s *AWS) createDataset(body []byte) (int, any, http.Header) {
	var in struct {
		DatasetName string            `json:"datasetName"`
		Description string            `json:"description"`
		SchemaType  string            `json:"schemaType"`
		ClientToken string            `json:"clientToken"`
		Tags        map[string]string `json:"tags"`
		Source      source            `json:"source"`
	}
	bad := func(format string, args ...any) (int, any, http.Header) {
		return refuse(http.StatusBadRequest, "ValidationException", format, args...)
	}
	if err := decode(body, &in); err != nil {
		return bad("%v", err)
	}
	if !evaluatorName.MatchString(in.DatasetName) || utf8.RuneCountInString(in.Description) > 200 || in.SchemaType != "AGENTCORE_EVALUATION_PREDEFINED_V1" ||
		len(in.ClientToken) < 33 || !clientToken.MatchString(in.ClientToken) || len(in.Tags) > 50 {
		return bad("name, description, schema type, token or tags")
	}
	answer := func(d *AWSDataset) (int, any, http.Header) {
		return http.StatusAccepted, map[string]any{"datasetArn": "arn:" + d.ID, "datasetId": d.ID, "createdAt": 1, "status": d.Status}, nil
	}
	if id, ok := s.tokens[in.ClientToken]; ok && s.Datasets[id] != nil {
		return answer(s.Datasets[id])
	}
	for _, d := range s.Datasets {
		if strings.EqualFold(d.Name, in.DatasetName) {
			return refuse(http.StatusConflict, "ConflictException", "a dataset named %s exists", d.Name)
		}
	}
	examples, err := s.examples(&in.Source)
	if err != nil {
		return bad("%v", err)
	}
	d := &AWSDataset{ID: fmt.Sprintf("%s-%010d", in.DatasetName, len(s.tokens)), Name: in.DatasetName, Description: in.Description, Tags: in.Tags, Status: "CREATING", polls: s.PollsToActive}
	if err := d.add(examples); err != nil {
		return refuse(http.StatusPaymentRequired, "ServiceQuotaExceededException", "%v", err)
	}
	s.Datasets[d.ID], s.tokens[in.ClientToken] = d, d.ID
	return answer(d)
}

// examples reads a source: the lines of an object, or what stands inside.
func (s *AWS) examples(in *source) ([]map[string]any, error) {
	if (in.Inline == nil) == (in.S3 == nil) {
		return nil, fmt.Errorf("source: want one of two")
	}
	var out []map[string]any
	if in.Inline != nil {
		out = in.Inline.Examples
	} else {
		m := s3Place.FindStringSubmatch(in.S3.URI)
		if m == nil || s.Objects[m[1]+"/"+m[2]] == nil {
			return nil, fmt.Errorf("no object at %s", in.S3.URI)
		}
		for line := range bytes.Lines(s.Objects[m[1]+"/"+m[2]]) {
			var v map[string]any
			if err := json.Unmarshal(line, &v); err != nil {
				return nil, err
			}
			out = append(out, v)
		}
	}
	if len(out) == 0 || len(out) > 1000 {
		return nil, fmt.Errorf("%d examples", len(out))
	}
	for _, e := range out {
		if err := checkScenario(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func checkScenario(e map[string]any) error {
	for k := range e {
		if !scenario[k] {
			return fmt.Errorf("unknown member %s", k)
		}
	}
	id, _ := e["scenario_id"].(string)
	turns, _ := e["turns"].([]any)
	if id == "" || len(turns) == 0 {
		return fmt.Errorf("scenario %q: id and turns are required", id)
	}
	for _, t := range turns {
		turn, _ := t.(map[string]any)
		if text, _ := turn["input"].(string); text == "" {
			return fmt.Errorf("scenario %q: a turn without input", id)
		}
		for k, v := range turn {
			if _, text := v.(string); !text || k != "input" && k != "expected_response" {
				return fmt.Errorf("scenario %q: turn member %s", id, k)
			}
		}
	}
	return nil
}

func (d *AWSDataset) add(list []map[string]any) error {
	if len(d.Examples)+len(list) > 1000 {
		return fmt.Errorf("%d examples in one dataset", len(d.Examples)+len(list))
	}
	for _, e := range list {
		d.minted++
		e["exampleId"] = fmt.Sprintf("example-%d", d.minted)
		d.Examples = append(d.Examples, e)
	}
	return nil
}

func (s *AWS) changeDataset(what string, d *AWSDataset, body []byte) (int, any, http.Header) {
	var in struct {
		ClientToken string           `json:"clientToken"`
		Source      *source          `json:"source"`
		Examples    []map[string]any `json:"examples"`
	}
	bad := func(format string, args ...any) (int, any, http.Header) {
		return refuse(http.StatusBadRequest, "ValidationException", format, args...)
	}
	if err := decode(body, &in); err != nil {
		return bad("%v", err)
	}
	if len(in.ClientToken) < 33 || !clientToken.MatchString(in.ClientToken) || (in.Source != nil) != (what == "examples/add") || (in.Examples != nil) != (what == "examples/update") {
		return bad("%s: token or members", what)
	}
	answer := map[string]any{"datasetArn": "arn:" + d.ID, "datasetId": d.ID, "status": "UPDATING", "updatedAt": 1, "createdAt": 1, "datasetVersion": strconv.Itoa(len(d.Versions) + 1),
		"addedCount": 0, "updatedCount": 0, "exampleIds": []string{}}
	if s.tokens[in.ClientToken] == d.ID {
		return http.StatusAccepted, answer, nil
	}
	if d.Status == "CREATING" || d.Status == "UPDATING" {
		return refuse(http.StatusConflict, "ConflictException", "the dataset is %s", d.Status)
	}
	switch what {
	case "examples/add":
		list, err := s.examples(in.Source)
		if err != nil {
			return bad("%v", err)
		}
		if err := d.add(list); err != nil {
			return refuse(http.StatusPaymentRequired, "ServiceQuotaExceededException", "%v", err)
		}
	case "examples/update":
		for _, e := range in.Examples {
			id := e["exampleId"]
			delete(e, "exampleId")
			if err := checkScenario(e); err != nil {
				return bad("%v", err)
			}
			at := -1
			for i := range d.Examples {
				if d.Examples[i]["exampleId"] == id {
					at = i
				}
			}
			if at < 0 {
				return bad("no example %v", id)
			}
			e["exampleId"] = id
			d.Examples[at] = e
		}
	default:
		d.Versions = append(d.Versions, append([]map[string]any(nil), d.Examples...))
	}
	s.tokens[in.ClientToken] = d.ID
	d.Status, d.polls = "UPDATING", s.PollsToActive
	d.changes++
	return http.StatusAccepted, answer, nil
}

// page cuts one page of n things.
func (s *AWS) page(r *http.Request, n int) (from, to int, next string) {
	from, _ = strconv.Atoi(r.URL.Query().Get("nextToken"))
	if to = min(n, from+s.PageSize); to < n {
		next = strconv.Itoa(to)
	}
	return min(from, n), to, next
}

func (s *AWS) listDatasets(r *http.Request) (int, any, http.Header) {
	var ids []string
	for id := range s.Datasets {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	from, to, next := s.page(r, len(ids))
	list := []any{}
	for _, id := range ids[from:to] {
		d := s.Datasets[id]
		list = append(list, map[string]any{"datasetArn": "arn:" + d.ID, "datasetId": d.ID, "datasetName": d.Name, "status": d.Status, "schemaType": "AGENTCORE_EVALUATION_PREDEFINED_V1",
			"exampleCount": len(d.Examples), "createdAt": 1, "updatedAt": 1})
	}
	return http.StatusOK, withNext(map[string]any{"datasets": list}, next), nil
}

func (s *AWS) listExamples(r *http.Request, d *AWSDataset) (int, any, http.Header) {
	from, to, next := s.page(r, len(d.Examples))
	list := append([]map[string]any{}, d.Examples[from:to]...)
	return http.StatusOK, withNext(map[string]any{"datasetArn": "arn:" + d.ID, "datasetId": d.ID, "datasetVersion": "DRAFT", "examples": list}, next), nil
}

func withNext(out map[string]any, next string) map[string]any {
	if next != "" {
		out["nextToken"] = next
	}
	return out
}

// putObject is PutObject of S3, path style.
func (s *AWS) putObject(r *http.Request, body []byte) (int, any, http.Header) {
	key := strings.TrimPrefix(r.URL.Path, "/")
	bucket, name, _ := strings.Cut(key, "/")
	if r.Method != http.MethodPut || r.URL.Query().Get("x-id") != "PutObject" || bucket == "" || name == "" {
		return http.StatusBadRequest, "<Error><Code>InvalidRequest</Code></Error>", http.Header{"Content-Type": {"application/xml"}}
	}
	if s.Deny[bucket] {
		return http.StatusForbidden, "<Error><Code>AccessDenied</Code><Message>no</Message></Error>", http.Header{"Content-Type": {"application/xml"}}
	}
	s.Objects[key] = body
	return http.StatusOK, "", http.Header{"Etag": {`"e"`}}
}
