package store

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

const (
	maxKeyBytes    = 1024         // S3's limit
	reservedPrefix = ".tracejury" // names of the lock and of temporary files
)

// checkNewKey decides which keys may be written. It is stricter than either backend, so that what was written to one
// can be copied to the other, to another operating system, and through a proxy that cleans paths.
func checkNewKey(op, root, key string) error {
	reason := ""
	switch {
	case key == "":
		reason = "it is empty"
	case len(key) > maxKeyBytes:
		reason = fmt.Sprintf("it has %d bytes, at most %d are allowed", len(key), maxKeyBytes)
	case !utf8.ValidString(key):
		reason = "it is not UTF-8"
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }):
		reason = "it has a control character or a backslash"
	default:
		for segment := range strings.SplitSeq(key, "/") {
			switch {
			case segment == "" || segment == "." || segment == "..":
				reason = fmt.Sprintf("it has the segment %q", segment)
			case strings.HasPrefix(segment, reservedPrefix):
				reason = "names that begin with " + reservedPrefix + " are reserved"
			}
		}
	}
	return badKey(op, root, key, reason)
}

// checkFileKey decides which keys may be read below a directory: those that name a path inside it and that List may
// yield. File names on disk are not ours, so this is only about staying inside.
func checkFileKey(op, root, key string) error {
	reason := ""
	switch {
	case key == "":
		reason = "it is empty"
	case len(key) > 4*maxKeyBytes:
		reason = "it is too long"
	case strings.ContainsRune(key, 0):
		reason = "it has a NUL"
	case strings.HasPrefix(key, "/") || !filepath.IsLocal(filepath.FromSlash(key)):
		reason = "it leaves the root"
	default:
		for segment := range strings.SplitSeq(key, "/") {
			if segment == "" || segment == "." || segment == ".." || strings.HasPrefix(segment, reservedPrefix) ||
				(filepath.Separator != '/' && strings.ContainsRune(segment, filepath.Separator)) {
				reason = fmt.Sprintf("it has the segment %q", segment)
			}
		}
	}
	return badKey(op, root, key, reason)
}

// checkObjectKey decides which keys may be read from a bucket: any that S3 can hold, since others wrote them.
func checkObjectKey(op, root, key string) error {
	reason := ""
	switch {
	case key == "":
		reason = "it is empty"
	case len(key) > maxKeyBytes:
		reason = "it is too long"
	case !utf8.ValidString(key) || strings.ContainsRune(key, 0):
		reason = "it is not UTF-8 or has a NUL"
	}
	return badKey(op, root, key, reason)
}

func badKey(op, root, key, reason string) error {
	if reason == "" {
		return nil
	}
	if len(key) > 80 {
		key = key[:80] + "…"
	}
	return &Error{Op: op, URI: root, Err: fmt.Errorf("%w %q: %s", ErrBadKey, key, reason)}
}
