package tooldescription_test

import (
	"encoding/json"
	"testing"

	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/judge/evaluator/evaluatortest"
)

func TestCanaries(t *testing.T) {
	e := mustNew(t)
	t.Run("description", func(t *testing.T) {
		evaluatortest.Canaries(t, e, func(x string) evaluator.Subject { return tool("list_folder", "Lists a folder. "+x, pathSchema) })
	})
	t.Run("parameter", func(t *testing.T) {
		evaluatortest.Canaries(t, e, func(x string) evaluator.Subject {
			input, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string", "description": x}}})
			if err != nil {
				t.Fatal(err)
			}
			return tool("list_folder", "Lists a folder.", string(input))
		})
	})
}
