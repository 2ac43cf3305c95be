package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/store/storetest"
)

type fault int

const (
	faultNone        fault = iota
	faultInternal          // 500, nothing done
	faultSlowDown          // 503 SlowDown, nothing done
	faultReset             // the connection is reset, nothing done
	faultShortBody         // half of the answer's body, then a reset
	faultLostAnswer        // done, but the connection is reset before the answer
	faultLostFailure       // done, but the answer is a 500
	faultCount
)

func (f fault) String() string {
	return [...]string{"none", "internal error", "slow down", "reset", "short body", "lost answer", "lost behind a 500"}[f]
}

// faultProxy stands before an S3 server and does to requests what choose says.
type faultProxy struct {
	*httptest.Server
	mu     sync.Mutex
	choose func(r *http.Request) fault
	seen   map[fault]int
}

func startFaultProxy(t testing.TB, target string, choose func(r *http.Request) fault) *faultProxy {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &faultProxy{choose: choose, seen: map[fault]int{}}
	transport := closeIdle(t).Transport
	reverse := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // the signature covers it
		},
		ErrorLog: discardLog(),
	}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		f := p.choose(r)
		p.seen[f]++
		p.mu.Unlock()
		switch f {
		case faultInternal:
			answer(w, r, 500, "InternalError")
		case faultSlowDown:
			answer(w, r, 503, "SlowDown")
		case faultReset:
			reset(w)
		case faultShortBody, faultLostAnswer, faultLostFailure:
			rec := httptest.NewRecorder()
			reverse.ServeHTTP(rec, r)
			switch {
			case f == faultLostAnswer:
				reset(w)
			case f == faultLostFailure:
				answer(w, r, 500, "InternalError")
			default:
				for k, v := range rec.Header() {
					w.Header()[k] = v
				}
				w.WriteHeader(rec.Code)
				_, _ = w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
				if r.Method != http.MethodHead && rec.Body.Len() > 0 {
					_ = http.NewResponseController(w).Flush()
					reset(w)
				}
			}
		default:
			reverse.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *faultProxy) count(f fault) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[f]
}

func answer(w http.ResponseWriter, r *http.Request, status int, code string) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>injected</Message></Error>", code)
}

// reset ends the connection as a router does that lost its state: with RST, not with FIN.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// TestStoreContractUnderFaults: every fifth request fails in one way or another, and nobody notices.
func TestStoreContractUnderFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("waits between attempts, up to a minute in all")
	}
	endpoint, access, secret := startS3(t)
	s3Env(t, endpoint, access, secret)
	n := 0
	proxy := startFaultProxy(t, endpoint, func(r *http.Request) fault {
		if r.Method == http.MethodPut && strings.Count(r.URL.Path, "/") == 1 {
			return faultNone // making the bucket is the test's own business
		}
		n++
		if n%5 != 0 {
			return faultNone
		}
		f := faultInternal + fault(n/5)%(faultCount-1)
		lost := f == faultLostAnswer || f == faultLostFailure || f == faultShortBody
		q := r.URL.Query()
		switch {
		case lost && r.Method == http.MethodPost && q.Has("uploads"):
			return faultSlowDown // would leave an upload behind that nobody knows: see store's documentation
		case lost && r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/counter"):
			return faultSlowDown // a replaced write looks like a refused one: see the documentation of store.Store
		}
		return f
	})
	open := buckets(t, closeIdle(t)) // makes buckets without the proxy
	t.Setenv("AWS_ENDPOINT_URL_S3", proxy.URL)
	storetest.Run(t, open)
	for f := range faultCount {
		t.Logf("%v: %d requests", f, proxy.count(f))
		if proxy.count(f) == 0 {
			t.Errorf("%v never happened", f)
		}
	}
}

// TestStoreFaultBounds: what fails for ever ends, after as many requests as were allowed, and says why.
func TestStoreFaultBounds(t *testing.T) {
	endpoint, access, secret := startS3(t)
	s3Env(t, endpoint, access, secret)
	client := closeIdle(t)
	raw := s3Client(t, client)
	bucket := "bounds"
	if _, err := raw.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func(s store.Store) error{
		"get":  func(s store.Store) error { _, _, err := s.Get(t.Context(), "k", ""); return err },
		"stat": func(s store.Store) error { _, err := s.Stat(t.Context(), "k"); return err },
		"list": func(s store.Store) (err error) {
			for _, err = range s.List(t.Context(), "", store.ListOptions{}) {
			}
			return err
		},
		"put": func(s store.Store) error {
			_, err := s.Put(t.Context(), "new", strings.NewReader("x"), store.PutOptions{})
			return err
		},
		"delete": func(s store.Store) error { return s.Delete(t.Context(), "none") },
	}
	const attempts = 3
	for _, f := range []fault{faultInternal, faultSlowDown, faultReset, faultShortBody} {
		for name, call := range calls {
			if f == faultShortBody && name != "get" && name != "list" {
				continue // no body to cut
			}
			t.Run(fmt.Sprintf("%v/%s", f, name), func(t *testing.T) {
				proxy := startFaultProxy(t, endpoint, func(*http.Request) fault { return f })
				t.Setenv("AWS_ENDPOINT_URL_S3", endpoint)
				direct, err := store.Open(t.Context(), "s3://bounds/p", store.Options{HTTPClient: client})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := direct.Put(t.Context(), "k", bytes.NewReader(make([]byte, 1<<20)), store.PutOptions{}); err != nil {
					t.Fatal(err)
				}
				s, err := store.Open(t.Context(), "s3://bounds/p", store.Options{HTTPClient: client, MaxAttempts: attempts, Endpoint: proxy.URL})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				err = call(s)
				if err == nil || (f == faultSlowDown && !errors.Is(err, store.ErrThrottled)) {
					t.Errorf("got error %v", err)
				}
				if n := proxy.count(f); n != attempts {
					t.Errorf("%d requests, want %d", n, attempts)
				}
				if took := time.Since(start); took > 10*time.Second {
					t.Errorf("took %v", took)
				}
			})
		}
	}
}

// TestStoreLostAnswerRaces: writers whose answers get lost must neither lose their win nor share it.
func TestStoreLostAnswerRaces(t *testing.T) {
	endpoint, access, secret := startS3(t)
	s3Env(t, endpoint, access, secret)
	client := closeIdle(t)
	open := buckets(t, client)
	tries := map[string]int{}
	proxy := startFaultProxy(t, endpoint, func(r *http.Request) fault {
		if r.Method != http.MethodPut {
			return faultNone
		}
		// Each writer's first answer is lost, whether it won or not.
		writer := r.Header.Get("X-Amz-Meta-Tracejury-Put")
		if tries[writer]++; tries[writer] > 1 {
			return faultNone
		}
		return faultLostAnswer
	})
	s := open(t)
	s, err := store.Open(t.Context(), s.URI(), store.Options{HTTPClient: client, Endpoint: proxy.URL})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		key := fmt.Sprintf("race/%d", round)
		var mu sync.Mutex
		var wg sync.WaitGroup
		won := 0
		for range 16 {
			wg.Go(func() {
				// All want to write the same bytes: only the mark tells them apart.
				_, err := s.PutIfAbsent(t.Context(), key, strings.NewReader("the same"), store.PutOptions{})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won++
				} else if !errors.Is(err, store.ErrExist) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won != 1 {
			t.Errorf("round %d: %d winners", round, won)
		}
	}
	if n := proxy.count(faultLostAnswer); n != 4*16 {
		t.Errorf("%d answers were lost, want %d", n, 4*16)
	}
}
