package agentcore

import (
	"context"
	"fmt"
	"regexp"

	"github.com/tracejury/tracejury/exports"
)

// ToolsFile is a StartRecommendation request, but for what only the account knows.
const ToolsFile = "agentcore/tools.json"

// Limits of StartRecommendation.
const (
	maxToolName = 256
	maxToolText = 20_000
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_.\-]+$`)

// recommendation is a StartRecommendation request without agentTraces, which the account's own log group or sessions are.
type recommendation struct {
	Name   string               `json:"name"`
	Type   string               `json:"type"`
	Token  string               `json:"clientToken"`
	Config recommendationConfig `json:"recommendationConfig"`
}

type recommendationConfig struct {
	ToolDescription toolRecommendation `json:"toolDescriptionRecommendationConfig"`
}

type toolRecommendation struct {
	ToolDescription toolDescriptions `json:"toolDescription"`
}

type toolDescriptions struct {
	Text toolTexts `json:"toolDescriptionText"`
}

type toolTexts struct {
	Tools []toolText `json:"tools"`
}

type toolText struct {
	Name        string   `json:"toolName"`
	Description textOnly `json:"toolDescription"`
}

type textOnly struct {
	Text string `json:"text"`
}

const recommendationType = "TOOL_DESCRIPTION_RECOMMENDATION"

// newTools is the request of all tools, or nil where there are none. A tool without a description has nothing to be improved and
// the platform takes no empty text: it is left out and named as lost.
func newTools(ctx context.Context, in *exports.Input) (*recommendation, error) {
	if in.Tools == nil {
		return nil, nil
	}
	r := &recommendation{Name: boundedName("tracejury_tools", ""), Type: recommendationType}
	r.Config.ToolDescription.ToolDescription.Text.Tools = []toolText{}
	seen := exports.Names{}
	err := exports.EachTool(ctx, in, func(t *exports.Tool) error {
		name := in.Text(t.Name, 0)
		text := in.Text(t.Description, 0)
		field := "tools." + exports.Cut(name, 100)
		switch {
		case text == "", len(name) > maxToolName || !toolName.MatchString(name):
			return nil // a named loss
		case !length(text, 1, maxToolText):
			return exports.Refuse(ToolsFile, field, "toolDescription.text: want 1 to %d characters", maxToolText)
		}

		if take, err := seen.Take(in, ToolsFile, name, text, t); err != nil || !take {
			return err
		}
		list := &r.Config.ToolDescription.ToolDescription.Text.Tools
		*list = append(*list, toolText{Name: name, Description: textOnly{text}})
		return nil
	})
	if err != nil {
		return nil, err
	}
	data, err := exports.JSON(r)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", ToolsFile, err)
	}
	r.Token = token("tools", string(data))
	return r, nil
}

func writeTools(ctx context.Context, in *exports.Input, sink exports.Sink) error {
	r, err := newTools(ctx, in)
	if err != nil || r == nil {
		return err
	}
	return exports.WriteJSON(sink, ToolsFile, r)
}
