package outcomes

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/tracejury/tracejury/exports"
)

// request is the body of POST /v1/sessions for one task.
type request struct {
	Agent         string            `json:"agent"`
	EnvironmentID string            `json:"environment_id"`
	Title         string            `json:"title"`
	Metadata      map[string]string `json:"metadata"`
	InitialEvents []defineOutcome   `json:"initial_events"`
}

type defineOutcome struct {
	Type          string     `json:"type"`
	Description   string     `json:"description"`
	Rubric        rubricText `json:"rubric"`
	MaxIterations int        `json:"max_iterations"`
}

// What a defined outcome is called, and how many rounds it has: the platform's default.
const (
	eventType  = "user.define_outcome"
	iterations = 3
)

type rubricText struct {
	Type    string `json:"type"`
	Content string `json:"content"`
}

// newRequest holds the rubric itself and not a file id, so that nothing has to be uploaded first.
func newRequest(in *exports.Input, text string) *request {
	r := &in.Rubric
	return &request{
		Agent: "agent_REPLACE", EnvironmentID: "env_REPLACE",
		Title:    in.Text(fmt.Sprintf("%s (version %d)", r.Title, r.Version), maxShort),
		Metadata: map[string]string{"rubric": r.Name, "rubric_version": strconv.Itoa(r.Version), "rubric_sha256": r.SHA256()},
		InitialEvents: []defineOutcome{{Type: eventType, Description: "REPLACE with the task: what the agent should produce.",
			Rubric: rubricText{Type: "text", Content: text}, MaxIterations: iterations}},
	}
}

func (r *request) check() error {
	if n := len(r.InitialEvents); n > maxEvents {
		return exports.Refuse(RequestFile, "initial_events", "%d events: at most %d are allowed", n, maxEvents)
	}
	for i, e := range r.InitialEvents {
		if e.MaxIterations < 1 || e.MaxIterations > maxIterations {
			return exports.Refuse(RequestFile, fmt.Sprintf("initial_events[%d].max_iterations", i), "%d: want 1 to %d", e.MaxIterations, maxIterations)
		}
	}
	if len(r.Metadata) > maxMetadata {
		return exports.Refuse(RequestFile, "metadata", "%d pairs: at most %d are allowed", len(r.Metadata), maxMetadata)
	}
	for k, v := range r.Metadata {
		if len(k) > maxMetadataKey || utf8.RuneCountInString(v) > maxMetadataValue {
			return exports.Refuse(RequestFile, "metadata", "a key may have %d and a value %d characters", maxMetadataKey, maxMetadataValue)
		}
	}
	return nil
}
