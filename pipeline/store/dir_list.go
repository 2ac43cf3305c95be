package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// maxListDepth bounds folders within folders; paths on Linux end at 4096 bytes anyway.
const maxListDepth = 256

func (d *dirStore) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		w := &dirWalk{d: d, ctx: ctx, prefix: prefix, opts: opts, yield: yield}
		// Only the folder that prefix names can hold a match; the rest of prefix filters its entries.
		base := ""
		if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
			base = prefix[:i+1]
			if checkFileKey("list", d.uri, strings.TrimSuffix(base, "/")) != nil {
				return // no key of a directory begins like this
			}
		}
		if _, err := w.folder(base, nil); err != nil {
			yield(Object{}, d.fail("list", prefix, err))
		}
	}
}

// dirWalk is one listing.
type dirWalk struct {
	d      *dirStore
	ctx    context.Context //nolint:containedctx // lives within one call of the iterator
	prefix string
	opts   ListOptions
	yield  func(Object, error) bool
}

type dirEntry struct {
	key  string // of a folder, with a slash at its end: so entries sort like the keys below them
	info fs.FileInfo
}

// folder lists what is below base (empty, or ending in a slash). It returns false when the caller wants no more.
// Symbolic links are followed, except to a folder that is being listed already: above holds those.
func (w *dirWalk) folder(base string, above []fs.FileInfo) (more bool, err error) {
	if len(above) >= maxListDepth {
		return false, errors.New("folders are nested too deep")
	}
	if err := context.Cause(w.ctx); err != nil {
		return false, err
	}
	dir := w.d.path(base)
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || (err == nil && !info.IsDir()) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	for _, a := range above {
		if os.SameFile(a, info) {
			return true, nil
		}
	}
	entries, err := w.entries(dir, base)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if strings.HasSuffix(e.key, "/") {
			more, err = w.folder(e.key, append(above, info))
		} else {
			more, err = w.object(e)
		}
		if err != nil || !more {
			return false, err
		}
	}
	return true, nil
}

// entries returns the files and folders of dir that may hold a wanted key, in the order of those keys.
func (w *dirWalk) entries(dir, base string) ([]dirEntry, error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var entries []dirEntry
	for _, name := range names {
		if strings.HasPrefix(name.Name(), reservedPrefix) {
			continue
		}
		key := base + name.Name()
		if !w.wanted(key) && !w.wanted(key+"/") {
			continue
		}
		if w.d.noLinks && name.Type()&fs.ModeSymlink != 0 {
			w.passLink(key)
			continue
		}
		info, err := os.Stat(w.d.path(key)) // follows links
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile, or a link to nothing
			continue
		case errors.Is(err, syscall.ELOOP): // a link to itself
			continue
		case err != nil:
			return nil, &Error{Op: "list", URI: w.d.uri + "/" + key, Err: err}
		case info.IsDir():
			key += "/"
		case !info.Mode().IsRegular():
			continue
		}
		if w.wanted(key) {
			entries = append(entries, dirEntry{key, info})
		}
	}
	slices.SortFunc(entries, func(a, b dirEntry) int { return cmp.Compare(a.key, b.key) })
	return entries, nil
}

// passLink passes a link: what it leads to below the root is listed there, and what lies elsewhere was not asked for.
func (w *dirWalk) passLink(key string) {
	target, err := filepath.EvalSymlinks(w.d.path(key))
	if root := w.d.realRoot(); err != nil || target == root || strings.HasPrefix(target, root+string(filepath.Separator)) {
		return
	}
	w.d.log.Warn("a symbolic link that leads out of the archive is not followed: give what it leads to as a source of its own", "link", w.d.uri+"/"+key)
}

// wanted tells for a key whether it is asked for, and for a folder whether any key below it can be.
func (w *dirWalk) wanted(key string) bool {
	if !strings.HasSuffix(key, "/") {
		return strings.HasPrefix(key, w.prefix) && key > w.opts.StartAfter
	}
	return (strings.HasPrefix(key, w.prefix) || strings.HasPrefix(w.prefix, key)) &&
		(key > w.opts.StartAfter || strings.HasPrefix(w.opts.StartAfter, key))
}

func (w *dirWalk) object(e dirEntry) (more bool, err error) {
	if err := context.Cause(w.ctx); err != nil {
		return false, err
	}
	o := Object{Key: e.key, Size: e.info.Size(), Modified: e.info.ModTime()}
	if !w.opts.KeysOnly {
		f, tagged, err := w.d.openTagged(w.ctx, "list", e.key, "")
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		if err != nil {
			return false, w.d.fail("list", path.Clean(e.key), err)
		}
		_ = f.Close()
		o = tagged
	}
	return w.yield(o, nil), nil
}
