// Package judgetest owns what tests need in place of a model service: a local server that speaks Bedrock's Converse and batch
// jobs, chat completions and Messages strictly, answers by a script or with a valid default, and fails on purpose, by seed; and the contract
// suite of judges.
//
// It does not know evaluators: its default answers follow the schema and the question that it is sent.
package judgetest

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Faults are the shares (0 to 1) of calls that meet a failure. Which calls is decided by the seed, the body and how often
// it was seen, never by the order in which calls arrive.
type Faults struct {
	Throttle    float64 // 429
	Unavailable float64 // 503
	Reset       float64 // the connection is cut
	Slow        float64 // the answer comes after SlowBy
	Malformed   float64 // prose in place of JSON
	Truncated   float64 // stopped at max_tokens
	Refused     float64 // a guardrail stepped in
	WrongSchema float64 // JSON of another form
}

// Call is a call as a script sees it.
type Call struct {
	Model   string
	System  string
	User    string // the first user message
	Repair  string // the last user message of a repair; ""
	Schema  string
	Mode    string // native_schema, forced_tool, auto_tool, text
	Attempt int    // how often this very body was seen, from 1
}

// Answer is what a script answers. Text is the model's text or, in tool modes, the tool's input.
type Answer struct {
	Text       string
	StopReason string // "" what fits
	Status     int    // over 0: an error of this status instead
	Code       string // its error code
	Message    string // and what it says; "" something
	RetryAfter string
}

// Options tunes a [Server]. The zero value answers every valid call with a valid default.
type Options struct {
	Seed    string
	Faults  Faults
	Script  func(Call) Answer
	SlowBy  time.Duration // 0 means 200 ms
	Latency time.Duration
	MaxBody int64 // bytes; 0 means 8 MiB

	// RatePerSecond is the quota of the service: calls above it are throttled at once. 0 is none. Burst is how many calls
	// may come at once; 0 means a second's worth.
	RatePerSecond float64
	Burst         int
	RetryAfter    string // header of such a throttle, "" none
	// Forget keeps no bodies, for runs of many calls: Saw then finds nothing.
	Forget bool
	// Plain takes requests without a schema, too: plain completions, as agent models are asked for them.
	Plain bool
	// Objects is where batch jobs find their records; nil refuses them.
	Objects Objects
	// RefuseModes are modes of structured output that the model does not take.
	RefuseModes []string
	Looks       int // at a batch job until it is done; 0 means 2
	// Look, asked at every look at a batch job, returns the status of a failure, or 0.
	Look func(id string) int
	// NewLimit refuses max_tokens in chat completions: newer models want max_completion_tokens.
	NewLimit bool
}

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	URL  string
	opts Options
	http *httptest.Server
	rate *rate.Limiter

	schemas schemas
	flying  atomic.Int64

	mu       sync.Mutex
	calls    int
	limited  int // throttled by the rate
	batched  int // records of batch jobs
	jobs     map[string]*job
	answered int
	seen     map[string]int // body hash: how often
	bodies   [][]byte       // each distinct body, to be searched
	refused  []string       // why calls were not valid
	models   map[string]int
}

// New starts a server. Close it.
func New(opts Options) *Server {
	s := NewHandler(opts)
	s.http = httptest.NewServer(s.Handler())
	s.URL = s.http.URL
	return s
}

// Handler serves the server's routes, for one that listens elsewhere.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /model/{model}/converse", s.converse)
	mux.HandleFunc("POST /v1/chat/completions", s.chat)
	mux.HandleFunc("POST /v1/messages", s.messages)
	mux.HandleFunc("POST /model-invocation-job", s.createJob)
	mux.HandleFunc("GET /model-invocation-job/{id...}", s.getJob)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, http.StatusNotFound, "UnknownOperationException", "no such operation: "+r.Method+" "+r.URL.Path)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.flying.Add(1)
		defer s.flying.Add(-1)
		mux.ServeHTTP(w, r)
	})
}

// NewHandler is a server without a listener.
func NewHandler(opts Options) *Server {
	opts.SlowBy = cmp.Or(opts.SlowBy, 200*time.Millisecond)
	opts.Looks = cmp.Or(opts.Looks, 2)
	opts.MaxBody = cmp.Or(opts.MaxBody, 8<<20)
	s := &Server{opts: opts, seen: map[string]int{}, models: map[string]int{}, jobs: map[string]*job{}}
	if opts.RatePerSecond > 0 {
		s.rate = rate.NewLimiter(rate.Limit(opts.RatePerSecond), cmp.Or(opts.Burst, max(1, int(opts.RatePerSecond))))
	}
	return s
}

// Close stops the server and waits for calls that are under way.
func (s *Server) Close() {
	if s.http != nil {
		s.http.CloseClientConnections()
		s.http.Close()
	}
}

// Calls is the number of calls that arrived, failed ones included.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// InFlight is the number of calls that are being answered.
func (s *Server) InFlight() int { return int(s.flying.Load()) }

// Answered is the number of calls that were answered with a reply.
func (s *Server) Answered() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answered
}

// Limited is the number of calls that were over the rate.
func (s *Server) Limited() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.limited
}

// Batched is the number of records that batch jobs brought.
func (s *Server) Batched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.batched
}

// BatchFailed is the number of records that batch jobs could not answer.
func (s *Server) BatchFailed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, j := range s.jobs {
		n += j.failed
	}
	return n
}

// Jobs maps the names of the batch jobs that were ordered to how often somebody looked at them.
func (s *Server) Jobs() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]int, len(s.jobs))
	for name, j := range s.jobs {
		out[name] = j.looks
	}
	return out
}

// Bodies maps the SHA-256 of each request body to the number of times it came.
func (s *Server) Bodies() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]int, len(s.seen))
	for k, v := range s.seen {
		out[k] = v
	}
	return out
}

// Refused lists why calls were not valid, in the order of arrival.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// Saw says whether a text ever reached the server, as it stands or inside of a JSON string.
func (s *Server) Saw(text string) bool {
	quoted, err := json.Marshal(text)
	if err != nil {
		return false
	}
	escaped := strings.Trim(string(quoted), `"`)
	twice, err := json.Marshal(escaped)
	if err != nil {
		return false
	}
	forms := []string{text, escaped, strings.Trim(string(twice), `"`)}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.bodies, func(b []byte) bool {
		return slices.ContainsFunc(forms, func(f string) bool { return strings.Contains(string(b), f) })
	})
}

// arrive reads and counts a call. attempt is how often its body was seen.
func (s *Server) arrive(w http.ResponseWriter, r *http.Request) (body []byte, attempt int, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	s.mu.Lock()
	s.calls++
	sum := sha256.Sum256(body)
	key := hex.EncodeToString(sum[:])
	if s.seen[key]++; s.seen[key] == 1 && !s.opts.Forget {
		s.bodies = append(s.bodies, body)
	}
	attempt = s.seen[key]
	s.mu.Unlock()
	if err != nil {
		s.refuse(w, http.StatusRequestEntityTooLarge, "ValidationException", "the body is too long")
		return nil, 0, false
	}
	return body, attempt, true
}

// refuse answers a call that is not valid.
func (s *Server) refuse(w http.ResponseWriter, status int, code, message string) {
	s.mu.Lock()
	s.refused = append(s.refused, message)
	s.mu.Unlock()
	fail(w, status, code, message, "")
}

func fail(w http.ResponseWriter, status int, code, message, retryAfter string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Amzn-Errortype", code)
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	writeJSON(w, map[string]any{"message": message, "error": map[string]any{"message": message, "code": code}})
}

func writeJSON(w io.Writer, v any) {
	// The client may be gone; a test then sees that on its side.
	_ = json.NewEncoder(w).Encode(v)
}

// fault is the name of the failure that a call meets, or "".
func (s *Server) fault(body []byte, attempt int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%s", s.opts.Seed, attempt, body))
	draw := float64(binary.BigEndian.Uint64(sum[:8])>>11) / (1 << 53)
	f := s.opts.Faults
	for _, c := range []struct {
		name  string
		share float64
	}{
		{"throttle", f.Throttle}, {"unavailable", f.Unavailable}, {"reset", f.Reset}, {"slow", f.Slow}, {"malformed", f.Malformed},
		{"truncated", f.Truncated}, {"refused", f.Refused}, {"wrong_schema", f.WrongSchema},
	} {
		if draw < c.share {
			return c.name
		}
		draw -= c.share
	}
	return ""
}

// refusals are the words with which a model refuses a mode.
var refusals = map[string]string{
	"native_schema": "This model doesn't support the outputConfig.textFormat field. Remove it and try again. (response_format)",
	"forced_tool":   "This model doesn't support the toolConfig.toolChoice.tool field. Remove toolConfig.toolChoice.tool and try again.",
	"auto_tool":     "This model doesn't support tool use.",
}

// answer decides what a valid call is answered. done says that the answer was already given.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, body []byte, c Call) (a Answer, done bool) {
	if slices.Contains(s.opts.RefuseModes, c.Mode) {
		fail(w, http.StatusBadRequest, "ValidationException", refusals[c.Mode], "")
		return a, true
	}
	if s.rate != nil && !s.rate.Allow() {
		s.mu.Lock()
		s.limited++
		s.mu.Unlock()
		fail(w, http.StatusTooManyRequests, "ThrottlingException", "Too many requests, please wait before trying again.", s.opts.RetryAfter)
		return a, true
	}
	wait := s.opts.Latency
	fault := s.fault(body, c.Attempt)
	if fault == "slow" {
		wait += s.opts.SlowBy
	}
	if wait > 0 {
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
			return a, true
		}
	}
	switch fault {
	case "throttle":
		fail(w, http.StatusTooManyRequests, "ThrottlingException", "Too many requests, please wait before trying again.", "")
		return a, true
	case "unavailable":
		fail(w, http.StatusServiceUnavailable, "ServiceUnavailableException", "The service is unavailable.", "")
		return a, true
	case "reset":
		panic(http.ErrAbortHandler)
	}
	a, err := s.reply(c)
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "ValidationException", err.Error())
		return a, true
	}
	if a.Status > 0 {
		fail(w, a.Status, a.Code, cmp.Or(a.Message, "scripted"), a.RetryAfter)
		return a, true
	}
	spoil(&a, fault)
	s.mu.Lock()
	s.answered++
	s.models[c.Model]++
	s.mu.Unlock()
	return a, false
}

// takes refuses a schema that the service would refuse, and a request without one unless the server is one for agents, too.
func (s *Server) takes(c *Call) error {
	if c.Schema == "" && s.opts.Plain {
		return nil
	}
	if c.Schema == "" {
		return errors.New("no schema: neither a form of output nor one tool")
	}
	_, err := s.schemas.of(c.Schema)
	return err
}

// reply is the answer of the script, or a valid default.
func (s *Server) reply(c Call) (a Answer, err error) {
	if s.opts.Script != nil {
		return s.opts.Script(c), nil
	}
	if c.Schema == "" && s.opts.Plain {
		return Answer{Text: "Default answer of the test server."}, nil
	}
	schema, err := s.schemas.of(c.Schema)
	if err == nil {
		a.Text, err = schema.reply(c.User)
	}
	return a, err
}

// spoil makes of an answer what a fault makes of it.
func spoil(a *Answer, fault string) {
	switch fault {
	case "malformed":
		a.Text = "I looked at the session and find that all is well."
	case "truncated":
		a.Text, a.StopReason = a.Text[:len(a.Text)/2], "max_tokens"
	case "refused":
		a.Text, a.StopReason = "", "guardrail_intervened"
	case "wrong_schema":
		a.Text = `{"verdict":"met"}`
	}
}

func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}
