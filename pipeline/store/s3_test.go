package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func putString(t testing.TB, s Store, key, body string) Object {
	t.Helper()
	o, err := s.Put(t.Context(), key, strings.NewReader(body), PutOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// count counts requests of a method since the last call.
func (f *fakeS3) count(method string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		if r.Method == method {
			n++
		}
	}
	f.requests = nil
	return n
}

func TestS3Errors(t *testing.T) {
	const secret = "SECRETFAKE"
	for _, c := range []struct {
		name   string
		status int
		code   string
		header map[string]string
		want   error
		hint   string // part of
		tries  int
	}{
		{"denied", 403, "AccessDenied", nil, ErrDenied, "s3:GetObject on arn:aws:s3:::lake/root/k", 1},
		{"unknown key", 403, "InvalidAccessKeyId", nil, ErrNoCredentials, "AWS_PROFILE", 1},
		{"bad signature", 403, "SignatureDoesNotMatch", nil, ErrNoCredentials, "AWS_PROFILE", 1},
		{"expired", 400, "ExpiredToken", nil, ErrNoCredentials, "log in again", 1},
		{"clock", 403, "RequestTimeTooSkewed", nil, ErrDenied, "clock", 1},
		{"no bucket", 404, "NoSuchBucket", nil, ErrNoBucket, "create bucket lake", 1},
		{"no key", 404, "NoSuchKey", nil, ErrNotExist, "", 1},
		{"redirect", 301, "PermanentRedirect", map[string]string{"X-Amz-Bucket-Region": "us-west-2"}, ErrRegion, "AWS_REGION=us-west-2", 1},
		{"redirect without region", 301, "PermanentRedirect", nil, ErrRegion, "does not lie in eu-west-1", 1},
		{"malformed", 400, "AuthorizationHeaderMalformed", map[string]string{"X-Amz-Bucket-Region": "sa-east-1"}, ErrRegion, "sa-east-1", 1},
		{"changed", 412, "PreconditionFailed", nil, ErrChanged, "", 1},
		{"slow down", 503, "SlowDown", nil, ErrThrottled, "concurrency", 3},
		{"429", 429, "TooManyRequests", nil, ErrThrottled, "concurrency", 3},
		{"internal", 500, "InternalError", nil, nil, "", 3},
		{"gateway", 502, "", nil, nil, "", 3},
		{"kms", 400, "KMS.DisabledException", nil, nil, "KMS key", 1},
		{"other", 400, "InvalidRequest", nil, nil, "", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFakeS3(t)
			s := f.open(t, Options{MaxAttempts: 3})
			f.before = func(w http.ResponseWriter, _ *http.Request) bool {
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				fakeError(w, c.status, c.code)
				return true
			}
			_, _, err := s.Get(t.Context(), "k", "etag")
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Op != "get" || e.URI != "s3://lake/root/k" || (c.want != nil && !errors.Is(err, c.want)) {
				t.Fatalf("got %#v, want %v", err, c.want)
			}
			if !strings.Contains(e.Hint, c.hint) || (c.hint == "") != (e.Hint == "") {
				t.Errorf("hint %q, want %q in it", e.Hint, c.hint)
			}
			if n := f.count(http.MethodGet); n != c.tries {
				t.Errorf("%d requests, want %d", n, c.tries)
			}
			if text := err.Error() + e.Hint; strings.Contains(text, secret) || strings.Contains(text, "\n") {
				t.Errorf("error %q", text)
			}
			if c.tries > 1 && !strings.Contains(err.Error(), "after 3 attempts") {
				t.Errorf("error %q does not say how often it was tried", err)
			}
		})
	}
}

func TestS3HeadFindsMissingBucket(t *testing.T) {
	f := newFakeS3(t)
	s := f.open(t, Options{})
	if _, err := s.Stat(t.Context(), "k"); !errors.Is(err, ErrNotExist) {
		t.Errorf("missing key: %v", err)
	}
	f.count(http.MethodHead)
	if _, err := s.Stat(t.Context(), "k"); !errors.Is(err, ErrNotExist) || f.count(http.MethodHead) != 1 {
		t.Errorf("the bucket was asked for twice, or: %v", err)
	}
	s = f.open(t, Options{})
	s.bucket = "lane"
	_, err := s.Stat(t.Context(), "k")
	if !errors.Is(err, ErrNoBucket) || errors.Is(err, ErrNotExist) {
		t.Errorf("missing bucket: %v", err)
	}
}

func TestS3NoCredentials(t *testing.T) {
	f := newFakeS3(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	s := f.open(t, Options{})
	_, err := s.Stat(t.Context(), "k")
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNoCredentials) || !strings.Contains(e.Hint, "AWS_PROFILE") {
		t.Errorf("got %#v", err)
	}
	if n := f.count(http.MethodHead); n != 0 {
		t.Errorf("%d requests without credentials", n)
	}
}

func TestS3Role(t *testing.T) {
	f := newFakeS3(t)
	const arn = "arn:aws:iam::123456789012:role/reader"
	allowed := true
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.Method != http.MethodPost || r.URL.Path != "/":
			if !strings.Contains(r.Header.Get("Authorization"), "Credential=ASIAROLE/") {
				fakeError(w, 403, "InvalidAccessKeyId")
				return true
			}
			return false
		case !allowed:
			w.WriteHeader(403)
			_, _ = io.WriteString(w, `<ErrorResponse><Error><Code>AccessDenied</Code><Message>not you</Message></Error></ErrorResponse>`)
		default:
			_, _ = io.WriteString(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIAROLE</AccessKeyId>`+
				`<SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2126-01-01T00:00:00Z</Expiration>`+
				`</Credentials></AssumeRoleResult></AssumeRoleResponse>`)
		}
		return true
	}
	putString(t, f.open(t, Options{RoleARN: arn}), "k", "x")
	allowed = false
	_, err := f.open(t, Options{RoleARN: arn}).Put(t.Context(), "k", strings.NewReader("x"), PutOptions{})
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNoCredentials) || !strings.Contains(e.Hint, "sts:AssumeRole on "+arn) {
		t.Errorf("got %#v", err)
	}
}

func TestS3NoRegion(t *testing.T) {
	newFakeS3(t)
	t.Setenv("AWS_ENDPOINT_URL", "")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")
	if _, err := Open(t.Context(), "s3://lake", Options{}); !errors.Is(err, ErrRegion) {
		t.Errorf("got %v", err)
	}
	for _, opts := range []Options{{Region: "eu-north-1"}, {Endpoint: "http://127.0.0.1:1"}} {
		if _, err := Open(t.Context(), "s3://lake", opts); err != nil {
			t.Errorf("%+v: %v", opts, err)
		}
	}
}

func TestS3Encryption(t *testing.T) {
	f := newFakeS3(t)
	s := f.open(t, Options{SSE: "aws:kms", KMSKeyID: "key-1"})
	s.opts.PartBytes = 4
	putString(t, s, "small", "x")
	putString(t, s, "large", "0123456789")
	for _, r := range f.requests {
		first := r.Method == http.MethodPost && r.URL.Query().Has("uploads") || r.Method == http.MethodPut && !r.URL.Query().Has("uploadId")
		if got := r.Header.Get("X-Amz-Server-Side-Encryption-Aws-Kms-Key-Id"); first != (got == "key-1") {
			t.Errorf("%s %s: key %q", r.Method, r.URL, got)
		}
	}
}

func TestS3StoredBytesStayEncoded(t *testing.T) {
	f := newFakeS3(t)
	body := []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0}
	f.store("root/a.gz", body, "")
	o := f.objects["root/a.gz"]
	o.encoding = "gzip"
	f.objects["root/a.gz"] = o
	own, err := Open(t.Context(), "s3://lake/root", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Store{"given client": f.open(t, Options{}), "own client": own} {
		if got, _, err := s.Get(t.Context(), "a.gz", ""); err != nil || !bytes.Equal(got, body) {
			t.Errorf("%s: %d bytes, %v; want %d", name, len(got), err, len(body))
		}
	}
	for _, r := range f.requests {
		if got := r.Header.Get("Accept-Encoding"); got != "identity" {
			t.Errorf("asked for Accept-Encoding %q", got)
		}
	}
}

func TestS3ListingMustBeOrdered(t *testing.T) {
	const page = `<ListBucketResult><IsTruncated>%v</IsTruncated>%s%s</ListBucketResult>`
	item := func(keys ...string) (s string) {
		for _, key := range keys {
			s += "<Contents><Key>" + key + "</Key><Size>1</Size></Contents>"
		}
		return s
	}
	for name, body := range map[string]string{
		"disorder":       fmt.Sprintf(page, false, item("root/b", "root/a"), ""),
		"twice":          fmt.Sprintf(page, false, item("root/b", "root/b"), ""),
		"no token":       fmt.Sprintf(page, true, item("root/b"), ""),
		"circle":         fmt.Sprintf(page, true, item("root/b"), "<NextContinuationToken>x</NextContinuationToken>"),
		"outside":        fmt.Sprintf(page, false, item("other/b"), ""),
		"bad encoding":   fmt.Sprintf(page, false, "<EncodingType>url</EncodingType>"+item("root/%zz"), ""),
		"not XML":        "<html>hello",
		"cut in the XML": fmt.Sprintf(page, false, item("root/a"), "")[:60],
	} {
		f := newFakeS3(t)
		s := f.open(t, Options{MaxAttempts: 2})
		f.before = func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, body)
			return true
		}
		errs := 0
		for _, err := range s.List(t.Context(), "", ListOptions{}) {
			if err != nil {
				errs++
			}
		}
		if n := f.count(http.MethodGet); errs != 1 || n > 2 {
			t.Errorf("%s: %d errors, %d requests", name, errs, n)
		}
	}
}

func TestS3ListSkipsMarkers(t *testing.T) {
	f := newFakeS3(t)
	for _, key := range []string{"root/", "root/a", "root/dir/", "root/dir/x", "root/full/", "rooting/a"} {
		f.store(key, []byte("x")[:min(1, strings.Count(key, "x")+strings.Count(key, "a")+strings.Count(key, "f"))], "")
	}
	var got []string
	for o, err := range f.open(t, Options{}).List(t.Context(), "", ListOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Key)
	}
	if want := []string{"a", "dir/x", "full/"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
