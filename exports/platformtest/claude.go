package platformtest

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// What the Claude server takes: a key, and one session.
const (
	ClaudeKey     = "sk-ant-key-of-the-test"
	ClaudeSession = "sesn_0123456789"
)

// Claude is the Files and Sessions API of the Claude platform.
type Claude struct {
	Server
	Lag      int // how often a list is asked for before it shows what is new
	PageSize int
	Files    []File
	Outcomes []Outcome // of ClaudeSession
	Sessions []Session

	lag int
}

// File is an uploaded file.
type File struct {
	ID       string `json:"id"`
	Filename string `json:"filename"`
	MimeType string `json:"mime_type"`
	Size     int    `json:"size_bytes"`
	Type     string `json:"type"`
	Created  string `json:"created_at"`
	Content  []byte `json:"-"`
}

// Outcome is a user.define_outcome event as the platform gives it back: the rubric's file is its text.
type Outcome struct {
	ID            string            `json:"id"`
	Type          string            `json:"type"`
	Description   string            `json:"description"`
	Rubric        map[string]string `json:"rubric"`
	MaxIterations int               `json:"max_iterations"`
	OutcomeID     string            `json:"outcome_id"`
}

// NewClaude starts the server.
func NewClaude(t testing.TB) *Claude {
	s := &Claude{PageSize: 2}
	s.start(t, func(status int, message string) (int, any) { return status, claudeError("%s", message) }, s.handle)
	return s
}

// SetLag sets how late lists show what is new.
func (s *Claude) SetLag(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Lag, s.lag = n, 0
}

func claudeError(format string, args ...any) any {
	return map[string]any{"type": "error", "error": map[string]string{"type": "invalid_request_error", "message": fmt.Sprintf(format, args...)}}
}

func wrong(status int, format string, args ...any) (int, any, http.Header) {
	return status, claudeError(format, args...), nil
}

func (s *Claude) handle(r *http.Request, body []byte) (int, any, http.Header) {
	switch {
	case r.Header.Get("X-Api-Key") != ClaudeKey || r.Header.Get("Authorization") != "":
		return wrong(http.StatusUnauthorized, "invalid x-api-key %s", r.Header.Get("X-Api-Key"))
	case r.Header.Get("Anthropic-Version") != "2023-06-01":
		return wrong(http.StatusBadRequest, "anthropic-version")
	}
	path := r.URL.Path
	id, single := strings.CutPrefix(path, "/v1/files/")
	switch {
	case path == "/v1/files" && r.Method == http.MethodPost:
		return s.upload(r, body)
	case path == "/v1/files" && r.Method == http.MethodGet:
		all := make([]any, 0, len(s.Files))
		for _, f := range slices.Backward(s.Files) {
			all = append(all, f)
		}
		return s.list(r, all, "limit", "page")
	case single && r.Method == http.MethodGet:
		for _, f := range s.Files {
			if f.ID == id {
				return http.StatusOK, f, nil
			}
		}
		return wrong(http.StatusNotFound, "no file %s", id)
	case strings.HasPrefix(path, "/v1/sessions"):
		if r.Header.Get("Anthropic-Beta") != "managed-agents-2026-04-01" {
			return wrong(http.StatusBadRequest, "anthropic-beta")
		}
		if path == "/v1/sessions" {
			return s.sessions(r, body)
		}
		if path != "/v1/sessions/"+ClaudeSession+"/events" {
			return wrong(http.StatusNotFound, "no such session")
		}
		if r.Method == http.MethodPost {
			return s.events(body)
		}
		all := make([]any, 0, len(s.Outcomes))
		for _, o := range slices.Backward(s.Outcomes) {
			all = append(all, o)
		}
		return s.list(r, all, "limit", "page", "types[]")
	}
	return wrong(http.StatusNotFound, "no such call: %s %s", r.Method, path)
}

func (s *Claude) upload(r *http.Request, body []byte) (int, any, http.Header) {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		return wrong(http.StatusBadRequest, "content type %q", r.Header.Get("Content-Type"))
	}
	in := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	part, err := in.NextPart()
	if err != nil || part.FormName() != "file" || part.FileName() == "" || len(part.FileName()) > 255 || strings.ContainsAny(part.FileName(), "/\\<>:\"|?*") {
		return wrong(http.StatusBadRequest, "no file: %v", err)
	}
	content, err := io.ReadAll(part)
	if err != nil || len(content) == 0 {
		return wrong(http.StatusBadRequest, "an empty file: %v", err)
	}
	if _, err := in.NextPart(); err != io.EOF {
		return wrong(http.StatusBadRequest, "more than one part")
	}
	f := File{ID: fmt.Sprintf("file_%06d", len(s.Files)+1), Filename: part.FileName(), MimeType: part.Header.Get("Content-Type"), Size: len(content), Type: "file", Created: "2026-11-30T12:00:00Z", Content: content}
	s.Files = append(s.Files, f)
	s.lag = s.Lag
	return http.StatusOK, f, nil
}

func (s *Claude) events(body []byte) (int, any, http.Header) {
	var in struct {
		Events []struct {
			Type        string `json:"type"`
			Description string `json:"description"`
			Rubric      struct {
				Type   string `json:"type"`
				FileID string `json:"file_id"`
			} `json:"rubric"`
			MaxIterations int `json:"max_iterations"`
		} `json:"events"`
	}
	if err := decode(body, &in); err != nil {
		return wrong(http.StatusBadRequest, "%v", err)
	}
	if len(in.Events) != 1 {
		return wrong(http.StatusBadRequest, "%d events", len(in.Events))
	}
	e := in.Events[0]
	i := slices.IndexFunc(s.Files, func(f File) bool { return f.ID == e.Rubric.FileID })
	if e.Type != "user.define_outcome" || e.Description == "" || e.Rubric.Type != "file" || i < 0 || e.MaxIterations < 1 || e.MaxIterations > 20 {
		return wrong(http.StatusBadRequest, "event %+v", e)
	}
	if text := s.Files[i].Content; utf8.RuneCount(text) > 262_144 {
		return wrong(http.StatusBadRequest, "rubric of %d bytes", len(text))
	}
	o := Outcome{ID: fmt.Sprintf("sevt_%06d", len(s.Outcomes)+1), Type: e.Type, Description: e.Description, Rubric: map[string]string{"type": "text", "content": string(s.Files[i].Content)},
		MaxIterations: e.MaxIterations, OutcomeID: fmt.Sprintf("outc_%06d", len(s.Outcomes)+1)}
	s.Outcomes = append(s.Outcomes, o)
	s.lag = s.Lag
	return http.StatusOK, map[string]any{"data": []Outcome{o}}, nil
}

// list answers a page, newest first, the newest of all late.
func (s *Claude) list(r *http.Request, all []any, query ...string) (int, any, http.Header) {
	q := r.URL.Query()
	for k := range q {
		if !slices.Contains(query, k) {
			return wrong(http.StatusBadRequest, "query %s", k)
		}
	}
	from, _ := strconv.Atoi(strings.TrimPrefix(q.Get("page"), "page_"))
	if s.lag > 0 && len(all) > 0 && from == 0 {
		s.lag--
		from = 1
	}
	to := min(len(all), from+s.PageSize)
	out := map[string]any{"data": append([]any{}, all[min(from, to):to]...), "next_page": nil}
	if to < len(all) {
		out["next_page"] = "page_" + strconv.Itoa(to)
	}
	return http.StatusOK, out, nil
}
