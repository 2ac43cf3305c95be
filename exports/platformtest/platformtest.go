// Package platformtest holds one local server for each platform that an export can be pushed to. Each implements exactly the
// calls that a push makes, from their documented shapes: it refuses unknown fields, missing ones, wrong credentials, bad names
// and what is too large, keeps what it was given, and fails where a test says so.
//
// It shares no type with the packages that push: a slip there must not be repeated here.
package platformtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Fault is what goes wrong with one call.
type Fault int

// The faults. Those that end in After happen when the call was carried out: its answer is lost.
const (
	None       Fault = iota
	Throttle         // 429, not carried out
	FailBefore       // 500, not carried out
	FailAfter        // 500, carried out
	DropBefore       // no answer, not carried out
	DropAfter        // no answer, carried out
)

// maxBody is over what any call may send, so that a server can refuse what is too large by its own rule.
const maxBody = 128 << 20

// Recorded is one call as it came, in order.
type Recorded struct {
	Method, Path, Operation string
	Body                    []byte
}

// Server is what the servers of all platforms share.
type Server struct {
	URL string

	mu       sync.Mutex
	fault    func(n int, call Recorded) Fault
	calls    []Recorded
	problems []string
}

// start serves handle, which runs under the lock.
func (s *Server) start(t testing.TB, answer func(status int, message string) (int, any), handle func(r *http.Request, body []byte) (int, any, http.Header)) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		call := Recorded{r.Method, r.URL.Path, r.Header.Get("X-Amz-Target"), body}
		s.calls = append(s.calls, call)
		fault := None
		if s.fault != nil {
			fault = s.fault(len(s.calls), call)
		}
		status, out := 0, any(nil)
		var header http.Header
		switch fault {
		case DropBefore:
			panic(http.ErrAbortHandler)
		case FailBefore:
			status, out = answer(http.StatusInternalServerError, "injected")
		case Throttle:
			status, out = answer(http.StatusTooManyRequests, "slow down")
		default:
			status, out, header = handle(r, body)
			if status >= 400 && status != http.StatusNotFound && status != http.StatusConflict {
				s.problems = append(s.problems, fmt.Sprintf("%s %s %s: %d %v", r.Method, r.URL.Path, call.Operation, status, out))
			}
		}
		switch fault {
		case DropAfter:
			panic(http.ErrAbortHandler)
		case FailAfter:
			status, out = answer(http.StatusInternalServerError, "injected")
		}
		for k, v := range header {
			w.Header()[k] = v
		}
		if w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		switch v := out.(type) {
		case nil:
		case string:
			_, _ = io.WriteString(w, v)
		default:
			_ = json.NewEncoder(w).Encode(v)
		}
	}))
	server.Config.ErrorLog = nil
	t.Cleanup(server.Close)
	s.URL = server.URL
}

// Fail sets what goes wrong: f is asked for every call with its number, from 1, counted since the server began.
func (s *Server) Fail(f func(n int, call Recorded) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

// Calls is every call so far.
func (s *Server) Calls() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Recorded(nil), s.calls...)
}

// Problems is every refusal that is no plain answer to a question: a push that is right meets none.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.problems...)
}

// decode reads a closed JSON value.
func decode(data []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
