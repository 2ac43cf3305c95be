// Package mcptools owns how the tools of a live MCP server are listed: over stdio or streamable HTTP, with the official SDK. It calls
// initialize and tools/list and nothing else: no tool is ever called.
//
// A server is untrusted: time, bytes, pages and tools are bounded, its environment is a short list of harmless variables, and what it says
// stays data. The package does not know what the tools are listed for.
package mcptools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options bounds one listing. The zero value is right.
type Options struct {
	Timeout  time.Duration // of the whole listing; 0 means 30 s
	MaxBytes int64         // that are read from the server; 0 means 32 MiB
	Env      []string      // of a command: variables that it is given beside the harmless ones
	Bearer   string        // of HTTP: sent as a bearer token to the named host only; "" none
}

// Limits of a listing.
const (
	defaultTimeout = 30 * time.Second
	defaultBytes   = 32 << 20
	maxPages       = 200
	maxTools       = 10_000
)

// Listing is what a server offers.
type Listing struct {
	Server  string // its own name, "" where it tells none
	Version string
	Tools   []byte // JSON: a list of tools as tools/list has them, with name, description and inputSchema
	N       int
}

// errTooMuch says that a server sent more than is read.
var errTooMuch = errors.New("the server sent more than is read from one server")

// HTTP lists the tools of the server at an endpoint.
func HTTP(ctx context.Context, endpoint string, opts Options) (Listing, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return Listing{}, fmt.Errorf("list tools of %q: want a URL such as https://host/mcp", endpoint)
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(opts.Timeout, defaultTimeout))
	defer cancel()
	left := newBudget(cmp.Or(opts.MaxBytes, defaultBytes))
	// A transport of its own, so that nothing of this server outlives the listing.
	base := http.DefaultTransport.(*http.Transport).Clone()
	defer base.CloseIdleConnections()
	client := &http.Client{
		Transport: &bounded{base: base, left: left, host: u.Host, bearer: opts.Bearer},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if req.URL.Host != u.Host || len(via) > 3 {
				return fmt.Errorf("the server sends its callers on to %s: name that one if it is meant", req.URL.Host)
			}
			return nil
		},
	}
	transport := &mcp.StreamableClientTransport{Endpoint: endpoint, HTTPClient: client, MaxRetries: -1, DisableStandaloneSSE: true}
	l, err := list(ctx, transport, left)
	if err != nil {
		return Listing{}, fmt.Errorf("list tools of %s: %w", u.Redacted(), err)
	}
	return l, nil
}

// list asks one server.
func list(ctx context.Context, t mcp.Transport, left *budget) (l Listing, err error) {
	defer func() {
		switch {
		case err == nil:
		case left.spent():
			err = errTooMuch
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			err = fmt.Errorf("the server did not answer in time: %w", ctx.Err())
		}
	}()
	client := mcp.NewClient(&mcp.Implementation{Name: "tracejury", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	s, err := client.Connect(ctx, t, nil)
	if err != nil {
		return l, fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = s.Close() }() // the listing is whole or failed by then
	if r := s.InitializeResult(); r != nil && r.ServerInfo != nil {
		l.Server, l.Version = r.ServerInfo.Name, r.ServerInfo.Version
	}
	tools := []tool{}
	cursors := map[string]bool{"": true}
	for cursor := ""; ; {
		page, err := s.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
		if err != nil {
			return l, fmt.Errorf("tools/list: %w", err)
		}
		for _, t := range page.Tools {
			tools = append(tools, tool{t.Name, t.Description, t.InputSchema})
		}
		cursor = page.NextCursor
		switch {
		case len(tools) > maxTools:
			return l, fmt.Errorf("tools/list: more than %d tools", maxTools)
		case cursor == "":
			if l.Tools, err = json.Marshal(tools); err != nil {
				return l, fmt.Errorf("tools/list: %w", err)
			}
			l.N = len(tools)
			return l, nil
		case cursors[cursor]:
			return l, errors.New("tools/list: the server names a page that it gave already")
		case len(cursors) > maxPages:
			return l, fmt.Errorf("tools/list: more than %d pages", maxPages)
		}
		cursors[cursor] = true
	}
}

// tool is a tool as tools/list has it.
type tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	InputSchema any    `json:"inputSchema,omitempty"`
}
