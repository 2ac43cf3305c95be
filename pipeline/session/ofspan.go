package session

import (
	"slices"

	"github.com/tracejury/tracejury/pipeline/convention"
)

// returnContent gives a tool's span back the content that was taken out of it into a log: what the log tells as a prompt went into
// the tool, what it tells as an answer came out. The log is written when the span ends; what went in was there when it began.
func (rd *reading) returnContent() {
	type execution struct {
		call   *convention.ToolCall
		result *convention.ToolResult
	}
	ran := map[spanID]execution{}
	taken := false
	for i := range rd.items {
		it := &rd.items[i]
		if it.meta.OfSpan {
			taken = true
			if h, ok := historyOf(it.event); ok && h.Origin == convention.OriginHistory {
				if k, ok := rd.spans[it.span()]; ok && usable(&rd.rows[k]) > 0 {
					it.meta.At = min(it.meta.At, rd.rows[k].StartedUnixNano)
				}
			}
		}
		if it.row.Signal == "log" || it.row.SpanID == "" {
			continue
		}
		x := ran[it.span()]
		switch e := it.event.(type) {
		case *convention.ToolCall:
			if e.Source == convention.SourceExecution {
				x.call = e
			}
		case *convention.ToolResult:
			if e.Source == convention.SourceExecution {
				x.result = e
			}
		}
		if x.call != nil || x.result != nil {
			ran[it.span()] = x
		}
	}
	if !taken || len(ran) == 0 {
		return
	}
	rd.items = slices.DeleteFunc(rd.items, func(it item) bool {
		x, ok := ran[it.span()]
		if !ok || !it.meta.OfSpan {
			return false
		}
		switch e := it.event.(type) {
		case *convention.Prompt:
			if x.call != nil && x.call.Arguments == "" {
				x.call.Arguments, x.call.Truncated = e.Text, e.Truncated
			}
		case *convention.Message:
			if x.result != nil && x.result.Text == "" {
				x.result.Text, x.result.Truncated = e.Text, e.Truncated
			}
		default:
			return false
		}
		return true
	})
}
