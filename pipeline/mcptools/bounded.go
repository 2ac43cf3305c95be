package mcptools

import (
	"io"
	"net/http"
	"sync/atomic"
)

// budget is how many bytes may still be read from a server, over all its answers.
type budget struct{ left atomic.Int64 }

func newBudget(n int64) *budget {
	b := new(budget)
	b.left.Store(n)
	return b
}

func (b *budget) spent() bool { return b.left.Load() < 0 }

// reader counts what is read against the budget.
type reader struct {
	io.ReadCloser
	left *budget
}

func (r reader) Read(p []byte) (int, error) {
	if r.left.spent() {
		return 0, errTooMuch
	}
	n, err := r.ReadCloser.Read(p)
	if r.left.left.Add(-int64(n)) < 0 {
		return n, errTooMuch
	}
	return n, err
}

// bounded is an HTTP transport that reads no more than its budget and hands its token to one host only.
type bounded struct {
	base   http.RoundTripper
	left   *budget
	host   string
	bearer string
}

// RoundTrip implements http.RoundTripper.
func (t *bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.bearer != "" && req.URL.Host == t.host {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+t.bearer)
	}
	resp, err := t.base.RoundTrip(req)
	if err == nil {
		resp.Body = reader{resp.Body, t.left}
	}
	return resp, err
}
