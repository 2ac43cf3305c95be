package judgetest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Objects is the object storage of batch jobs as the service sees it.
type Objects interface {
	Put(ctx context.Context, key string, data []byte) error
	Get(ctx context.Context, key string) ([]byte, error)
	Keys() []string
	URI(key string) string
}

// Memory is object storage in memory, for batch jobs: the server reads the records there that a client wrote, and writes its answers.
// Its methods are safe for concurrent use.
type Memory struct {
	NoObject error // what Get of a missing object wraps

	mu      sync.Mutex
	objects map[string][]byte
}

// URI is where key lies for the service.
func (m *Memory) URI(key string) string { return "s3://batch/" + key }

// Put writes an object.
func (m *Memory) Put(_ context.Context, key string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects == nil {
		m.objects = map[string][]byte{}
	}
	m.objects[key] = bytes.Clone(data)
	return nil
}

// Get reads an object.
func (m *Memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.objects[key]
	if !ok {
		return nil, fmt.Errorf("%s: %w", key, m.NoObject)
	}
	return bytes.Clone(data), nil
}

// DeleteBelow removes the objects whose keys begin with prefix.
func (m *Memory) DeleteBelow(_ context.Context, prefix string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.objects, func(key string, _ []byte) bool { return strings.HasPrefix(key, prefix) })
	return nil
}

// Keys lists the objects.
func (m *Memory) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for k := range m.objects {
		out = append(out, k)
	}
	return out
}

// job is a batch job. It is done at the look that the options say: those before find it in progress.
type job struct {
	name, model, in, out string
	looks                int
	failed               int
}

func (s *Server) createJob(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Name  string `json:"jobName"`
		Model string `json:"modelId"`
		Role  string `json:"roleArn"`
		Type  string `json:"modelInvocationType"`
		Token string `json:"clientRequestToken"`
		Input struct {
			S3 struct {
				URI    string `json:"s3Uri"`
				Format string `json:"s3InputFormat"`
			} `json:"s3InputDataConfig"`
		} `json:"inputDataConfig"`
		Output struct {
			S3 struct {
				URI string `json:"s3Uri"`
			} `json:"s3OutputDataConfig"`
		} `json:"outputDataConfig"`
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	dec.DisallowUnknownFields()
	err := dec.Decode(&q)
	if s.opts.Objects == nil {
		s.refuse(w, http.StatusBadRequest, "ValidationException", "this server has no object storage")
		return
	}
	in, okIn := strings.CutPrefix(q.Input.S3.URI, s.opts.Objects.URI(""))
	out, okOut := strings.CutPrefix(q.Output.S3.URI, s.opts.Objects.URI(""))
	switch {
	case err != nil:
	case !schemaName.MatchString(q.Name), q.Role == "", q.Type != "Converse", q.Token == "", q.Input.S3.Format != "JSONL", !okIn, !okOut, !modelID.MatchString(q.Model):
		err = fmt.Errorf("job %+v", q)
	}
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "ValidationException", err.Error())
		return
	}
	s.mu.Lock()
	arn := s.jobs[q.Token].arn()
	if s.jobs[q.Token] == nil {
		j := &job{name: q.Token, model: q.Model, in: in, out: out}
		s.jobs[q.Token] = j
		arn = j.arn()
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, map[string]any{"jobArn": arn})
}

func (j *job) arn() string {
	if j == nil {
		return ""
	}
	return "arn:aws:bedrock:eu-central-1:123456789012:model-invocation-job/" + j.name
}

func (s *Server) getJob(w http.ResponseWriter, r *http.Request) {
	id := unescape(r.PathValue("id"))
	if s.opts.Look != nil {
		if status := s.opts.Look(id); status > 0 {
			fail(w, status, map[bool]string{true: "ResourceNotFoundException", false: "InternalServerException"}[status == http.StatusNotFound], "scripted", "")
			return
		}
	}
	s.mu.Lock()
	j := s.jobs[id[strings.LastIndexByte(id, '/')+1:]]
	var looks int
	if j != nil {
		j.looks++
		looks = j.looks
	}
	s.mu.Unlock()
	if j == nil {
		s.refuse(w, http.StatusNotFound, "ResourceNotFoundException", "no such job")
		return
	}
	status := "InProgress"
	if looks == s.opts.Looks {
		s.runJob(r.Context(), j)
	}
	if looks >= s.opts.Looks {
		status = "Completed"
		if j.failed > 0 {
			status = "PartiallyCompleted"
		}
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, map[string]any{"jobArn": j.arn(), "jobName": j.name, "modelId": j.model, "roleArn": "r", "status": status, "submitTime": "2026-11-30T00:00:00Z",
		"inputDataConfig":  map[string]any{"s3InputDataConfig": map[string]any{"s3Uri": s.opts.Objects.URI("") + j.in}},
		"outputDataConfig": map[string]any{"s3OutputDataConfig": map[string]any{"s3Uri": s.opts.Objects.URI("") + j.out}}})
}

// runJob answers all records, the last first: the order of the output is not that of the input.
func (s *Server) runJob(ctx context.Context, j *job) {
	for _, key := range s.opts.Objects.Keys() {
		if !strings.HasPrefix(key, j.in) {
			continue
		}
		data, err := s.opts.Objects.Get(ctx, key)
		if err != nil {
			continue
		}
		var lines [][]byte
		sc := bufio.NewScanner(bytes.NewReader(data))
		sc.Buffer(nil, 64<<20)
		for sc.Scan() {
			lines = append(lines, s.record(j, bytes.Clone(sc.Bytes())))
		}
		var out bytes.Buffer
		for i := len(lines) - 1; i >= 0; i-- {
			out.Write(lines[i])
			out.WriteByte('\n')
		}
		name := key[strings.LastIndexByte(key, '/')+1:]
		if err := s.opts.Objects.Put(ctx, j.out+j.name+"/"+name+".out", out.Bytes()); err != nil {
			s.mu.Lock()
			s.refused = append(s.refused, err.Error())
			s.mu.Unlock()
		}
	}
}

// record answers one record: an error record where a call would have failed.
func (s *Server) record(j *job, line []byte) []byte {
	var rec struct {
		ID    string          `json:"recordId"`
		Input json.RawMessage `json:"modelInput"`
	}
	failed := func(code, message string) []byte {
		s.mu.Lock()
		j.failed++
		s.mu.Unlock()
		b, err := json.Marshal(map[string]any{"recordId": rec.ID, "error": map[string]any{"errorCode": code, "errorMessage": message}})
		if err != nil {
			return nil
		}
		return b
	}
	if err := json.Unmarshal(line, &rec); err != nil {
		return failed("400", err.Error())
	}
	s.mu.Lock()
	s.bodies = append(s.bodies, rec.Input)
	s.batched++
	s.mu.Unlock()
	c, tool, err := parseConverse(rec.Input)
	c.Model, c.Attempt = j.model, 1
	if err == nil && tool != "" {
		err = errors.New("toolConfig is not supported in batch jobs")
	}
	if err != nil {
		s.mu.Lock()
		s.refused = append(s.refused, err.Error())
		s.mu.Unlock()
		return failed("400", err.Error())
	}
	fault := s.fault(rec.Input, 1)
	switch fault {
	case "throttle", "unavailable", "reset":
		return failed("503", "the service is unavailable")
	}
	a, err := s.reply(c)
	if err != nil {
		return failed("400", err.Error())
	}
	spoil(&a, fault)
	stop := a.StopReason
	if stop == "" {
		stop = "end_turn"
	}
	b, err := json.Marshal(map[string]any{"recordId": rec.ID, "modelOutput": map[string]any{
		"output":     map[string]any{"message": map[string]any{"role": "assistant", "content": []any{map[string]any{"text": a.Text}}}},
		"stopReason": stop, "usage": map[string]any{"inputTokens": len(rec.Input) / 4, "outputTokens": len(a.Text)/4 + 1},
	}})
	if err != nil {
		return failed("500", err.Error())
	}
	return b
}
