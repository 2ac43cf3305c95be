package tooldescription

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/evaluator"
	"github.com/tracejury/tracejury/schema"
)

// MaxTools is how many tools of one server are graded: the first by name.
const MaxTools = 50

// Subjects are the tools to grade: of each server the first most by name, 0 means MaxTools. A definition that many sessions
// were given is one subject; of a tool with several definitions each is one. left counts the definitions left out.
func Subjects(tools []schema.Tool, most int) (subjects []evaluator.Subject, left int) {
	most = cmp.Or(most, MaxTools)
	tools = slices.Clone(tools)
	slices.SortStableFunc(tools, func(a, b schema.Tool) int {
		return cmp.Or(cmp.Compare(owner(&a), owner(&b)), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.DefinitionSHA256, b.DefinitionSHA256), cmp.Compare(a.Service, b.Service), cmp.Compare(b.Dt, a.Dt), cmp.Compare(a.SessionKey, b.SessionKey))
	})
	names := 0
	for i := range tools {
		t := &tools[i]
		sameOwner := i > 0 && owner(&tools[i-1]) == owner(t)
		switch {
		case !sameOwner:
			names = 1
		case tools[i-1].Tool != t.Tool:
			names++
		case tools[i-1].DefinitionSHA256 == t.DefinitionSHA256:
			continue
		}
		if names > most {
			left++
			continue
		}
		subjects = append(subjects, evaluator.Subject{
			Kind: "tool", ID: owner(t) + "/" + t.Tool + "@" + t.DefinitionSHA256[:min(12, len(t.DefinitionSHA256))], Revision: t.DefinitionSHA256, Tool: t,
		})
	}
	return subjects, left
}

// owner is the server of a tool; an agent's own tools belong to its service.
func owner(t *schema.Tool) string {
	if t.Server != "" {
		return t.Tenant + strings.Repeat(":", min(1, len(t.Tenant))) + t.Server
	}
	return t.Tenant + strings.Repeat(":", min(1, len(t.Tenant))) + "(" + t.Service + ")"
}

// MaxListBytes is how long an answer to tools/list may be.
const MaxListBytes = 16 << 20

const (
	maxListed    = 10_000
	maxListDepth = 200 // brackets of a schema
)

// tooDeep says that JSON nests deeper than a schema may. Brackets inside texts count, too: nobody needs that many open ones.
func tooDeep(text []byte) bool {
	depth := 0
	for _, b := range text {
		switch b {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth > maxListDepth {
			return true
		}
	}
	return false
}

// ParseToolsList reads the answer of an MCP server to tools/list: its result, the whole JSON-RPC response, or a bare array of
// tools. A tool without a name, and one named twice, are errors.
func ParseToolsList(data []byte, server string) ([]schema.Tool, error) {
	if len(data) > MaxListBytes {
		return nil, fmt.Errorf("read tools list: %d bytes, at most %d are read", len(data), MaxListBytes)
	}
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	var list []listed
	if len(data) > 0 && data[0] == '[' {
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("read tools list: %w", err)
		}
	} else {
		type page struct {
			Tools *[]listed `json:"tools"`
			Next  string    `json:"nextCursor"`
		}
		var response struct {
			page
			Result *page `json:"result"`
			Error  *struct {
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal(data, &response); err != nil {
			return nil, fmt.Errorf("read tools list: %w", err)
		}
		if response.Result != nil && response.Tools == nil {
			response.page = *response.Result
		}
		switch {
		case response.Error != nil:
			return nil, fmt.Errorf("read tools list: the server answered with an error: %q", clip(response.Error.Message, 200))
		case response.Tools != nil && response.Next != "":
			return nil, errors.New("read tools list: it is one page of several (nextCursor): put the tools of all pages into one list, or list the live server")
		case response.Tools != nil:
			list = *response.Tools
		default:
			return nil, errors.New("read tools list: there is no list of tools in it")
		}
	}
	if len(list) > maxListed {
		return nil, fmt.Errorf("read tools list: %d tools, at most %d are read", len(list), maxListed)
	}
	seen := map[string]bool{}
	out := make([]schema.Tool, 0, len(list))
	for i, l := range list {
		switch {
		case l.Name == "":
			return nil, fmt.Errorf("read tools list: tool %d has no name", i+1)
		case seen[l.Name]:
			return nil, fmt.Errorf("read tools list: %q is listed twice", clip(l.Name, 60))
		}
		seen[l.Name] = true
		t := schema.Tool{Server: server, Tool: l.Name, Description: l.Description, InputSchema: "{}"}
		if s := bytes.TrimSpace(l.InputSchema); len(s) > 0 && !bytes.Equal(s, []byte("null")) {
			if tooDeep(s) {
				return nil, fmt.Errorf("read tools list: schema of %q is nested more than %d deep", clip(l.Name, 60), maxListDepth)
			}
			canonical, err := judge.CanonicalJSON(json.RawMessage(s))
			if err != nil {
				return nil, fmt.Errorf("read tools list: schema of %q: %w", clip(l.Name, 60), err)
			}
			t.InputSchema = string(canonical)
		}
		t.DefinitionSHA256 = DefinitionSHA256(&t)
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b schema.Tool) int { return cmp.Compare(a.Tool, b.Tool) })
	return out, nil
}

// DefinitionSHA256 is the hash of a definition, as the table tools has it: over server, name, description and schema.
func DefinitionSHA256(t *schema.Tool) string {
	sum := sha256.Sum256([]byte(t.Server + "\x00" + t.Tool + "\x00" + t.Description + "\x00" + t.InputSchema))
	return hex.EncodeToString(sum[:])
}

// listed is a tool of a tools/list.
type listed struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"inputSchema"`
}
