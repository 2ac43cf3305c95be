package exports

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/time/rate"
)

// shownBody is how much of a body is shown. What is longer is a file of the export, which can be read there.
const shownBody = 1 << 20

// Call is one call as it is shown: no header, no query but harmless ones, for credentials stand there.
type Call struct {
	Method    string
	URL       string
	Operation string // of an AWS JSON API, "" elsewhere
	Body      []byte
	Left      int64 // bytes of the body that are not shown
}

// WriteText prints the call for a person.
func (c Call) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s %s", c.Method, c.URL)
	if c.Operation != "" {
		fmt.Fprintf(w, " %s", c.Operation)
	}
	fmt.Fprintln(w)
	if len(c.Body) > 0 {
		_, _ = w.Write(bytes.TrimRight(c.Body, "\n")) // stdout: nobody could be told
		fmt.Fprintln(w)
	}
	if c.Left > 0 {
		fmt.Fprintf(w, "… and %d more bytes\n", c.Left)
	}
}

// Tap is the one way out of a push.
type Tap struct {
	Next http.RoundTripper // nil is http.DefaultTransport
	Show func(Call)        // nil shows nothing
}

// Answers gives the answer of a platform in a dry run.
type Answers func(r *http.Request, body []byte) (status int, answer string)

// Client is an HTTP client for one platform: at most perSecond calls, and in a dry run none at all, but what dry answers. It
// follows no redirect: a token would go along.
func (b *Outbox) Client(perSecond float64, dry Answers) *http.Client {
	limit := rate.NewLimiter(rate.Limit(perSecond), max(1, int(perSecond)))
	if b.Unpaced {
		limit.SetLimit(rate.Inf)
	}
	return &http.Client{
		Transport:     &tapped{box: b, dry: dry, limit: limit},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type tapped struct {
	box   *Outbox
	dry   Answers
	limit *rate.Limiter
}

// RoundTrip implements http.RoundTripper.
func (t *tapped) RoundTrip(r *http.Request) (*http.Response, error) {
	tap := t.box.Tap
	if tap == nil {
		tap = &Tap{}
	}
	if !t.box.DryRun {
		if err := t.limit.Wait(r.Context()); err != nil {
			return nil, err
		}
		if tap.Show != nil {
			tap.Show(Call{Method: r.Method, URL: ShownURL(r.URL), Operation: r.Header.Get("X-Amz-Target")})
		}
		next := tap.Next
		if next == nil {
			next = http.DefaultTransport
		}
		return next.RoundTrip(r)
	}
	var body []byte
	var left int64
	if r.Body != nil {
		defer r.Body.Close()
		var err error
		if body, err = io.ReadAll(io.LimitReader(r.Body, shownBody)); err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
		if left, err = io.Copy(io.Discard, r.Body); err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
	}
	if tap.Show != nil {
		tap.Show(Call{Method: r.Method, URL: ShownURL(r.URL), Operation: r.Header.Get("X-Amz-Target"), Body: body, Left: left})
	}
	if t.dry == nil {
		return nil, errors.New("dry run: no call is made")
	}
	status, answer := t.dry(r, body)
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(answer)), ContentLength: int64(len(answer)), Request: r}, nil
}

// ShownURL is a URL without user, fragment and query, but for the query's harmless members: a signed URL carries its key there.
func ShownURL(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	kept := url.Values{}
	for _, k := range []string{"api-version", "limit", "after", "page", "maxResults"} {
		if v := u.Query().Get(k); v != "" {
			kept.Set(k, v)
		}
	}
	shown.RawQuery = kept.Encode()
	return shown.String()
}
