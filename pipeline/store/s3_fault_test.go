package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

func TestS3LostAnswers(t *testing.T) {
	for _, c := range []struct {
		name      string
		size      int
		noMeta    bool
		thief     string // writes this between our write and our retry
		wantErr   error
		wantBytes bool // ours are there in the end
	}{
		{name: "single", size: 3, wantBytes: true},
		{name: "single without metadata", size: 3, noMeta: true, wantBytes: true},
		{name: "single overwritten", size: 3, thief: "other", wantErr: ErrExist},
		{name: "single overwritten by the same bytes", size: 3, thief: "same", wantErr: ErrExist, wantBytes: true},
		{name: "multipart", size: 10, wantBytes: true},
		{name: "multipart without metadata", size: 10, noMeta: true, wantBytes: true},
		{name: "multipart overwritten", size: 10, thief: "other", wantErr: ErrExist},
	} {
		for _, match := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s match=%v", c.name, match), func(t *testing.T) {
				f := newFakeS3(t)
				s := f.open(t, Options{MaxAttempts: 3})
				s.opts.PartBytes = 4
				f.noMeta = c.noMeta
				body := strings.Repeat("b", c.size)
				etag := ""
				if match {
					etag = f.store("root/k", []byte("before"), "")
				}
				lost := false
				f.after = func(r *http.Request, _ *httptest.ResponseRecorder) bool {
					final := r.Method == http.MethodPut && !r.URL.Query().Has("partNumber") ||
						r.Method == http.MethodPost && r.URL.Query().Has("uploadId")
					if !final || lost {
						return false
					}
					lost = true
					switch c.thief {
					case "other":
						f.store("root/k", []byte("theirs"), "their mark")
					case "same":
						f.store("root/k", []byte(body), "their mark")
					}
					return true
				}
				var o Object
				var err error
				want := c.wantErr
				if match {
					o, err = s.PutIfMatch(t.Context(), "k", strings.NewReader(body), etag, PutOptions{})
					if want != nil {
						want = ErrChanged
					}
				} else {
					o, err = s.PutIfAbsent(t.Context(), "k", strings.NewReader(body), PutOptions{})
				}
				if c.size > 4 && want != nil && errors.Is(err, errNoUpload) {
					want = errNoUpload // then the service forgets the condition: unknown, but never a success
				}
				if !errors.Is(err, want) || (want == nil && err != nil) {
					t.Errorf("got %v, want %v", err, want)
				}
				if want == nil && (o.ETag == "" || o.Size != int64(c.size) || o.Key != "k") {
					t.Errorf("got %+v", o)
				}
				if got := string(f.objects["root/k"].body); (got == body) != c.wantBytes {
					t.Errorf("stored %q", got)
				}
				if !lost || len(f.uploads) != 0 {
					t.Errorf("lost %v, %d uploads left", lost, len(f.uploads))
				}
			})
		}
	}
}

func TestS3FirstRefusalIsFinal(t *testing.T) {
	f := newFakeS3(t)
	s := f.open(t, Options{})
	f.noMeta = true
	putString(t, s, "k", "same bytes")
	f.count("")
	if _, err := s.PutIfAbsent(t.Context(), "k", strings.NewReader("same bytes"), PutOptions{}); !errors.Is(err, ErrExist) {
		t.Errorf("got %v: without a retry, equal bytes are another writer's", err)
	}
}

// TestS3BrokenBodies cuts every body after some bytes, and wants the whole object or, below a minimum of progress, an
// error after a bounded number of requests.
func TestS3BrokenBodies(t *testing.T) {
	body := bytes.Repeat([]byte("0123456789abcdef"), 64)
	for _, c := range []struct {
		cut, attempts int
		ok            bool
	}{
		{cut: 1024, attempts: 2, ok: true}, {cut: 300, attempts: 6, ok: true}, {cut: 512, attempts: 3, ok: true},
		{cut: 250, attempts: 3}, {cut: 0, attempts: 4}, {cut: 1, attempts: 5},
	} {
		t.Run(fmt.Sprintf("cut=%d attempts=%d", c.cut, c.attempts), func(t *testing.T) {
			f := newFakeS3(t)
			s := f.open(t, Options{MaxAttempts: c.attempts})
			etag := f.store("root/k", body, "")
			f.after = func(r *http.Request, rec *httptest.ResponseRecorder) bool {
				if r.Method == http.MethodGet && rec.Body.Len() > c.cut {
					rec.Header().Set("X-Test-Length", strconv.Itoa(rec.Body.Len()))
					rec.Body.Truncate(c.cut)
				}
				return false
			}
			r, _, err := s.Open(t.Context(), "k", etag)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if closeErr := r.Close(); closeErr != nil {
				t.Error(closeErr)
			}
			if (err == nil) != c.ok || !bytes.HasPrefix(body, got) || (c.ok && len(got) != len(body)) {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			if n := f.count(http.MethodGet); n > c.attempts {
				t.Errorf("%d requests, want at most %d", n, c.attempts)
			}
			part, err := s.GetRange(t.Context(), "k", 5, 900, etag)
			if (err == nil) != c.ok || (c.ok && !bytes.Equal(part, body[5:905])) {
				t.Errorf("range: %d bytes, %v", len(part), err)
			}
		})
	}
}

func TestS3ResumeNeverMixesObjects(t *testing.T) {
	for _, change := range []string{"replaced", "deleted"} {
		f := newFakeS3(t)
		s := f.open(t, Options{})
		f.store("root/k", bytes.Repeat([]byte("a"), 1000), "")
		f.after = func(r *http.Request, rec *httptest.ResponseRecorder) bool {
			f.after = nil
			rec.Header().Set("X-Test-Length", "1000")
			rec.Body.Truncate(400)
			if delete(f.objects, "root/k"); change == "replaced" {
				f.store("root/k", bytes.Repeat([]byte("b"), 1000), "")
			}
			return false
		}
		r, _, err := s.Open(t.Context(), "k", "") // without ifMatch: the first answer's ETag holds
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		if closeErr := r.Close(); closeErr != nil {
			t.Error(closeErr)
		}
		if !errors.Is(err, ErrChanged) || bytes.Contains(got, []byte("b")) {
			t.Errorf("%s: %d bytes, %v", change, len(got), err)
		}
	}
}

func TestS3WholeReadsStartOver(t *testing.T) {
	for _, ranged := range []bool{false, true} {
		f := newFakeS3(t)
		s := f.open(t, Options{})
		etag := f.store("root/k", bytes.Repeat([]byte("a"), 1000), "")
		read := func(ifMatch string) ([]byte, error) {
			f.after = func(r *http.Request, rec *httptest.ResponseRecorder) bool {
				f.after = nil
				rec.Header().Set("X-Test-Length", "1000")
				rec.Body.Truncate(400)
				f.store("root/k", bytes.Repeat([]byte("b"), 1000), "")
				return false
			}
			if ranged {
				return s.GetRange(t.Context(), "k", 0, 1000, ifMatch)
			}
			b, _, err := s.Get(t.Context(), "k", ifMatch)
			return b, err
		}
		if b, err := read(etag); !errors.Is(err, ErrChanged) {
			t.Errorf("ranged %v, by ETag: %d bytes, %v", ranged, len(b), err)
		}
		f.store("root/k", bytes.Repeat([]byte("a"), 1000), "")
		if b, err := read(""); err != nil || bytes.Count(b, []byte("b")) != 1000 {
			t.Errorf("ranged %v, whatever is there: %d bytes, %v", ranged, len(b), err)
		}
	}
}

func TestS3DamagedBody(t *testing.T) {
	f := newFakeS3(t)
	s := f.open(t, Options{MaxAttempts: 3})
	f.store("root/k", []byte("hello"), "")
	bad := 2 // how many bodies are damaged
	f.after = func(r *http.Request, rec *httptest.ResponseRecorder) bool {
		if r.Method == http.MethodGet {
			rec.Header().Set("X-Amz-Checksum-Crc32", "NhCmhg==") // of hello
			if bad > 0 {
				bad--
				rec.Body.Bytes()[0] ^= 1
			}
		}
		return false
	}
	if b, _, err := s.Get(t.Context(), "k", ""); err != nil || string(b) != "hello" {
		t.Errorf("Get: %q, %v", b, err)
	}
	bad = 1
	r, _, err := s.Open(t.Context(), "k", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r); !errors.Is(err, errBody) {
		t.Errorf("a stream cannot take back what it gave, but: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	bad = 99
	if _, _, err := s.Get(t.Context(), "k", ""); !errors.Is(err, errBody) {
		t.Errorf("Get: %v", err)
	}
}

func TestS3MultipartCleansUp(t *testing.T) {
	for name, fault := range map[string]func(r *http.Request) bool{
		"part": func(r *http.Request) bool {
			return r.Method == http.MethodPut && r.URL.Query().Get("partNumber") == "2"
		},
		"complete": func(r *http.Request) bool { return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") },
	} {
		f := newFakeS3(t)
		s := f.open(t, Options{MaxAttempts: 2})
		s.opts.PartBytes = 4
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for _, cancelled := range []bool{false, true} {
			f.before = func(w http.ResponseWriter, r *http.Request) bool {
				if !fault(r) {
					return false
				}
				if cancelled {
					cancel()
				}
				fakeError(w, http.StatusInternalServerError, "InternalError")
				return true
			}
			_, err := s.Put(ctx, "k", strings.NewReader("0123456789"), PutOptions{})
			if err == nil || errors.Is(err, context.Canceled) != cancelled {
				t.Errorf("%s, cancelled %v: %v", name, cancelled, err)
			}
			if len(f.uploads) != 0 || len(f.objects) != 0 {
				t.Errorf("%s, cancelled %v: %d uploads and %d objects left", name, cancelled, len(f.uploads), len(f.objects))
			}
		}
	}
}
