package platformtest

import (
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"
)

// What the Claude server can make sessions of.
const (
	ClaudeAgent       = "agent_0123456789"
	ClaudeEnvironment = "env_0123456789"
)

// Session is one that was made with an outcome.
type Session struct {
	ID       string            `json:"id"`
	Type     string            `json:"type"`
	Title    string            `json:"title"`
	Metadata map[string]string `json:"metadata"`
	Outcome  string            `json:"-"` // its description
	Rubric   string            `json:"-"`
}

// sessions answers POST and GET of /v1/sessions.
func (s *Claude) sessions(r *http.Request, body []byte) (int, any, http.Header) {
	if r.Method == http.MethodGet {
		if a := r.URL.Query().Get("agent_id"); a != ClaudeAgent {
			return wrong(http.StatusBadRequest, "agent_id %s", a)
		}
		all := make([]any, 0, len(s.Sessions))
		for _, x := range slices.Backward(s.Sessions) {
			all = append(all, x)
		}
		return s.list(r, all, "limit", "page", "agent_id", "include_archived")
	}
	var in struct {
		Agent         string            `json:"agent"`
		EnvironmentID string            `json:"environment_id"`
		Title         string            `json:"title"`
		Metadata      map[string]string `json:"metadata"`
		InitialEvents []struct {
			Type        string `json:"type"`
			Description string `json:"description"`
			Rubric      struct {
				Type    string `json:"type"`
				Content string `json:"content"`
			} `json:"rubric"`
			MaxIterations int `json:"max_iterations"`
		} `json:"initial_events"`
	}
	if err := decode(body, &in); err != nil || r.Method != http.MethodPost {
		return wrong(http.StatusBadRequest, "%s: %v", r.Method, err)
	}
	if in.Agent != ClaudeAgent || in.EnvironmentID != ClaudeEnvironment || len(in.InitialEvents) != 1 || len(in.Metadata) > 16 {
		return wrong(http.StatusBadRequest, "agent %s, environment %s, %d events", in.Agent, in.EnvironmentID, len(in.InitialEvents))
	}
	for k, v := range in.Metadata {
		if len(k) > 64 || len(v) > 512 {
			return wrong(http.StatusBadRequest, "metadata %s", k)
		}
	}
	e := in.InitialEvents[0]
	if e.Type != "user.define_outcome" || e.Description == "" || e.Rubric.Type != "text" || e.MaxIterations < 1 || e.MaxIterations > 20 || utf8.RuneCountInString(e.Rubric.Content) > 262_144 {
		return wrong(http.StatusBadRequest, "event %+v", e)
	}
	x := Session{ID: fmt.Sprintf("sesn_%06d", len(s.Sessions)+1), Type: "session", Title: in.Title, Metadata: in.Metadata, Outcome: e.Description, Rubric: e.Rubric.Content}
	s.Sessions = append(s.Sessions, x)
	s.lag = s.Lag
	return http.StatusOK, x, nil
}
