package session

import (
	"encoding/json"
	"strings"

	"github.com/tracejury/tracejury/pipeline/convention"
)

// call is one tool call, merged from where it was asked, where it ran and where its result was read.
type call struct {
	id, tool, server string
	args             string
	argsCut          bool
	argsRedacted     bool
	node             *node // the asking
	result           *node // what came back

	requested, executed, answered bool
	ran, told                     convention.Outcome // by its execution, by later inputs
	ranText, toldText             string
	ranCut, toldCut               bool
	resultRedacted                bool
	exit                          *int32
	denial                        *convention.Denial
	outcome                       convention.Outcome
	span                          spanID // of the execution
}

// name is the tool's name as a model sees it.
func (c *call) name() string {
	if c.server == "" {
		return c.tool
	}
	return "mcp__" + c.server + "__" + c.tool
}

// text is what came back: of two tellings the whole one, else the execution's own.
func (c *call) text() string {
	if c.ranText == "" || c.ranCut && !c.toldCut && c.toldText != "" {
		return c.toldText
	}
	return c.ranText
}

func (c *call) cut() bool {
	if c.ranText == "" || c.ranCut && !c.toldCut && c.toldText != "" {
		return c.toldCut
	}
	return c.ranCut
}

func argsKey(tool, args string) string { return tool + "\x00" + canonicalArgs(args) }

// canonicalArgs makes arguments comparable between tellings.
func canonicalArgs(args string) string {
	s := strings.TrimSpace(args)
	if s == "" || s[0] != '{' && s[0] != '[' {
		return s
	}
	return convention.CanonicalJSON(s)
}

func split(tool, server string) (string, string) {
	if s, t := convention.SplitMCP(tool); s != "" {
		return t, s
	}
	return tool, server
}

func (b *builder) newCall(it *item, id, tool, server, args string) *call {
	tool, server = split(tool, server)
	c := &call{id: id, tool: tool, server: server, ran: convention.OutcomeUnknown, told: convention.OutcomeUnknown}
	c.node = b.node(it, kindCall)
	c.result = b.node(it, kindResult)
	c.result.sub = 1
	c.node.call, c.result.call = c, c
	c.node.precedes(c.result)
	b.all = append(b.all, c)
	if id != "" {
		b.byID[id] = append(b.byID[id], c)
	}
	b.setArgs(c, args)
	return c
}

// setArgs takes arguments: JSON outweighs a bare value, anything outweighs nothing.
func (b *builder) setArgs(c *call, args string) {
	if args == "" || c.args != "" && (isJSON(c.args) || !isJSON(args)) {
		return
	}
	c.args = args
	k := argsKey(c.tool, args)
	b.byArgs[k] = append(b.byArgs[k], c)
}

func isJSON(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && (s[0] == '{' || s[0] == '[')
}

// requested is the call that a model asked for, known or new.
func (b *builder) requested(it *item, e *convention.ToolCall, witness string) *call {
	tool, server := split(e.Tool, e.Server)
	var c *call
	if e.CallID != "" {
		c = b.withID(witness, e.CallID, tool, e.Arguments)
	} else if k := argsKey(tool, e.Arguments); b.seen.next(witness, "args:"+k) <= len(b.byArgs[k]) {
		c = b.byArgs[k][b.seen[witness+"\x00args:"+k]-1]
	}
	if c == nil {
		c = b.newCall(it, e.CallID, e.Tool, e.Server, e.Arguments)
	} else {
		b.merge(c.node, it, "", true)
		b.setArgs(c, e.Arguments)
	}
	if c.server == "" {
		c.server = server
	}
	if c.tool == "" {
		c.tool = tool
	}
	c.requested = true
	c.argsCut = c.argsCut || e.Truncated
	c.argsRedacted = c.argsRedacted || e.Redacted
	if c.node.responseID == "" {
		c.node.responseID = e.ResponseID
	}
	return c
}

// withID is the call of an id. Ids that models make are one call each; counters that begin again with every turn are told
// apart by how often a witness tells of them and by what was called.
func (b *builder) withID(witness, id, tool, args string) *call {
	known := b.byID[id]
	if len(known) == 0 {
		b.seen.next(witness, "id:"+id)
		return nil
	}
	if !counted(id) {
		return known[0]
	}
	if nth := b.seen.next(witness, "id:"+id); nth <= len(known) {
		return known[nth-1]
	}
	last := known[len(known)-1]
	if !strings.HasPrefix(witness, historyWitness) && last.tool == tool && args != "" && canonicalArgs(last.args) == canonicalArgs(args) {
		return last // told again, not done again
	}
	return nil
}

// counted says whether an id looks like a counter: "0", "call_3".
func counted(id string) bool {
	digits := len(id) - len(strings.TrimRight(id, "0123456789"))
	return len(id) < 12 || digits > 0 && digits <= 3 && !strings.ContainsAny(id[:len(id)-digits], "0123456789")
}

// calls merges executions, results and denials into the calls that were asked.
func (b *builder) calls() {
	for i := range b.rd.items {
		it := &b.rd.items[i]
		if e, ok := it.event.(*convention.ToolCall); ok && e.Source == convention.SourceExecution {
			b.execution(it, e)
		}
	}
	for i := range b.rd.items {
		it := &b.rd.items[i]
		if e, ok := it.event.(*convention.ToolResult); ok && e.Source == convention.SourceExecution {
			b.ranResult(it, e)
		}
	}
	for _, a := range b.answers {
		b.toldResult(a)
	}
	for i := range b.rd.items {
		it := &b.rd.items[i]
		if e, ok := it.event.(*convention.Denial); ok {
			b.denied(it, e)
		}
	}
	for _, c := range b.all {
		b.conclude(c)
	}
}

// execution finds the call that a tool span or log tells to have run.
func (b *builder) execution(it *item, e *convention.ToolCall) {
	c := b.executed(it, e.CallID, e.Tool, e.Arguments)
	if c == nil {
		c = b.newCall(it, e.CallID, e.Tool, e.Server, e.Arguments)
		c.node.told = true
	}
	tool, server := split(e.Tool, e.Server)
	if c.server == "" {
		c.server = server
	}
	if c.tool == "" {
		c.tool = tool
	}
	b.setArgs(c, e.Arguments)
	if at := it.meta.At; at != 0 && (c.node.at == 0 || at < c.node.at || !c.node.told) {
		c.node.at = at
	}
	c.executed = true
	c.argsCut = c.argsCut || e.Truncated && !c.requested
	c.argsRedacted = c.argsRedacted || e.Redacted
	b.ofRow[it.row] = c
	if it.row.Signal != "log" && it.row.SpanID != "" {
		b.ofSpan[it.span()] = c
		if c.span.span == "" {
			c.span = it.span()
		}
	}
	if c.node.agent == "" {
		c.node.agent = it.agent
	}
	if c.node.responseID == "" {
		c.node.responseID = e.ResponseID
	}
}

// executed looks for the call: by id, among spans above that run the same tool, by arguments, by tool.
func (b *builder) executed(it *item, id, tool, args string) *call {
	tool, _ = split(tool, "")
	witness := "ran\x00" + it.witness
	if id != "" {
		if c := b.withID(witness, id, tool, args); c != nil {
			return c
		}
		for _, c := range b.byArgs[argsKey(tool, args)] {
			if c.id == "" && !c.executed {
				c.id = id
				b.byID[id] = append(b.byID[id], c)
				return c
			}
		}
		return nil
	}
	if above := b.runningAbove(it, tool); above != nil {
		return above
	}
	nth := b.seen.next(witness, "args:"+argsKey(tool, args))
	var first *call
	for _, c := range b.all {
		if c.executed || c.tool != tool || it.meta.At != 0 && c.node.at > max(it.meta.At, it.row.EndedUnixNano) && c.node.told {
			continue
		}
		if sameArgs(c.args, args) {
			return c
		}
		if first == nil && (args == "" || c.args == "") {
			first = c
		}
	}
	if first == nil {
		return b.ranBefore(tool, args, nth)
	}
	return first
}

// ranBefore is the nth call of a tool with these arguments, although another witness told that it ran: this one tells the
// same without an id.
func (b *builder) ranBefore(tool, args string, nth int) *call {
	for _, c := range b.all {
		if c.tool != tool || !c.executed || args != "" && !sameArgs(c.args, args) {
			continue
		}
		if nth--; nth == 0 {
			return c
		}
	}
	return nil
}

// runningAbove is the call of the same tool whose execution the span is a part of, as an MCP request is of its tool.
func (b *builder) runningAbove(it *item, tool string) (found *call) {
	b.rd.up(it.span(), func(s spanID) bool {
		c, ok := b.ofSpan[s]
		if ok && s != it.span() {
			if c.tool == tool {
				found = c
			}
			return false
		}
		return true
	})
	return found
}

// sameArgs says whether bare text is the only value of the arguments, or both are equal.
func sameArgs(asked, ran string) bool {
	if canonicalArgs(asked) == canonicalArgs(ran) {
		return true
	}
	var m map[string]any
	if json.Unmarshal([]byte(asked), &m) != nil || len(m) != 1 {
		return false
	}
	for _, v := range m {
		s, ok := v.(string)
		return ok && strings.TrimSpace(s) == strings.TrimSpace(ran)
	}
	return false
}

func (b *builder) ranResult(it *item, e *convention.ToolResult) {
	c := b.ofRow[it.row]
	if c == nil {
		c = b.finished(it, e)
	}
	if c == nil {
		c = b.newCall(it, e.CallID, e.Tool, "", "")
		c.node.told = true
	}
	c.executed = true
	c.ran = stronger(c.ran, e.Outcome)
	if c.ranText == "" || c.ranCut && !e.Truncated && e.Text != "" {
		c.ranText, c.ranCut = e.Text, e.Truncated
	}
	c.resultRedacted = c.resultRedacted || e.Redacted
	if e.ExitCode != nil {
		c.exit = e.ExitCode
	}
	r := c.result
	if it.meta.At != 0 && (!r.told || it.meta.At > r.at) {
		r.at = it.meta.At
	}
	r.told, r.span, r.order = true, it.span(), it.order
}

// finished finds the call of a result whose record tells no call: by id, else the oldest open one of its tool.
func (b *builder) finished(it *item, e *convention.ToolResult) *call {
	if e.CallID != "" {
		witness := "result\x00" + it.witness
		if known := b.byID[e.CallID]; len(known) > 0 {
			return known[min(b.seen.next(witness, "id:"+e.CallID), len(known))-1]
		}
		return nil
	}
	tool, _ := split(e.Tool, "")
	for _, c := range b.all {
		if c.tool == tool && c.ran == convention.OutcomeUnknown && c.ranText == "" && (c.node.at <= it.meta.At || it.meta.At == 0) {
			return c
		}
	}
	return nil
}

// toldResult takes what a later model input says came back.
func (b *builder) toldResult(a answer) {
	c, e := a.call, a.result
	if c == nil && e.CallID != "" {
		if known := b.byID[e.CallID]; len(known) > 0 {
			c = known[min(b.seen.next(a.witness, "answer:"+e.CallID), len(known))-1]
		}
	}
	if c == nil {
		if e.CallID == "" && e.Tool == "" {
			b.warnings["unmatched_results"]++
			return
		}
		c = b.newCall(a.it, e.CallID, e.Tool, "", "")
	}
	if !c.answered && !c.result.told {
		if a.it.meta.At != 0 {
			c.result.at = a.it.meta.At
		}
		c.result.span = a.it.span()
	}
	c.told = stronger(c.told, e.Outcome)
	if !c.answered || c.toldText == "" || c.toldCut && !e.Truncated && e.Text != "" {
		c.toldText, c.toldCut = e.Text, e.Truncated
	}
	c.answered = true
	c.resultRedacted = c.resultRedacted || e.Redacted
	if e.ExitCode != nil && c.exit == nil {
		c.exit = e.ExitCode
	}
}

// callAbove is the call in whose execution the record lies.
func (b *builder) callAbove(it *item) (found *call) {
	b.rd.up(it.span(), func(s spanID) bool {
		found = b.ofSpan[s]
		return found == nil
	})
	return found
}

// denied finds the call that a decision stopped.
func (b *builder) denied(it *item, e *convention.Denial) {
	var c *call
	if e.CallID != "" {
		if known := b.byID[e.CallID]; len(known) > 0 {
			c = known[min(b.seen.next("denied\x00"+it.witness, "id:"+e.CallID), len(known))-1]
		}
	} else if above := b.callAbove(it); above != nil && (e.Tool == "" || above.tool == e.Tool) {
		c = above // the decision is a span of its own below the tool's
	} else {
		tool, _ := split(e.Tool, "")
		for _, k := range b.all {
			if k.tool == tool && k.denial == nil && (e.Arguments == "" || k.args == "" || sameArgs(k.args, e.Arguments)) &&
				(k.node.at <= it.meta.At || it.meta.At == 0) {
				c = k
			}
		}
	}
	if c == nil && e.Tool == "" && e.CallID == "" {
		b.warnings["unmatched_denials"]++
		return
	}
	if c == nil {
		c = b.newCall(it, e.CallID, e.Tool, "", e.Arguments)
	}
	b.setArgs(c, e.Arguments)
	if c.denial == nil || c.denial.Text == "" && e.Text != "" {
		c.denial = e
	}
	if c.result.at == 0 || !c.executed && !c.answered {
		c.result.at = max(it.meta.At, c.node.at)
		if c.result.span.span == "" {
			c.result.span = it.span()
		}
	}
}
