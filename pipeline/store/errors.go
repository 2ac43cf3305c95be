package store

import (
	"errors"
	"fmt"
	"io/fs"
)

// What callers branch on, by errors.Is.
var (
	// ErrNotExist: there is no object under this key.
	ErrNotExist = fs.ErrNotExist
	// ErrExist: PutIfAbsent found the key taken.
	ErrExist = fs.ErrExist
	// ErrChanged: the object has another ETag than the one asked for, or PutIfMatch found it gone.
	ErrChanged = errors.New("object changed")
	// ErrDenied: the credentials (or the file mode) do not allow it.
	ErrDenied = errors.New("access denied")
	// ErrNoCredentials: there are no credentials, or the service does not know them, or they have expired.
	ErrNoCredentials = errors.New("no usable credentials")
	// ErrNoBucket: the bucket does not exist.
	ErrNoBucket = errors.New("no such bucket")
	// ErrRegion: no region is configured, or the bucket lies in another one.
	ErrRegion = errors.New("wrong region")
	// ErrThrottled: the service asked to slow down until the attempts were used up.
	ErrThrottled = errors.New("throttled")
	// ErrTooLarge: the object is larger than Options.MaxObjectBytes; Open streams it.
	ErrTooLarge = errors.New("object too large")
	// ErrBadKey: the key is not one that a store holds.
	ErrBadKey = errors.New("bad key")
	// ErrBadURI: the root is no place that can be opened.
	ErrBadURI = errors.New("not a store")
)

// Error says what was done to which object, and what a person can do about it.
type Error struct {
	Op   string // get, open, stat, list, put, delete
	URI  string // never with credentials
	Err  error
	Hint string // one sentence for the user, or empty
}

func (e *Error) Error() string { return e.Op + " " + e.URI + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// cause is an error of a backend with its meaning: a sentinel (or nil), and whether the same call may succeed later.
type cause struct {
	kind      error
	transient bool
	text      string // what the service or the system said, in one line
	err       error  // for errors.As; nil when text says it all
}

func (c *cause) Error() string {
	switch {
	case c.kind == nil:
		return c.text
	case c.text == "":
		return c.kind.Error()
	}
	return c.kind.Error() + ": " + c.text
}

func (c *cause) Unwrap() []error {
	var list []error
	for _, err := range []error{c.kind, c.err} {
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}

// transient tells whether another attempt makes sense.
func transient(err error) bool {
	c, ok := errors.AsType[*cause](err)
	return ok && c.transient
}

func tooLarge(op, uri string, size, limit int64) error {
	return &Error{
		Op: op, URI: uri, Err: fmt.Errorf("%w: %d bytes, at most %d are read at once", ErrTooLarge, size, limit),
		Hint: "read it as a stream or raise the limit of bytes per object",
	}
}
