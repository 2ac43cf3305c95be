package store

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeS3 is as much of S3 as this package uses, in memory: for tests of our own code under faults that no server can be
// asked for. What S3 really does is tested against versitygw, in testdata/integration.
type fakeS3 struct {
	*httptest.Server
	mu       sync.Mutex
	objects  map[string]fakeObject
	uploads  map[string]*fakeUpload
	ids      int
	pageSize int
	noMeta   bool
	requests []*http.Request // what came, without bodies
	// before may answer itself (true), and after sees what the server is about to say and may change or withhold it.
	before func(w http.ResponseWriter, r *http.Request) bool
	after  func(r *http.Request, rec *httptest.ResponseRecorder) (drop bool)
}

type fakeObject struct {
	body     []byte
	etag     string
	mark     string
	encoding string
}

type fakeUpload struct {
	key, mark string
	parts     map[int][]byte
}

func newFakeS3(t testing.TB) *fakeS3 {
	t.Helper()
	f := &fakeS3{objects: map[string]fakeObject{}, uploads: map[string]*fakeUpload{}, pageSize: 100}
	f.Server = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.Close)
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIDFAKE", "AWS_SECRET_ACCESS_KEY": "SECRETFAKE", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "",
		"AWS_REGION": "eu-west-1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/nonexistent", "AWS_CA_BUNDLE": "",
		"AWS_SHARED_CREDENTIALS_FILE": "/nonexistent", "AWS_ENDPOINT_URL_S3": "", "AWS_ENDPOINT_URL": f.URL,
	} {
		if tt, ok := t.(interface{ Setenv(k, v string) }); ok {
			tt.Setenv(name, value)
		}
	}
	return f
}

// open returns a store on the fake that waits almost nothing between attempts.
func (f *fakeS3) open(t testing.TB, opts Options) *s3Store {
	t.Helper()
	opts.HTTPClient = f.Client()
	s, err := Open(t.Context(), "s3://lake/root", opts)
	if err != nil {
		t.Fatal(err)
	}
	st := s.(*s3Store)
	st.retry.base, st.retry.max = time.Microsecond, time.Millisecond
	return st
}

func (f *fakeS3) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r)
	if f.before != nil && f.before(w, r) {
		return
	}
	rec := httptest.NewRecorder()
	f.handle(rec, r)
	if f.after != nil && f.after(r, rec) {
		panic(http.ErrAbortHandler) // closes the connection without an answer
	}
	announced := strconv.Itoa(rec.Body.Len())
	if n := rec.Header().Get("X-Test-Length"); n != "" { // a body that is cut: announce more than is sent
		announced = n
	}
	for k, v := range rec.Header() {
		if !strings.HasPrefix(k, "X-Test-") {
			w.Header()[k] = v
		}
	}
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", announced)
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

func fakeError(w http.ResponseWriter, status int, code string) {
	w.Header().Set("X-Amz-Request-Id", "REQ1")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>about %s</Message></Error>", code, code)
}

func (f *fakeS3) handle(w http.ResponseWriter, r *http.Request) {
	key, ok := strings.CutPrefix(r.URL.Path, "/lake")
	if !ok {
		fakeError(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	key = strings.TrimPrefix(key, "/")
	q := r.URL.Query()
	old, exists := f.objects[key]
	switch {
	case key == "" && r.Method == http.MethodGet:
		f.list(w, q)
	case key == "": // HEAD of the bucket
	case r.Method == http.MethodPost && q.Has("uploads"):
		f.ids++
		id := strconv.Itoa(f.ids)
		f.uploads[id] = &fakeUpload{key: key, mark: r.Header.Get("X-Amz-Meta-" + markName), parts: map[int][]byte{}}
		_, _ = fmt.Fprintf(w, "<InitiateMultipartUploadResult><UploadId>%s</UploadId></InitiateMultipartUploadResult>", id)
	case q.Has("uploadId"):
		f.upload(w, r, key, q, old, exists)
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		if refused(w, r, old, exists) {
			return
		}
		w.Header().Set("Etag", quoted(f.store(key, body, r.Header.Get("X-Amz-Meta-"+markName))))
	case r.Method == http.MethodDelete:
		delete(f.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case !exists:
		fakeError(w, http.StatusNotFound, "NoSuchKey")
	case refused(w, r, old, exists):
	default:
		w.Header().Set("Etag", quoted(old.etag))
		w.Header().Set("Last-Modified", "Mon, 30 Nov 2026 10:00:00 GMT")
		if old.encoding != "" {
			w.Header().Set("Content-Encoding", old.encoding)
		}
		if old.mark != "" && !f.noMeta {
			w.Header().Set("X-Amz-Meta-"+markName, old.mark)
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(old.body)))
		if r.Method == http.MethodGet {
			w.Header().Del("Content-Length")
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(old.body))
		}
	}
}

func quoted(etag string) string { return `"` + etag + `"` }

func (f *fakeS3) store(key string, body []byte, mark string) string {
	sum := md5.Sum(body)
	etag := hex.EncodeToString(sum[:])
	f.objects[key] = fakeObject{body: body, etag: etag, mark: mark}
	return etag
}

func refused(w http.ResponseWriter, r *http.Request, old fakeObject, exists bool) bool {
	match, none := r.Header.Get("If-Match"), r.Header.Get("If-None-Match")
	switch {
	case match != "" && !exists:
		fakeError(w, http.StatusNotFound, "NoSuchKey")
	case match != "" && match != quoted(old.etag), none == "*" && exists:
		fakeError(w, http.StatusPreconditionFailed, "PreconditionFailed")
	default:
		return false
	}
	return true
}

func (f *fakeS3) upload(w http.ResponseWriter, r *http.Request, key string, q url.Values, old fakeObject, exists bool) {
	body, _ := io.ReadAll(r.Body)
	u := f.uploads[q.Get("uploadId")]
	switch {
	case u == nil:
		fakeError(w, http.StatusNotFound, "NoSuchUpload")
	case r.Method == http.MethodPut:
		n, _ := strconv.Atoi(q.Get("partNumber"))
		u.parts[n] = body
		w.Header().Set("Etag", quoted(strconv.Itoa(n)))
	case r.Method == http.MethodDelete:
		delete(f.uploads, q.Get("uploadId"))
		w.WriteHeader(http.StatusNoContent)
	case refused(w, r, old, exists):
	default:
		var whole []byte
		for n := range len(u.parts) {
			whole = append(whole, u.parts[n+1]...)
		}
		delete(f.uploads, q.Get("uploadId"))
		etag := f.store(key, whole, u.mark)
		_, _ = fmt.Fprintf(w, "<CompleteMultipartUploadResult><ETag>&quot;%s&quot;</ETag></CompleteMultipartUploadResult>", etag)
	}
}

func (f *fakeS3) list(w http.ResponseWriter, q url.Values) {
	type item struct {
		Key, ETag string
		Size      int
	}
	type result struct {
		XMLName               xml.Name `xml:"ListBucketResult"`
		EncodingType          string
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []item
	}
	var keys []string
	for key := range f.objects {
		if strings.HasPrefix(key, q.Get("prefix")) && key > max(q.Get("start-after"), q.Get("continuation-token")) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	out := result{EncodingType: "url"}
	if len(keys) > f.pageSize {
		keys, out.IsTruncated, out.NextContinuationToken = keys[:f.pageSize], true, keys[f.pageSize-1]
	}
	for _, key := range keys {
		o := f.objects[key]
		out.Contents = append(out.Contents, item{url.QueryEscape(key), quoted(o.etag), len(o.body)})
	}
	_ = xml.NewEncoder(w).Encode(out)
}
