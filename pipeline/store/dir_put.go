package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// dirCondition is what must hold of the object that a put replaces.
type dirCondition struct {
	absent bool
	etag   string // must be the object's, unless empty
}

func (d *dirStore) Put(ctx context.Context, key string, body io.ReadSeeker, _ PutOptions) (Object, error) {
	o, err := d.put(ctx, key, body, dirCondition{})
	return o, d.fail("put", key, err)
}

func (d *dirStore) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker, _ PutOptions) (Object, error) {
	o, err := d.put(ctx, key, body, dirCondition{absent: true})
	return o, d.fail("put", key, err)
}

func (d *dirStore) PutIfMatch(ctx context.Context, key string, body io.ReadSeeker, etag string, _ PutOptions) (Object, error) {
	if etag == "" {
		return Object{}, d.fail("put", key, errors.New("no ETag to match"))
	}
	o, err := d.put(ctx, key, body, dirCondition{etag: etag})
	return o, d.fail("put", key, err)
}

// put writes a temporary file, makes it durable and then, under the lock, checks the condition and renames it.
func (d *dirStore) put(ctx context.Context, key string, body io.ReadSeeker, cond dirCondition) (Object, error) {
	if err := checkNewKey("put", d.uri, key); err != nil {
		return Object{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return Object{}, err
	}
	// Looked at before the body is written, so that a lost race costs no disk; decided again under the lock.
	if err := d.holds(ctx, key, cond); err != nil {
		return Object{}, err
	}
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		return Object{}, err
	}
	tmp, err := d.lock.temp(ctx)
	if err != nil {
		return Object{}, err
	}
	defer tmp.discard()
	h := sha256.New()
	size, err := io.Copy(io.MultiWriter(tmp.f, h), reader{ctx, body})
	if err != nil {
		return Object{}, err
	}
	if err := tmp.f.Sync(); err != nil {
		return Object{}, err
	}
	info, err := tmp.f.Stat()
	if err != nil {
		return Object{}, err
	}
	if err := d.publish(ctx, tmp, key, cond); err != nil {
		return Object{}, err
	}
	dir := filepath.Dir(d.path(key))
	if err := syncDirs(dir, dir); err != nil { // without the lock: puts at the same time wait for the disk together
		return Object{}, err
	}
	return Object{Key: key, Size: size, ETag: hexTag(h.Sum(nil)), Modified: info.ModTime()}, nil
}

// publish gives the file its name. The folders above it will survive a crash, the name itself when its folder was synced.
func (d *dirStore) publish(ctx context.Context, tmp *tempFile, key string, cond dirCondition) error {
	unlock, err := d.lock.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.holds(ctx, key, cond); err != nil {
		return err
	}
	path := d.path(key)
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return syscall.EISDIR // what rename and link say of it looks like ErrExist
	}
	dir := filepath.Dir(path)
	known, err := makeDirs(dir)
	if err != nil {
		return err
	}
	if known != dir { // with the lock, since whoever finds them there relies on them
		if err := syncDirs(filepath.Dir(dir), known); err != nil {
			return err
		}
	}
	if cond.absent {
		// link fails on a taken name whoever took it, also a program that does not know our lock.
		if err = os.Link(tmp.f.Name(), path); errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) {
			err = os.Rename(tmp.f.Name(), path) // no hard links here: the check under the lock must do
		}
	} else {
		err = os.Rename(tmp.f.Name(), path)
	}
	return err
}

// holds checks cond against what is there now.
func (d *dirStore) holds(ctx context.Context, key string, cond dirCondition) error {
	switch {
	case cond.absent:
		info, err := os.Lstat(d.path(key))
		switch {
		case err == nil && info.IsDir():
			return syscall.EISDIR
		case err == nil:
			return ErrExist
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		return nil
	case cond.etag != "":
		f, _, err := d.openTagged(ctx, "put", key, cond.etag)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: it is gone", ErrChanged)
		}
		if err != nil {
			return err
		}
		return f.Close()
	}
	return nil
}

// Delete also removes the folders that became empty: a prefix without objects does not exist.
func (d *dirStore) Delete(ctx context.Context, key string) error {
	return d.fail("delete", key, d.remove(ctx, key))
}

func (d *dirStore) remove(ctx context.Context, key string) error {
	if err := checkFileKey("delete", d.uri, key); err != nil {
		return err
	}
	path := d.path(key)
	// No lock, and so no lock file, where there is nothing to remove.
	if info, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || (err == nil && info.IsDir()) {
		return context.Cause(ctx)
	} else if err != nil {
		return err
	}
	unlock, err := d.lock.acquire(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	for dir != d.root && os.Remove(dir) == nil { // fails on the first one that is not empty
		dir = filepath.Dir(dir)
	}
	return syncDirs(dir, dir)
}

// makeDirs creates dir and returns its deepest ancestor (or itself) that existed before.
func makeDirs(dir string) (known string, err error) {
	for known = dir; ; known = filepath.Dir(known) {
		if _, err := os.Stat(known); err == nil || known == filepath.Dir(known) {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return known, os.MkdirAll(dir, 0o755)
}

// syncDirs makes the entries of dir and of its ancestors up to known survive a crash.
func syncDirs(dir, known string) error {
	for {
		f, err := os.Open(dir)
		if err == nil {
			err = f.Sync()
			_ = f.Close()
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // somebody deleted what it held
		}
		if err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) {
			return err
		}
		if dir == known || dir == filepath.Dir(dir) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}
