package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/table"
	"github.com/tracejury/tracejury/schema"
)

// Kinds of materials beside rubrics.
const (
	skillMaterial    = "skill"
	suiteMaterial    = "suite"
	toolListMaterial = "tool_list"
)

// sentMaterials gathers the texts that a run sends, by their hashes. Texts are masked when they come here.
type sentMaterials struct {
	mu   sync.Mutex
	rows map[string]schema.Material
}

func (s *sentMaterials) add(list []evaluator.Material) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range list {
		if s.rows == nil {
			s.rows = map[string]schema.Material{}
		}
		sum := sha256Hex([]byte(m.Text))
		s.rows[sum] = schema.Material{SHA256: sum, Kind: m.Kind, Text: m.Text}
	}
}

func (s *sentMaterials) hashes() []string { return slices.Sorted(maps.Keys(s.rows)) }

// saveMaterials keeps what was sent under its hash: of skills in sessions what their evaluator says, of what was given the packages and
// the lists of the servers' tools.
func (e *evaluateRun) saveMaterials(ctx context.Context) error {
	if g := e.opts.given; g != nil {
		list, err := g.materials()
		if err != nil {
			return err
		}
		e.sent.add(list)
	}
	for _, sum := range e.sent.hashes() {
		if err := saveMaterial(ctx, e.root.Store, e.sent.rows[sum]); err != nil {
			return err
		}
	}
	return nil
}

// toolList is the text of a material of a server's tools, or of those that a service has of its own.
type toolList struct {
	Server string       `json:"server"`
	Tools  []listedTool `json:"tools"`
}

// listedTool is a tool as tools/list of MCP has it.
type listedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"inputSchema,omitempty"`
}

// listOwner is what a list of tools is kept under: the server, or in brackets the service that has tools without one.
func listOwner(server, service string) string { return cmp.Or(server, "("+service+")") }

// listedName is what a run calls a listed tool by.
type listedName struct{ owner, tool string }

// listedTools reads the lists of tools among the materials of a run. A text that has expired leaves its tools without a description.
func listedTools(ctx context.Context, st store.Store, hashes []string) (map[listedName]listedTool, error) {
	out := map[listedName]listedTool{}
	err := eachMaterial(ctx, st, hashes, toolListMaterial, func(text string) error {
		var list toolList
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			return err
		}
		for _, t := range list.Tools {
			out[listedName{list.Server, t.Name}] = t
		}
		return nil
	})
	return out, err
}

func (g *given) materials() ([]evaluator.Material, error) {
	out := g.tasks.materials()
	lists := map[string][]listedTool{}
	for i := range g.candidates {
		switch s := g.candidates[i].given; {
		case s.Package != nil:
			b, err := judge.CanonicalJSON(s.Package)
			if err != nil {
				return nil, fmt.Errorf("keep skill package %s: %w", s.ID, err)
			}
			out = append(out, evaluator.Material{Kind: skillMaterial, Text: string(b)})
		case s.Tool != nil:
			l := listedTool{Name: s.Tool.Tool, Description: s.Tool.Description}
			if json.Valid([]byte(s.Tool.InputSchema)) {
				l.InputSchema = json.RawMessage(s.Tool.InputSchema)
			}
			owner := listOwner(s.Tool.Server, s.Tool.Service)
			lists[owner] = append(lists[owner], l)
		}
	}
	for _, owner := range sortedKeys(lists) {
		b, err := judge.CanonicalJSON(toolList{owner, lists[owner]})
		if err != nil {
			return nil, fmt.Errorf("keep the tools of %s: %w", owner, err)
		}
		out = append(out, evaluator.Material{Kind: toolListMaterial, Text: string(b)})
	}
	return out, nil
}

// saveMaterial writes a text under its hash, once.
func saveMaterial(ctx context.Context, st store.Store, m schema.Material) error {
	var buf bytes.Buffer
	if err := table.Encode(&buf, schema.Materials, []schema.Material{m}); err != nil {
		return err
	}
	_, err := st.PutIfAbsent(ctx, materialKey(m.SHA256), bytes.NewReader(buf.Bytes()), store.PutOptions{ContentType: "application/vnd.apache.parquet"})
	if err != nil && !errors.Is(err, store.ErrExist) {
		return fmt.Errorf("save %s: %w", strings.ReplaceAll(m.Kind, "_", " "), err)
	}
	return nil
}
