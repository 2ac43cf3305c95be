package store

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
)

// location is a parsed root: a directory, or a bucket and a prefix without slashes around it.
type location struct {
	path           string
	bucket, prefix string
}

func parseURI(uri string) (location, error) {
	fail := func(reason, hint string) (location, error) {
		return location{}, &Error{Op: "open", URI: redact(uri), Err: fmt.Errorf("%w: %s", ErrBadURI, reason), Hint: hint}
	}
	if strings.ContainsRune(uri, 0) {
		return fail("it has a NUL", "")
	}
	scheme, rest, ok := cutScheme(uri)
	switch {
	case uri == "":
		return fail("it is empty", "give a directory, file:///dir or s3://bucket/prefix")
	case !ok:
		return location{path: uri}, nil
	case scheme == "file":
		path, err := filePath(rest)
		if err != nil {
			return fail(err.Error(), "write a plain path instead")
		}
		return location{path: path}, nil
	case scheme == "s3":
		return parseS3(rest, fail)
	case scheme == "s3a" || scheme == "s3n":
		return fail(fmt.Sprintf("unknown scheme %q, known are file:// and s3://", scheme), "write s3:// instead")
	}
	return fail(fmt.Sprintf("unknown scheme %q, known are file:// and s3://", scheme), "copy or mount what lies there and give the directory, or give an s3:// URL with the service's S3 endpoint in AWS_ENDPOINT_URL_S3")
}

func parseS3(rest string, fail func(reason, hint string) (location, error)) (location, error) {
	rest, found := strings.CutPrefix(rest, "//")
	bucket, prefix, _ := strings.Cut(rest, "/")
	switch {
	case !found || bucket == "":
		return fail("no bucket", "write s3://bucket/prefix")
	case strings.Contains(bucket, "@"):
		return fail("credentials do not belong into a URL",
			"set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or a role instead")
	case strings.ContainsAny(rest, "?#"):
		return fail("a query or fragment is not part of a root", "")
	case len(bucket) < 3 || len(bucket) > 255 || strings.ContainsFunc(bucket, notBucket):
		return fail(fmt.Sprintf("%q is no bucket name", bucket), "")
	}
	prefix = strings.Trim(prefix, "/")
	if prefix != "" {
		if err := checkNewKey("open", "s3://"+bucket, prefix); err != nil {
			return location{}, err
		}
	}
	return location{bucket: bucket, prefix: prefix}, nil
}

func notBucket(r rune) bool {
	lower := r | 0x20
	return (lower < 'a' || lower > 'z') && (r < '0' || r > '9') && r != '.' && r != '-' && r != '_'
}

// filePath turns what stands behind "file:" into a path: ///abs, //localhost/abs, and, because people write them,
// the relative //dir, //./dir and dir.
func filePath(rest string) (string, error) {
	if strings.ContainsAny(rest, "?#") {
		return "", fmt.Errorf("a query or fragment is not part of a root")
	}
	path, err := url.PathUnescape(rest)
	if err != nil {
		return "", fmt.Errorf("bad percent escape")
	}
	if authority, ok := strings.CutPrefix(path, "//"); ok {
		path = authority
		if abs, ok := strings.CutPrefix(authority, "localhost/"); ok {
			path = "/" + abs
		}
	}
	if path == "" || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("no directory")
	}
	return filepath.FromSlash(path), nil
}

// cutScheme splits "scheme:rest". One letter is a drive, and a scheme that is not followed by // is one only for file:
// a directory may be called a:b.
func cutScheme(uri string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(uri, ":")
	if !ok || len(scheme) < 2 || strings.ContainsFunc(scheme, notScheme) {
		return "", "", false
	}
	scheme = strings.ToLower(scheme)
	if scheme != "file" && !strings.HasPrefix(rest, "//") {
		return "", "", false
	}
	return scheme, rest, true
}

func notScheme(r rune) bool {
	lower := r | 0x20
	return (lower < 'a' || lower > 'z') && (r < '0' || r > '9') && r != '+' && r != '-' && r != '.'
}

// redact removes from a URL what may be secret: user information, query and fragment. It cuts text instead of parsing
// it, since what does not parse may hold a password too.
func redact(uri string) string {
	scheme, rest, ok := cutScheme(uri)
	if !ok {
		return uri // a path has no such parts
	}
	rest, slashes := strings.CutPrefix(rest, "//")
	at, mark := strings.LastIndexByte(rest, '@'), strings.IndexAny(rest, "?#")
	switch {
	case mark >= 0 && mark < at: // a query with an @, or a password with a question mark: nobody knows
		rest = "…"
	case mark >= 0:
		rest = rest[:mark+1] + "…"
	}
	if at >= 0 && rest != "…" { // a secret may hold a slash, so everything up to the last @ counts as one
		rest = "…@" + rest[at+1:]
	}
	sep := ":"
	if slashes {
		sep = "://"
	}
	return scheme + sep + rest
}
