package store

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func flaky(kind error) error {
	return &Error{Op: "get", URI: "s3://lake/k", Err: &cause{kind: kind, transient: true, text: "later"}}
}

func TestRetrierBounds(t *testing.T) {
	for _, c := range []struct {
		name  string
		err   error
		tries int
		least time.Duration
		most  time.Duration
	}{
		{"transient", flaky(nil), 6, 775 * time.Millisecond, 3100 * time.Millisecond},
		{"throttled", flaky(ErrThrottled), 6, 3 * time.Second, 12 * time.Second},
		{"final", &Error{Err: ErrDenied}, 1, 0, 0},
		{"foreign", io.EOF, 1, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := retrier{attempts: 6, base: retryBase, max: retryMax, log: slog.New(slog.DiscardHandler)}
				start, tries := time.Now(), 0
				err := r.do(t.Context(), func(try int) error {
					if try != tries {
						t.Errorf("try %d, want %d", try, tries)
					}
					tries++
					return c.err
				})
				took := time.Since(start)
				if tries != c.tries || took < c.least || took > c.most || !errors.Is(err, errors.Unwrap(c.err)) && !errors.Is(err, c.err) {
					t.Errorf("%d tries in %v, %v; want %d in %v to %v", tries, took, err, c.tries, c.least, c.most)
				}
			})
		})
	}
}

func TestRetrierStopsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the user pressed a key")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(why) })
		start := time.Now()
		r := retrier{attempts: 6, base: time.Hour, max: time.Hour, log: slog.New(slog.DiscardHandler)}
		err := r.do(ctx, func(int) error { return flaky(ErrThrottled) })
		if !errors.Is(err, why) || !errors.Is(err, ErrThrottled) || time.Since(start) != 10*time.Millisecond {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// deadBody gives some bytes and then nothing until the request is cancelled.
type deadBody struct {
	io.Reader
	ctx context.Context
}

func (b deadBody) Read(p []byte) (int, error) {
	if n, err := b.Reader.Read(p); err == nil {
		return n, nil
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (b deadBody) Close() error { return nil }

// TestS3DeadConnections: a server that stops to answer costs a bounded time, and a resumed stream goes on.
func TestS3DeadConnections(t *testing.T) {
	newFakeS3(t) // for its environment
	open := func(t *testing.T, answer roundTrip) Store {
		s, err := Open(t.Context(), "s3://lake", Options{MaxAttempts: 3, HTTPClient: &http.Client{Transport: answer}})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, call := range map[string]func(ctx context.Context, s Store) error{
		"get":  func(ctx context.Context, s Store) error { _, _, err := s.Get(ctx, "k", ""); return err },
		"stat": func(ctx context.Context, s Store) error { _, err := s.Stat(ctx, "k"); return err },
		"put": func(ctx context.Context, s Store) error {
			_, err := s.PutIfAbsent(ctx, "k", strings.NewReader("x"), PutOptions{})
			return err
		},
		"list": func(ctx context.Context, s Store) (err error) {
			for _, err = range s.List(ctx, "", ListOptions{}) {
			}
			return err
		},
		"delete": func(ctx context.Context, s Store) error { return s.Delete(ctx, "k") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := 0
				s := open(t, func(r *http.Request) (*http.Response, error) {
					requests++
					<-r.Context().Done()
					return nil, r.Context().Err()
				})
				start := time.Now()
				err := call(t.Context(), s)
				if took := time.Since(start); !errors.Is(err, errStalled) || requests != 3 || took > 3*stallAfter+time.Second {
					t.Errorf("%d requests in %v, %v", requests, took, err)
				}
			})
		})
	}
	t.Run("body", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, func(r *http.Request) (*http.Response, error) {
				h := http.Header{"Etag": {`"e"`}}
				if r.Header.Get("Range") == "bytes=4-7" && r.Header.Get("If-Match") == `"e"` {
					h.Set("Content-Range", "bytes 4-7/8")
					return &http.Response{StatusCode: 206, Header: h, ContentLength: 4, Body: io.NopCloser(strings.NewReader("5678"))}, nil
				}
				h.Set("Content-Length", "8")
				return &http.Response{StatusCode: 200, Header: h, ContentLength: 8, Body: deadBody{strings.NewReader("1234"), r.Context()}}, nil
			})
			start := time.Now()
			b, _, err := s.Get(t.Context(), "k", "")
			if took := time.Since(start); err != nil || string(b) != "12345678" || took < stallAfter || took > stallAfter+time.Second {
				t.Errorf("%q after %v, %v", b, took, err)
			}
		})
	})
}
