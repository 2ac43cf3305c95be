package exports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxAnswer caps what is read of an answer.
const maxAnswer = 16 << 20

// API is a JSON API over HTTP.
type API struct {
	Base   string // without a slash at its end
	Client *http.Client
	Box    *Outbox
	// Auth sets the headers of a request, credentials among them, and returns those, so that no message ever shows them.
	Auth func(ctx context.Context, h http.Header) (secrets []string, err error)
}

// Request is one call.
type Request struct {
	Method string
	Path   string // below Base
	Query  url.Values
	// Body is sent as JSON unless Open is set, which opens the bytes of a file.
	Body        any
	Open        func() (io.ReadCloser, error)
	Length      int64
	ContentType string
	Header      http.Header
	// Once marks a call that the platform carries out twice when asked twice. When its answer is lost it is not repeated: the
	// error wraps ErrUncertain.
	Once bool
}

// StatusError is an answer that is no success.
type StatusError struct {
	Method, Path string
	Status       int
	Message      string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %d %s: %s", e.Method, e.Path, e.Status, http.StatusText(e.Status), e.Message)
}

// IsStatus says whether err is an answer with this status.
func IsStatus(err error, status int) bool {
	e, ok := errors.AsType[*StatusError](err)
	return ok && e.Status == status
}

// CheckBase refuses an address that a credential must not be sent to: anything but https, except on this machine.
func CheckBase(base string) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("want https://host/path, without user and query")
	}
	ip := net.ParseIP(u.Hostname())
	if local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback(); u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("scheme %q: want https", u.Scheme)
	}
	return nil
}

// Do makes the call and reads the answer into out, if that is not nil. What may pass is tried again.
func (a *API) Do(ctx context.Context, r *Request, out any) error {
	return a.Box.Retry(ctx, func() error { return a.try(ctx, r, out) })
}

func (a *API) try(ctx context.Context, r *Request, out any) error {
	req, secrets, err := a.request(ctx, r)
	if err != nil {
		return err
	}
	resp, err := a.Client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err // its URL may be a signed one
		}
		err = fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case r.Once:
			return fmt.Errorf("%w: %w", ErrUncertain, err)
		}
		return &Retryable{Err: err}
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		if err == nil && len(answer) > maxAnswer {
			return fmt.Errorf("%s %s: the answer has over %d bytes", r.Method, r.Path, maxAnswer)
		}
		if err == nil && out != nil {
			err = json.Unmarshal(answer, out)
		}
		switch {
		case err != nil && r.Once:
			return fmt.Errorf("%w: %s %s: read answer: %w", ErrUncertain, r.Method, r.Path, err)
		case err != nil:
			return &Retryable{Err: fmt.Errorf("%s %s: read answer: %w", r.Method, r.Path, err)}
		}
		return nil
	}
	status := &StatusError{Method: r.Method, Path: r.Path, Status: resp.StatusCode, Message: a.message(answer, secrets)}
	switch s := resp.StatusCode; {
	case s == http.StatusTooManyRequests: // refused, so not carried out
		return &Retryable{Err: status, After: retryAfter(resp.Header, a.Box.Now)}
	case s == http.StatusRequestTimeout || s >= 500:
		if r.Once {
			return fmt.Errorf("%w: %w", ErrUncertain, status)
		}
		return &Retryable{Err: status, After: retryAfter(resp.Header, a.Box.Now)}
	}
	return status
}

func (a *API) request(ctx context.Context, r *Request) (*http.Request, []string, error) {
	var body io.Reader
	length, kind := int64(0), r.ContentType
	switch {
	case r.Open != nil:
		f, err := r.Open()
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", r.Method, r.Path, err)
		}
		body, length = f, r.Length // the client closes it
	case r.Body != nil:
		data, err := JSON(r.Body)
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: encode body: %w", r.Method, r.Path, err)
		}
		body, length = bytes.NewReader(data), int64(len(data))
		if kind == "" {
			kind = "application/json"
		}
	}
	address := a.Base + r.Path
	if len(r.Query) > 0 {
		address += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address, body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: the address is not one", r.Method, r.Path)
	}
	req.ContentLength = length
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for k, v := range r.Header {
		req.Header[k] = v
	}
	if a.Auth == nil {
		return req, nil, nil
	}
	secrets, err := a.Auth(ctx, req.Header)
	if err != nil {
		return nil, nil, fmt.Errorf("%s %s: credentials: %w", r.Method, r.Path, err)
	}
	return req, secrets, nil
}

// message is what a server says, in one line, without what it was told in confidence.
func (a *API) message(answer []byte, secrets []string) string {
	var m struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	text := string(answer)
	if json.Unmarshal(answer, &m) == nil {
		var inner struct {
			Message string `json:"message"`
		}
		if json.Unmarshal(m.Error, &inner) == nil && inner.Message != "" {
			text = inner.Message
		} else if m.Message != "" {
			text = m.Message
		}
	}
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[MASKED:credential]")
		}
	}
	return Cut(a.Box.masked(strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")), 300)
}

func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.Atoi(v); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
