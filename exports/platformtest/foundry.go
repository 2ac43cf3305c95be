package platformtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The project of the Foundry server, and the token that it takes.
const (
	ProjectPath  = "/api/projects/helpdesk"
	FoundryToken = "entra-token-of-the-test"
	sasSignature = "c2FzLXNpZ25hdHVyZQ"
)

// Foundry is a project of Microsoft Foundry and the storage behind it.
type Foundry struct {
	Server
	// Lag is how often a list is asked for before it shows what is new. PageSize is of lists.
	Lag        int
	PageSize   int
	Evaluators map[string][]map[string]any // versions by name
	Datasets   map[string]map[string]Dataset
	Evals      []Eval

	blobs map[string][]byte // by address without signature
	lag   int
}

// Dataset is one version of a dataset.
type Dataset struct {
	ID   string
	Tags map[string]string
	Rows []byte
}

// Eval is an eval and its runs.
type Eval struct {
	ID       string            `json:"id"`
	Metadata map[string]string `json:"metadata"`
	Runs     []Run             `json:"-"`
	columns  map[string]json.RawMessage
}

// Run is a run of an eval.
type Run struct {
	ID       string            `json:"id"`
	Metadata map[string]string `json:"metadata"`
	Dataset  string            `json:"-"`
}

// NewFoundry starts the server.
func NewFoundry(t testing.TB) *Foundry {
	s := &Foundry{PageSize: 2, Evaluators: map[string][]map[string]any{}, Datasets: map[string]map[string]Dataset{}, blobs: map[string][]byte{}}
	s.start(t, func(status int, message string) (int, any) { return status, foundryError("%s", message) }, s.handle)
	return s
}

// SetLag sets how late lists show what is new.
func (s *Foundry) SetLag(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Lag, s.lag = n, 0
}

// Endpoint is the project's.
func (s *Foundry) Endpoint() string { return s.URL + ProjectPath }

func foundryError(format string, args ...any) any {
	return map[string]any{"error": map[string]string{"code": "error", "message": fmt.Sprintf(format, args...)}}
}

func no(status int, format string, args ...any) (int, any, http.Header) {
	return status, foundryError(format, args...), nil
}

var (
	foundryName   = regexp.MustCompile(`^[A-Za-z0-9_.~-]{1,256}$`)
	datasetName   = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)
	evaluatorPath = regexp.MustCompile(`^/evaluators/([^/]+)/versions(?:/([0-9]+))?$`)
	datasetPath   = regexp.MustCompile(`^/datasets/([^/]+)/versions(?:/([^/]+))?(/startPendingUpload)?$`)
	runsPath      = regexp.MustCompile(`^/openai/v1/evals/([^/]+)(/runs)?(?:/([^/]+))?$`)
)

func (s *Foundry) handle(r *http.Request, body []byte) (int, any, http.Header) {
	if strings.HasPrefix(r.URL.Path, "/blobs/") {
		return s.blob(r, body)
	}
	path, ok := strings.CutPrefix(r.URL.Path, ProjectPath)
	if !ok {
		return no(http.StatusNotFound, "no such project")
	}
	if r.Header.Get("Authorization") != "Bearer "+FoundryToken {
		return no(http.StatusUnauthorized, "not authorized: %s", r.Header.Get("Authorization"))
	}
	if openai := strings.HasPrefix(path, "/openai/v1/"); openai != (r.URL.Query().Get("api-version") == "") || !openai && r.URL.Query().Get("api-version") != "v1" {
		return no(http.StatusBadRequest, "api-version %q of %s", r.URL.Query().Get("api-version"), path)
	}
	kind := r.Header.Get("Content-Type")
	if want := map[string]string{http.MethodPost: "application/json", http.MethodPatch: "application/merge-patch+json"}[r.Method]; kind != want {
		return no(http.StatusUnsupportedMediaType, "%s with %q", r.Method, kind)
	}
	if m := evaluatorPath.FindStringSubmatch(path); m != nil {
		return s.evaluator(r, m[1], m[2], body)
	}
	if m := datasetPath.FindStringSubmatch(path); m != nil {
		return s.dataset(r, m[1], m[2], m[3] != "", body)
	}
	if path == "/openai/v1/evals" {
		return s.evals(r, body)
	}
	if m := runsPath.FindStringSubmatch(path); m != nil {
		i := slices.IndexFunc(s.Evals, func(e Eval) bool { return e.ID == m[1] })
		if i < 0 {
			return no(http.StatusNotFound, "no eval %s", m[1])
		}
		return s.runs(r, &s.Evals[i], m[2] != "", m[3], body)
	}
	return no(http.StatusNotFound, "no such call: %s %s", r.Method, path)
}

func (s *Foundry) evaluator(r *http.Request, name, version string, body []byte) (int, any, http.Header) {
	if !foundryName.MatchString(name) || strings.HasPrefix(name, "builtin.") {
		return no(http.StatusBadRequest, "name %q", name)
	}
	versions := s.Evaluators[name]
	if r.Method == http.MethodGet {
		if len(versions) == 0 {
			return no(http.StatusNotFound, "no evaluator %s", name)
		}
		if n, err := strconv.Atoi(version); err == nil {
			if n < 1 || n > len(versions) {
				return no(http.StatusNotFound, "no version %d", n)
			}
			return http.StatusOK, versions[n-1], nil
		}
		return s.page(r, "/evaluators/"+name+"/versions", versions)
	}
	if version != "" {
		return no(http.StatusNotFound, "no such call")
	}
	var in struct {
		DisplayName   string            `json:"display_name"`
		Description   string            `json:"description"`
		EvaluatorType string            `json:"evaluator_type"`
		Categories    []string          `json:"categories"`
		Levels        []string          `json:"supported_evaluation_levels"`
		Metadata      map[string]string `json:"metadata"`
		Definition    struct {
			Type          string   `json:"type"`
			PassThreshold *float64 `json:"pass_threshold"`
			Dimensions    []struct {
				ID               string  `json:"id"`
				Description      string  `json:"description"`
				Weight           float64 `json:"weight"`
				AlwaysApplicable bool    `json:"always_applicable"`
			} `json:"dimensions"`
		} `json:"definition"`
	}
	if err := decode(body, &in); err != nil {
		return no(http.StatusBadRequest, "%v", err)
	}
	if r.Method != http.MethodPost || in.EvaluatorType != "custom" || len(in.Categories) == 0 || in.Definition.Type != "rubric" || len(in.Definition.Dimensions) == 0 || len(in.Metadata) > 16 {
		return no(http.StatusBadRequest, "evaluator %+v", in)
	}
	for _, d := range in.Definition.Dimensions {
		if d.ID == "" || d.Description == "" || d.Weight < 1 || d.Weight > 10 {
			return no(http.StatusBadRequest, "dimension %+v", d)
		}
	}
	version = strconv.Itoa(len(versions) + 1)
	made := map[string]any{"id": "azureai://" + name + "/" + version, "name": name, "version": version, "metadata": in.Metadata}
	s.Evaluators[name] = append(versions, made)
	s.lag = s.Lag
	return http.StatusCreated, made, nil
}

// page answers a list of versions, the newest of them late.
func (s *Foundry) page(r *http.Request, path string, all []map[string]any) (int, any, http.Header) {
	if s.lag > 0 && len(all) > 0 {
		s.lag--
		all = all[:len(all)-1]
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("skip"))
	to := min(len(all), from+s.PageSize)
	out := map[string]any{"value": append([]map[string]any{}, all[min(from, to):to]...)}
	if to < len(all) {
		out["nextLink"] = s.Endpoint() + path + "?api-version=v1&skip=" + strconv.Itoa(to)
	}
	return http.StatusOK, out, nil
}

func (s *Foundry) dataset(r *http.Request, name, version string, pending bool, body []byte) (int, any, http.Header) {
	if !datasetName.MatchString(name) {
		return no(http.StatusBadRequest, "dataset name %q", name)
	}
	container := "/blobs/" + name + "-" + version
	switch {
	case r.Method == http.MethodGet && version == "":
		all := []map[string]any{}
		for n := 1; ; n++ {
			d, ok := s.Datasets[name][strconv.Itoa(n)]
			if !ok {
				break
			}
			all = append(all, map[string]any{"id": d.ID, "name": name, "version": strconv.Itoa(n), "tags": d.Tags, "type": "uri_file"})
		}
		return s.page(r, "/datasets/"+name+"/versions", all)
	case r.Method == http.MethodPost && pending:
		var in struct {
			PendingUploadType string `json:"pendingUploadType"`
		}
		if err := decode(body, &in); err != nil || in.PendingUploadType != "BlobReference" {
			return no(http.StatusBadRequest, "%s", body)
		}
		if _, ok := s.Datasets[name][version]; ok {
			return no(http.StatusConflict, "version %s exists", version)
		}
		return http.StatusOK, map[string]any{"pendingUploadId": "p1", "pendingUploadType": "BlobReference", "blobReference": map[string]any{"blobUri": s.URL + container, "storageAccountArmId": "/subscriptions/x",
			"credential": map[string]string{"type": "SAS", "sasUri": s.URL + container + "?sv=2024&sig=" + sasSignature}}}, nil
	case r.Method == http.MethodPatch && version != "" && !pending:
		var in struct {
			Type    string            `json:"type"`
			DataURI string            `json:"dataUri"`
			Tags    map[string]string `json:"tags"`
		}
		if err := decode(body, &in); err != nil || in.Type != "uri_file" {
			return no(http.StatusBadRequest, "%s", body)
		}
		address, ok := strings.CutPrefix(in.DataURI, s.URL)
		rows, uploaded := s.blobs[address]
		if !ok || !uploaded || !strings.HasPrefix(address, container+"/") {
			return no(http.StatusBadRequest, "dataUri %s was not uploaded", in.DataURI)
		}
		if old, ok := s.Datasets[name][version]; ok && !bytes.Equal(old.Rows, rows) {
			return no(http.StatusConflict, "version %s exists", version)
		}
		if s.Datasets[name] == nil {
			s.Datasets[name] = map[string]Dataset{}
		}
		s.lag = s.Lag
		d := Dataset{ID: "azureai://accounts/acme/projects/helpdesk/data/" + name + "/versions/" + version, Tags: in.Tags, Rows: rows}
		s.Datasets[name][version] = d
		return http.StatusOK, map[string]any{"id": d.ID, "name": name, "version": version, "type": "uri_file", "dataUri": in.DataURI, "tags": d.Tags}, nil
	}
	return no(http.StatusNotFound, "no such call: %s", r.Method)
}

func (s *Foundry) blob(r *http.Request, body []byte) (int, any, http.Header) {
	switch {
	case r.Method != http.MethodPut || r.Header.Get("X-Ms-Blob-Type") != "BlockBlob":
		return no(http.StatusBadRequest, "%s with blob type %q", r.Method, r.Header.Get("X-Ms-Blob-Type"))
	case r.Header.Get("Authorization") != "":
		return no(http.StatusBadRequest, "a token came to the storage")
	case r.URL.Query().Get("sig") != sasSignature:
		return no(http.StatusForbidden, "the signature does not match: %s", r.URL.RawQuery)
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(body, []byte("\n")), []byte("\n")) {
		if !json.Valid(line) || len(line) > 2<<20 {
			return no(http.StatusBadRequest, "row %d", i+1)
		}
	}
	s.blobs[r.URL.Path] = body
	return http.StatusCreated, nil, nil
}

func (s *Foundry) evals(r *http.Request, body []byte) (int, any, http.Header) {
	if r.Method == http.MethodGet {
		ids := make([]any, 0, len(s.Evals))
		for i := len(s.Evals) - 1; i >= 0; i-- {
			ids = append(ids, s.Evals[i])
		}
		return s.list(r, ids, func(i int) string { return ids[i].(Eval).ID })
	}
	var in struct {
		Name             string            `json:"name"`
		Metadata         map[string]string `json:"metadata"`
		DataSourceConfig struct {
			Type                string `json:"type"`
			IncludeSampleSchema bool   `json:"include_sample_schema"`
			ItemSchema          struct {
				Type       string                     `json:"type"`
				Properties map[string]json.RawMessage `json:"properties"`
				Required   []string                   `json:"required"`
			} `json:"item_schema"`
		} `json:"data_source_config"`
		TestingCriteria []struct {
			Type       string            `json:"type"`
			Name       string            `json:"name"`
			Input      string            `json:"input"`
			Operation  string            `json:"operation"`
			Reference  string            `json:"reference"`
			Evaluator  string            `json:"evaluator_name"`
			Parameters map[string]string `json:"initialization_parameters"`
			Mapping    map[string]string `json:"data_mapping"`
		} `json:"testing_criteria"`
	}
	if err := decode(body, &in); err != nil {
		return no(http.StatusBadRequest, "%v", err)
	}
	if in.Name == "" || len(in.Metadata) > 16 || in.DataSourceConfig.Type != "custom" || len(in.TestingCriteria) == 0 {
		return no(http.StatusBadRequest, "eval %s", in.Name)
	}
	for k, v := range in.Metadata {
		if len(k) > 64 || len(v) > 512 {
			return no(http.StatusBadRequest, "metadata %s", k)
		}
	}
	for _, c := range in.TestingCriteria {
		if c.Type == "azure_ai_evaluator" {
			if c.Evaluator == "" || c.Parameters["deployment_name"] == "" || len(c.Mapping) == 0 || c.Input != "" {
				return no(http.StatusBadRequest, "criterion %+v", c)
			}
			continue
		}
		column := strings.TrimSuffix(strings.TrimPrefix(c.Input, "{{item."), "}}")
		if _, ok := in.DataSourceConfig.ItemSchema.Properties[column]; !ok || c.Type != "string_check" || c.Operation != "eq" && c.Operation != "ne" {
			return no(http.StatusBadRequest, "criterion %+v", c)
		}
	}
	e := Eval{ID: fmt.Sprintf("eval_%04d", len(s.Evals)+1), Metadata: in.Metadata, columns: in.DataSourceConfig.ItemSchema.Properties}
	s.Evals = append(s.Evals, e)
	s.lag = s.Lag
	return http.StatusCreated, e, nil
}

func (s *Foundry) runs(r *http.Request, e *Eval, list bool, id string, body []byte) (int, any, http.Header) {
	switch {
	case r.Method == http.MethodGet && !list:
		return http.StatusOK, e, nil
	case r.Method == http.MethodGet && id != "":
		i := slices.IndexFunc(e.Runs, func(r Run) bool { return r.ID == id })
		if i < 0 {
			return no(http.StatusNotFound, "no run %s", id)
		}
		return http.StatusOK, e.Runs[i], nil
	case r.Method == http.MethodGet:
		all := make([]any, 0, len(e.Runs))
		for i := len(e.Runs) - 1; i >= 0; i-- {
			all = append(all, e.Runs[i])
		}
		return s.list(r, all, func(i int) string { return all[i].(Run).ID })
	case r.Method != http.MethodPost || id != "":
		return no(http.StatusNotFound, "no such call")
	}
	var in struct {
		Name       string            `json:"name"`
		Metadata   map[string]string `json:"metadata"`
		DataSource struct {
			Type   string `json:"type"`
			Source struct {
				Type string `json:"type"`
				ID   string `json:"id"`
			} `json:"source"`
		} `json:"data_source"`
	}
	if err := decode(body, &in); err != nil {
		return no(http.StatusBadRequest, "%v", err)
	}
	if in.DataSource.Type != "jsonl" || in.DataSource.Source.Type != "file_id" {
		return no(http.StatusBadRequest, "data source %+v", in.DataSource)
	}
	var rows []byte
	for _, versions := range s.Datasets {
		for _, d := range versions {
			if d.ID == in.DataSource.Source.ID {
				rows = d.Rows
			}
		}
	}
	if rows == nil {
		return no(http.StatusBadRequest, "no dataset %s", in.DataSource.Source.ID)
	}
	for i, line := range bytes.Split(bytes.TrimSpace(rows), []byte("\n")) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			return no(http.StatusBadRequest, "row %d: %v", i+1, err)
		}
		for column := range row {
			if _, ok := e.columns[column]; !ok {
				return no(http.StatusBadRequest, "row %d: column %s is not in item_schema", i+1, column)
			}
		}
	}
	run := Run{ID: fmt.Sprintf("evalrun_%04d", len(e.Runs)+1), Metadata: in.Metadata, Dataset: in.DataSource.Source.ID}
	e.Runs = append(e.Runs, run)
	s.lag = s.Lag
	return http.StatusCreated, run, nil
}

// list answers a list of the evals API, newest first, the newest of them late.
func (s *Foundry) list(r *http.Request, all []any, id func(int) string) (int, any, http.Header) {
	q := r.URL.Query()
	for k := range q {
		if !slices.Contains([]string{"limit", "order", "after"}, k) {
			return no(http.StatusBadRequest, "query %s", k)
		}
	}
	if n, err := strconv.Atoi(q.Get("limit")); err != nil || n < 1 || n > 100 || q.Get("order") != "desc" {
		return no(http.StatusBadRequest, "query %s", url.Values(q).Encode())
	}
	from := 0
	if s.lag > 0 && len(all) > 0 {
		s.lag--
		from = 1
	}
	if after := q.Get("after"); after != "" {
		for i := range all {
			if id(i) == after {
				from = i + 1
			}
		}
	}
	to := min(len(all), from+s.PageSize)
	out := map[string]any{"object": "list", "data": append([]any{}, all[min(from, to):to]...), "has_more": to < len(all)}
	if to > from {
		out["last_id"] = id(to - 1)
	}
	return http.StatusOK, out, nil
}
