package session

import (
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
)

// servers finds the MCP server of calls and definitions that do not name it: by the connection beside them, or because a call
// of the same tool names it.
func (b *builder) servers() {
	beside := map[spanID]string{}
	for i := range b.rd.items {
		if e, ok := b.rd.items[i].event.(*convention.ToolServer); ok && b.rd.items[i].row.ParentSpanID != "" {
			beside[spanID{b.rd.items[i].row.TraceID, b.rd.items[i].row.ParentSpanID}] = e.Server
		}
	}
	b.serverOf = map[string]string{}
	for i := range b.rd.items {
		it := &b.rd.items[i]
		server := beside[spanID{it.row.TraceID, it.row.ParentSpanID}]
		if server == "" {
			continue
		}
		switch e := it.event.(type) {
		case *convention.ToolCall:
			if c := b.ofRow[it.row]; c != nil && c.server == "" && e.Source == convention.SourceExecution {
				c.server = server
			}
		case *convention.ToolDefinition:
			if e.Server == "" {
				b.serverOf[e.Tool] = server
			}
		}
	}
	for _, c := range b.all {
		if c.server == "" {
			continue
		}
		for _, prefix := range [...]string{"mcp_" + c.server + "_", c.server + "__", c.server + "_", c.server + "-"} {
			if rest, ok := strings.CutPrefix(c.tool, prefix); ok && rest != "" {
				b.serverOf[c.tool] = c.server
				c.tool = rest
				break
			}
		}
		b.serverOf[c.tool] = c.server
	}
}

// served is a definition's tool and server, once the session's calls are known.
func (b *builder) served(d *convention.ToolDefinition) (tool, server string) {
	tool, server = split(d.Tool, d.Server)
	if server != "" {
		return tool, server
	}
	if server = b.serverOf[tool]; server == "" {
		return tool, ""
	}
	for _, prefix := range [...]string{"mcp_" + server + "_", server + "__", server + "_", server + "-"} {
		if rest, ok := strings.CutPrefix(tool, prefix); ok && rest != "" {
			return rest, server
		}
	}
	return tool, server
}
