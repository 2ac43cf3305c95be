package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dirStore keeps objects as files below root. Readers take no lock: they see a file as it was when they opened it,
// since writers only ever rename. Writers exclude each other by the lock of dir_lock.go.
type dirStore struct {
	root string // absolute
	uri  string
	max  int64
	tags *tagMemo
	lock *dirLock
	log  *slog.Logger

	noLinks bool
}

func openDir(path string, opts Options) (*dirStore, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, &Error{Op: "open", URI: path, Err: err}
	}
	slashed := filepath.ToSlash(root)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed
	}
	d := &dirStore{
		root: root, max: opts.MaxObjectBytes, tags: newTagMemo(), lock: newDirLock(root),
		log: opts.Log, noLinks: opts.NoLinks,
		uri: strings.TrimSuffix((&url.URL{Scheme: "file", Path: slashed}).String(), "/"),
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return nil, &Error{Op: "open", URI: d.uri, Err: fmt.Errorf("%w: a file, not a directory", ErrBadURI), Hint: "give the folder that holds it"}
	}
	return d, nil
}

func (d *dirStore) URI() string { return d.uri }

func (d *dirStore) path(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

// realRoot is the root without links, which may lead to it.
func (d *dirStore) realRoot() string {
	if real, err := filepath.EvalSymlinks(d.root); err == nil {
		return real
	}
	return d.root
}

func (d *dirStore) fail(op, key string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	e := &Error{Op: op, URI: d.uri, Err: err}
	if key != "" {
		e.URI += "/" + key
	}
	// The path is in the URI already.
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		e.Err = p.Err
	} else if l, ok := errors.AsType[*os.LinkError](err); ok {
		e.Err = l.Err
	}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Err = &cause{kind: ErrDenied, err: e.Err, text: e.Err.Error()}
		e.Hint = fmt.Sprintf("user id %d needs the right to %s below %s", os.Getuid(), op, d.root)
	case errors.Is(err, syscall.ENOTDIR) && op != "put", errors.Is(err, syscall.ENAMETOOLONG) && op != "put":
		e.Err = ErrNotExist // a/b where a is an object: such a key cannot exist
	case errors.Is(err, syscall.ENOSPC):
		e.Hint = "free space on the disk of " + d.root
	case errors.Is(err, syscall.EXDEV):
		e.Hint = "a folder below the root lies on another file system, where no file can be replaced in one step: use it as a root"
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ENOTDIR):
		e.Hint = "a directory cannot hold both an object and a folder of one name"
	}
	return e
}

// openFile opens an object for reading. Anything but a regular file is no object: opening a pipe would wait for ever.
func (d *dirStore) openFile(ctx context.Context, op, key string) (*os.File, fs.FileInfo, error) {
	if err := checkFileKey(op, d.uri, key); err != nil {
		return nil, nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, nil, err
	}
	path := d.path(key)
	if d.noLinks {
		if real, err := filepath.EvalSymlinks(path); err != nil || real != filepath.Join(d.realRoot(), filepath.FromSlash(key)) {
			return nil, nil, ErrNotExist
		}
	}
	if info, err := os.Stat(path); err != nil {
		return nil, nil, err
	} else if !info.Mode().IsRegular() {
		return nil, nil, ErrNotExist
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// openTagged opens an object and learns its ETag, which may cost reading it.
func (d *dirStore) openTagged(ctx context.Context, op, key, ifMatch string) (*os.File, Object, error) {
	f, info, err := d.openFile(ctx, op, key)
	if err != nil {
		return nil, Object{}, err
	}
	tag, err := d.tags.of(ctx, f, info)
	if err == nil && ifMatch != "" && tag != ifMatch {
		err = changed(ifMatch, tag)
	}
	if err != nil {
		_ = f.Close()
		return nil, Object{}, err
	}
	return f, Object{Key: key, Size: info.Size(), ETag: tag, Modified: info.ModTime()}, nil
}

func changed(want, got string) error {
	return fmt.Errorf("%w: ETag is %q, not %q", ErrChanged, got, want)
}

// Get hashes what it read, so that what it returns always has the ETag that it returns; unless the file was hashed before, as
// when it was listed, and has not changed since.
func (d *dirStore) Get(ctx context.Context, key, ifMatch string) ([]byte, Object, error) {
	b, o, err := d.get(ctx, key, ifMatch)
	return b, o, d.fail("get", key, err)
}

func (d *dirStore) get(ctx context.Context, key, ifMatch string) ([]byte, Object, error) {
	f, info, err := d.openFile(ctx, "get", key)
	if err != nil {
		return nil, Object{}, err
	}
	defer f.Close() //nolint:errcheck // only read
	if info.Size() > d.max {
		return nil, Object{}, tooLarge("get", d.uri+"/"+key, info.Size(), d.max)
	}
	tag, known := d.tags.known(identify(info))
	b := make([]byte, info.Size())
	if _, err := io.ReadFull(reader{ctx, f}, b); err != nil && !isEnd(err) {
		return nil, Object{}, err
	}
	after, err := f.Stat()
	if err != nil {
		return nil, Object{}, err
	}
	if !sameContent(after, info) {
		return nil, Object{}, fmt.Errorf("%w while it was read", ErrChanged)
	}
	if !known || identify(after) != identify(info) {
		tag = tagOf(b)
	}
	if ifMatch != "" && tag != ifMatch {
		return nil, Object{}, changed(ifMatch, tag)
	}
	return b, Object{Key: key, Size: int64(len(b)), ETag: tag, Modified: info.ModTime()}, nil
}

func (d *dirStore) GetRange(ctx context.Context, key string, off, n int64, ifMatch string) ([]byte, error) {
	b, err := d.getRange(ctx, key, off, n, ifMatch)
	return b, d.fail("get", key, err)
}

func (d *dirStore) getRange(ctx context.Context, key string, off, n int64, ifMatch string) ([]byte, error) {
	if err := checkRange(off, n); err != nil {
		return nil, err
	}
	f, info, err := d.openFile(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	if ifMatch != "" {
		tag, err := d.tags.of(ctx, f, info)
		if err != nil {
			return nil, err
		}
		if tag != ifMatch {
			return nil, changed(ifMatch, tag)
		}
	}
	if off < 0 {
		off = max(0, info.Size()-n)
	}
	n = min(n, max(0, info.Size()-off))
	if n > d.max {
		return nil, tooLarge("get", d.uri+"/"+key, n, d.max)
	}
	b := make([]byte, n)
	got, err := f.ReadAt(b, off)
	if err != nil && !isEnd(err) {
		return nil, err
	}
	return b[:got], nil
}

// sameContent compares no inode times: being replaced by a rename, as our writers do, does not touch what is read.
func sameContent(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func checkRange(off, n int64) error {
	if n < 0 || (off > 0 && n > math.MaxInt64-off) {
		return fmt.Errorf("range of %d bytes at %d", n, off)
	}
	return nil
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func (d *dirStore) Open(ctx context.Context, key, ifMatch string) (io.ReadCloser, Object, error) {
	f, o, err := d.openTagged(ctx, "open", key, ifMatch)
	if err != nil {
		return nil, Object{}, d.fail("open", key, err)
	}
	return &dirReader{d: d, ctx: ctx, f: f, o: o}, o, nil
}

func (d *dirStore) Stat(ctx context.Context, key string) (Object, error) {
	f, o, err := d.openTagged(ctx, "stat", key, "")
	if err != nil {
		return Object{}, d.fail("stat", key, err)
	}
	_ = f.Close()
	return o, nil
}

// dirReader is a file that knows whether another program wrote into it while it was read.
type dirReader struct {
	d   *dirStore
	ctx context.Context //nolint:containedctx // a reader lives within the call that opened it
	f   *os.File
	o   Object
}

func (r *dirReader) Read(p []byte) (int, error) {
	n, err := reader{r.ctx, r.f}.Read(p)
	if err == io.EOF { //nolint:errorlint // os.File returns it bare
		if info, statErr := r.f.Stat(); statErr == nil && info.Size() == r.o.Size && info.ModTime().Equal(r.o.Modified) {
			return n, io.EOF
		}
		err = fmt.Errorf("%w while it was read", ErrChanged)
	}
	if err != nil {
		err = r.d.fail("open", r.o.Key, err)
	}
	return n, err
}

func (r *dirReader) Close() error { return r.f.Close() }

// reader ends with the cause of ctx once that is done.
type reader struct {
	ctx context.Context //nolint:containedctx // lives within one call
	io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := context.Cause(r.ctx); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}
