package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseURI(t *testing.T) {
	for _, c := range []struct {
		uri  string
		want location
		err  string // part of the error; empty means none
	}{
		{uri: "file:///abs/dir", want: location{path: "/abs/dir"}},
		{uri: "file://localhost/abs", want: location{path: "/abs"}},
		{uri: "file:///with%20space/%25", want: location{path: "/with space/%"}},
		{uri: "file://./rel", want: location{path: "./rel"}},
		{uri: "file://out/lake", want: location{path: "out/lake"}},
		{uri: "file:out", want: location{path: "out"}},
		{uri: "FILE:///abs", want: location{path: "/abs"}},
		{uri: "/abs/100%", want: location{path: "/abs/100%"}},
		{uri: "./rel", want: location{path: "./rel"}},
		{uri: "rel", want: location{path: "rel"}},
		{uri: "..", want: location{path: ".."}},
		{uri: "what:ever/x", want: location{path: "what:ever/x"}},
		{uri: "with space/?#", want: location{path: "with space/?#"}},
		{uri: `c:\data`, want: location{path: `c:\data`}},
		{uri: "s3://lake", want: location{bucket: "lake"}},
		{uri: "s3://lake/", want: location{bucket: "lake"}},
		{uri: "s3://lake/a/b/", want: location{bucket: "lake", prefix: "a/b"}},
		{uri: "S3://lake/a%20b", want: location{bucket: "lake", prefix: "a%20b"}},
		{uri: "s3://my.bucket_1-x/ä", want: location{bucket: "my.bucket_1-x", prefix: "ä"}},

		{uri: "", err: "empty"},
		{uri: "file://", err: "no directory"},
		{uri: "file:///a?b", err: "query"},
		{uri: "file:///a%zz", err: "percent"},
		{uri: "file:///a%00", err: "no directory"},
		{uri: "a\x00b", err: "NUL"},
		{uri: "s3:", want: location{path: "s3:"}},
		{uri: "s3://", err: "no bucket"},
		{uri: "s3:///key", err: "no bucket"},
		{uri: "s3://x", err: "no bucket name"},
		{uri: "s3://buc ket/x", err: "no bucket name"},
		{uri: "s3://lake/a/../b", err: "segment"},
		{uri: "s3://lake/a//b", err: "segment"},
		{uri: "s3://lake/a?versionId=1", err: "query"},
		{uri: "s3://AKID:hush@lake/a", err: "credentials do not belong"},
		{uri: "s3://AKID:hu/sh@lake/a", err: "no bucket name"},
		{uri: "s3a://lake/a", err: "known are file:// and s3://"},
		{uri: "gs://lake/a", err: "known are file:// and s3://"},
		{uri: "https://user:hush@lake.s3.amazonaws.com/a?X-Amz-Signature=hush", err: "unknown scheme \"https\""},
	} {
		got, err := parseURI(c.uri)
		if c.err == "" {
			if err != nil || got != c.want {
				t.Errorf("%q: %+v, %v; want %+v", c.uri, got, err, c.want)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error()+hintOf(err), "hush") {
			t.Errorf("%q: %+v, error %q; want %q in it and no secret", c.uri, got, err, c.err)
		}
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ uri, want string }{
		{"s3://lake/a", "s3://lake/a"},
		{"s3://AKID:hush@lake/a", "s3://…@lake/a"},
		{"s3://AKID:hu/sh@lake/a?x", "s3://…@lake/a?…"},
		{"s3://AKID:hu/sh?h#@lake/a", "s3://…"},
		{"https://h/a?sig=@hush", "https://…"},
		{"https://h/a?X-Amz-Signature=hush#f", "https://h/a?…"},
		{"https://h/a#hush", "https://h/a#…"},
		{"/a@b?c", "/a@b?c"},
	} {
		if got := redact(c.uri); got != c.want {
			t.Errorf("redact(%q) = %q, want %q", c.uri, got, c.want)
		}
	}
}

func FuzzParseURI(f *testing.F) {
	for _, s := range [][3]string{
		{"s3", "hushhush", "lake/a/b"}, {"https", "hush/hush", "h?q=1"}, {"file", "a@b?c#d", "/x"}, {"s3", "", "lake/../x"}, {"a:b", "hushhush", "x/\x00"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, scheme, secret, rest string) {
		if len(secret) < 6 || strings.Contains(scheme+rest+": credentials unknown scheme segment", secret) {
			secret = "wJalrXUtnFEMI/K7MDENG"
		}
		for _, uri := range []string{
			scheme + "://" + rest, rest, scheme + "://key:" + secret + "@" + rest, scheme + "://" + rest + "?sig=" + secret,
		} {
			loc, err := parseURI(uri)
			if _, _, isURL := cutScheme(uri); err != nil {
				if isURL && strings.Contains(err.Error()+hintOf(err), secret) {
					t.Errorf("%q: %v", uri, err)
				}
				continue
			}
			if (loc.path == "") == (loc.bucket == "") || strings.Trim(loc.prefix, "/") != loc.prefix || strings.Contains("/"+loc.prefix+"/", "/../") {
				t.Errorf("%q: %+v", uri, loc)
			}
		}
	})
}

func TestURIOpensTheSameStore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		segment := rapid.StringMatching(`[a-zA-Z0-9 %?#ä@:+~-]{1,12}`)
		dir := "/" + strings.Join(rapid.SliceOfN(segment, 1, 4).Draw(rt, "dir"), "/")
		first, err := Open(t.Context(), dir, Options{})
		if err != nil {
			rt.Fatal(err)
		}
		second, err := Open(t.Context(), first.URI(), Options{})
		if err != nil || second.URI() != first.URI() || second.(*dirStore).root != dir {
			rt.Fatalf("%q became %q, then %v, %v", dir, first.URI(), second, err)
		}
	})
}

func TestOpenOptions(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		uri  string
		opts Options
	}{
		"small parts":      {dir, Options{PartBytes: 1 << 20}},
		"negative limit":   {dir, Options{MaxObjectBytes: -1}},
		"negative tries":   {dir, Options{MaxAttempts: -1}},
		"other encryption": {dir, Options{SSE: "rot13"}},
		"key without kms":  {dir, Options{SSE: "AES256", KMSKeyID: "k"}},
		"a file":           {file, Options{}},
		"endpoint secret":  {"s3://lake", Options{Region: "r", Endpoint: "https://k:hush@host"}},
	} {
		if s, err := Open(t.Context(), c.uri, c.opts); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
}

func TestKeysStayInside(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		key := rapid.StringOf(rapid.SampledFrom([]rune("a./\\\x00%:é"))).Draw(rt, "key")
		for name, check := range map[string]func(op, root, key string) error{"new": checkNewKey, "file": checkFileKey} {
			err := check("get", "file:///root", key)
			if err != nil {
				if !errors.Is(err, ErrBadKey) {
					rt.Fatalf("%s %q: %v", name, key, err)
				}
				continue
			}
			path := filepath.Join("/root", filepath.FromSlash(key))
			if path != "/root/"+key {
				rt.Fatalf("%s %q is taken as %q", name, key, path)
			}
		}
		if checkNewKey("put", "", key) == nil && checkFileKey("get", "", key) != nil {
			rt.Fatalf("%q can be written but not read", key)
		}
	})
}
