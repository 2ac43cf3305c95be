package outcomes

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/judge/suite"
)

// The files of tasks and tools.
const (
	TasksFile = "claude/outcomes.jsonl"
	ToolsFile = "claude/tools.json"
)

// Limits of the platform for the tools of an agent, and a cap of ours for a task (maxTask).
const (
	maxTools    = 128
	maxToolText = 20_000
	maxTask     = 100_000
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// taskLine is one task: the event that defines it as an outcome.
type taskLine struct {
	TaskID string        `json:"task_id"`
	Event  defineOutcome `json:"event"`
}

// newTask is a task with the run's rubric, before which stands what this task alone requires. The reference answer is left out:
// the agent that works may read its rubric.
func newTask(in *exports.Input, t *suite.Task) *taskLine {
	m := in.Task(t)
	return &taskLine{TaskID: m.ID, Event: defineOutcome{Type: eventType, Description: m.Prompt, MaxIterations: iterations,
		Rubric: rubricText{Type: "text", Content: taskMarkdown(in, &m)}}}
}

func taskMarkdown(in *exports.Input, t *suite.Task) string {
	if len(t.ItemTexts()) == 0 {
		return markdown(in)
	}
	var b strings.Builder
	b.WriteString("# Task " + inline(in, t.ID) + "\n\nEvery one of these is required.\n\n")
	for i, item := range t.ItemTexts() {
		fmt.Fprintf(&b, "- T%d. %s\n", i+1, inline(in, item))
	}
	b.WriteString("\n" + markdown(in))
	return b.String()
}

func (l *taskLine) check() error {
	refuse := func(field, format string, args ...any) error {
		return exports.Refuse(TasksFile, "task "+l.TaskID+": "+field, format, args...)
	}
	switch n := utf8.RuneCountInString(l.Event.Rubric.Content); {
	case n > maxRubric:
		return refuse("rubric.content", "%d characters: at most %d are allowed", n, maxRubric)
	case strings.TrimSpace(l.Event.Description) == "" || utf8.RuneCountInString(l.Event.Description) > maxTask:
		return refuse("description", "want 1 to %d characters", maxTask)
	case l.Event.MaxIterations < 1 || l.Event.MaxIterations > maxIterations:
		return refuse("max_iterations", "%d: want 1 to %d", l.Event.MaxIterations, maxIterations)
	}
	return nil
}

// eachTask hands out the lines of TasksFile; what the platform would refuse is an error.
func eachTask(ctx context.Context, in *exports.Input, each func(*taskLine) error) error {
	if in.Suite == nil {
		return nil
	}
	for i := range in.Suite.Tasks {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := newTask(in, &in.Suite.Tasks[i])
		if err := l.check(); err != nil {
			return err
		}
		if err := each(l); err != nil {
			return err
		}
	}
	return nil
}

// toolList is a part of an agent's definition.
type toolList struct {
	Tools []customTool `json:"tools"`
}

type customTool struct {
	Type        string         `json:"type"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"input_schema"`
}

// newTools is the list of all tools, nil where the export has none.
func newTools(ctx context.Context, in *exports.Input) (*toolList, error) {
	if in.Tools == nil {
		return nil, nil
	}
	list, seen := &toolList{Tools: []customTool{}}, exports.Names{}
	err := exports.EachTool(ctx, in, func(t *exports.Tool) error {
		name := in.Text(t.Name, 0)
		text := in.Text(t.Description, 0)
		field := "tools." + exports.Cut(name, 100)
		switch {
		case text == "":
			return nil // the platform wants a description
		case !toolName.MatchString(name):
			return exports.Refuse(ToolsFile, field, "name: want 1 to 128 letters, digits, underscores and hyphens")
		case utf8.RuneCountInString(text) > maxToolText:
			return exports.Refuse(ToolsFile, field, "description: at most %d characters are allowed", maxToolText)
		}
		schema := inputSchema(in, t.InputSchema)
		words, err := exports.JSON(schema)
		if err != nil {
			return err
		}
		if take, err := seen.Take(in, ToolsFile, name, text+string(words), t); err != nil || !take {
			return err
		}
		if len(list.Tools) == maxTools {
			return exports.Refuse(ToolsFile, field, "an agent takes at most %d tools: choose a server with --server", maxTools)
		}
		list.Tools = append(list.Tools, customTool{Type: "custom", Name: name, Description: text, InputSchema: schema})
		return nil
	})
	return list, err
}

// inputSchema is a tool's schema with those members that the platform takes. One that is no object becomes an object of anything.
func inputSchema(in *exports.Input, text string) map[string]any {
	schema, _ := in.Schema(text)
	out := map[string]any{"type": "object"}
	for _, k := range []string{"properties", "required"} {
		if v, ok := schema[k]; ok {
			out[k] = v
		}
	}
	if _, ok := out["properties"].(map[string]any); !ok {
		delete(out, "properties")
	}
	if !isNames(out["required"]) {
		delete(out, "required")
	}
	return out
}

func isNames(v any) bool {
	list, ok := v.([]any)
	for _, name := range list {
		if _, text := name.(string); !text {
			return false
		}
	}
	return ok
}

func writeTasks(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	if in.Suite == nil {
		return nil
	}
	return exports.WriteLines(sink, TasksFile, func(emit func(any) error) error {
		return eachTask(ctx, in, func(l *taskLine) error { return emit(l) })
	})
}

func writeTools(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	list, err := newTools(ctx, in)
	if err != nil || list == nil {
		return err
	}
	return exports.WriteJSON(sink, ToolsFile, list)
}
