package store

import (
	"context"
	"io"
	"iter"
	"strings"
)

// under is a store below a prefix of another one. The other one stays a field: a new method of Store must be thought
// through here before this compiles.
type under struct {
	next   Store
	prefix string // ends in a slash
}

func (u *under) URI() string { return u.next.URI() + "/" + strings.TrimSuffix(u.prefix, "/") }

// abs leaves an empty key empty, so that the store below refuses it instead of taking the prefix for an object. A key
// that would leave the prefix does not get past the check.
func (u *under) abs(op, key string) (string, error) {
	reason := ""
	switch {
	case key == "":
		reason = "it is empty"
	case strings.HasPrefix(key, "/") || strings.Contains("/"+key+"/", "/../"):
		reason = "it leaves the root"
	}
	if err := badKey(op, u.URI(), key, reason); err != nil {
		return "", err
	}
	return u.prefix + key, nil
}

func (u *under) rel(o Object) Object {
	o.Key = strings.TrimPrefix(o.Key, u.prefix)
	return o
}

func (u *under) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error] {
	if opts.StartAfter != "" {
		opts.StartAfter = u.prefix + opts.StartAfter
	}
	return func(yield func(Object, error) bool) {
		for o, err := range u.next.List(ctx, u.prefix+prefix, opts) {
			if !yield(u.rel(o), err) {
				return
			}
		}
	}
}

func (u *under) Get(ctx context.Context, key, ifMatch string) ([]byte, Object, error) {
	key, err := u.abs("get", key)
	if err != nil {
		return nil, Object{}, err
	}
	b, o, err := u.next.Get(ctx, key, ifMatch)
	return b, u.rel(o), err
}

func (u *under) GetRange(ctx context.Context, key string, off, n int64, ifMatch string) ([]byte, error) {
	key, err := u.abs("get", key)
	if err != nil {
		return nil, err
	}
	return u.next.GetRange(ctx, key, off, n, ifMatch)
}

func (u *under) Open(ctx context.Context, key, ifMatch string) (io.ReadCloser, Object, error) {
	key, err := u.abs("open", key)
	if err != nil {
		return nil, Object{}, err
	}
	r, o, err := u.next.Open(ctx, key, ifMatch)
	return r, u.rel(o), err
}

func (u *under) Stat(ctx context.Context, key string) (Object, error) {
	key, err := u.abs("stat", key)
	if err != nil {
		return Object{}, err
	}
	o, err := u.next.Stat(ctx, key)
	return u.rel(o), err
}

func (u *under) Put(ctx context.Context, key string, body io.ReadSeeker, opts PutOptions) (Object, error) {
	key, err := u.abs("put", key)
	if err != nil {
		return Object{}, err
	}
	o, err := u.next.Put(ctx, key, body, opts)
	return u.rel(o), err
}

func (u *under) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker, opts PutOptions) (Object, error) {
	key, err := u.abs("put", key)
	if err != nil {
		return Object{}, err
	}
	o, err := u.next.PutIfAbsent(ctx, key, body, opts)
	return u.rel(o), err
}

func (u *under) PutIfMatch(ctx context.Context, key string, body io.ReadSeeker, etag string, opts PutOptions) (Object, error) {
	key, err := u.abs("put", key)
	if err != nil {
		return Object{}, err
	}
	o, err := u.next.PutIfMatch(ctx, key, body, etag, opts)
	return u.rel(o), err
}

func (u *under) Delete(ctx context.Context, key string) error {
	key, err := u.abs("delete", key)
	if err != nil {
		return err
	}
	return u.next.Delete(ctx, key)
}
