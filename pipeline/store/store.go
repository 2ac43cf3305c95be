// Package store keeps blobs behind one small interface, in a directory (file://) or in a bucket (s3://).
//
// It owns keys, listing order, ranged reads, conditional writes and what "retry" means for each of them. An object
// appears whole or not at all. It must not know what the bytes are: no Parquet, no OTLP, no table layout.
//
// Terms: a root is the URL that a [Store] was opened at; a key is a slash separated path relative to it; an ETag is an
// opaque token that differs whenever the bytes differ. ETags of s3:// are the service's, those of file:// are a hash
// of the content, so that a copied directory has the same ones.
package store

import (
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Object says what is known of one stored blob.
type Object struct {
	Key      string    // relative to the store's root, slash separated
	Size     int64     // in stored bytes; Content-Encoding is never decoded
	ETag     string    // without quotes; empty only under ListOptions.KeysOnly
	Modified time.Time // as the file system or the service tells; never part of an output
}

// ListOptions narrows a listing. The zero value lists everything under the prefix.
type ListOptions struct {
	StartAfter string // only keys greater than this one, in byte order
	KeysOnly   bool   // the caller needs no ETag: file:// then does not read the objects to hash them
}

// PutOptions describes an object that is written.
type PutOptions struct {
	ContentType string // empty means application/octet-stream; file:// has nowhere to keep it
}

// Store is a flat set of objects. Its methods may be called concurrently.
//
// A key to write is 1 to 1024 bytes of UTF-8: segments between single slashes, none of them empty, "." or "..", none
// beginning with ".tracejury", without backslash or control character. Everything that List yields can be read.
//
// Errors are [*Error]; compare them by errors.Is with the sentinels of this package. After an error of a Put other than
// ErrExist, ErrChanged and ErrBadKey it is unknown whether the object was written; it never is there in part. When the
// answer to an attempt was lost, and by the next one someone else has replaced what it wrote, that is ErrExist or
// ErrChanged too: no service can tell these apart, so a caller must bear it.
type Store interface {
	// URI is the root without credentials and without a slash at its end, for example s3://lake/tracejury.
	URI() string

	// List yields the objects whose key begins with prefix (any prefix, not only a folder) in byte order of their
	// keys. An error is yielded once, last. A root that does not exist yet is empty; a bucket that does not is an error.
	// Objects that come or go meanwhile may or may not be seen. Folder markers (empty, key ends in a slash) are no objects.
	List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error]

	// Get reads a whole object of at most Options.MaxObjectBytes (ErrTooLarge past it). With ifMatch, the error is
	// ErrChanged when the object has another ETag.
	Get(ctx context.Context, key, ifMatch string) ([]byte, Object, error)

	// GetRange reads n bytes at off; off < 0 means the last n bytes. It returns fewer only where the object ends:
	// none, and no error, when off is at or past its end.
	GetRange(ctx context.Context, key string, off, n int64, ifMatch string) ([]byte, error)

	// Open streams an object. A read that breaks is resumed where it stopped, as long as the ETag is still the same;
	// otherwise Read fails with ErrChanged. The caller closes the reader, from the goroutine that reads.
	Open(ctx context.Context, key, ifMatch string) (io.ReadCloser, Object, error)

	// Stat tells size and ETag of an object.
	Stat(ctx context.Context, key string) (Object, error)

	// Put writes an object, replacing what is there. Every Put reads body from its start, perhaps several times,
	// and never concurrently with the caller, unless body is also an io.ReaderAt.
	Put(ctx context.Context, key string, body io.ReadSeeker, opts PutOptions) (Object, error)

	// PutIfAbsent writes an object under a free key. If key is taken, the error is ErrExist and what is there is untouched.
	PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker, opts PutOptions) (Object, error)

	// PutIfMatch replaces the object that has this ETag. If it has another one or is gone, the error is ErrChanged.
	PutIfMatch(ctx context.Context, key string, body io.ReadSeeker, etag string, opts PutOptions) (Object, error)

	// Delete removes an object. An absent one is not an error.
	Delete(ctx context.Context, key string) error
}

// Options tunes a store. The zero value takes everything from the environment, as the AWS tools do.
type Options struct {
	Region    string // s3: empty means AWS_REGION or the shared configuration
	Endpoint  string // s3: empty means AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or AWS itself
	PathStyle bool   // s3: bucket in the path; implied by any endpoint other than AWS itself
	RoleARN   string // s3: a role to assume with the credentials found
	SSE       string // s3: "", "AES256" or "aws:kms", asked for on every put
	KMSKeyID  string // s3: with aws:kms; empty means the account's default key

	NoLinks bool // file: symbolic links below the root are not followed

	PartBytes      int64 // s3: larger bodies go up in parts of this size; 0 means 32 MiB, the least is 5 MiB
	MaxObjectBytes int64 // most bytes that Get and GetRange hold in memory; 0 means 512 MiB
	MaxAttempts    int   // s3: tries of one request, and re-openings of one broken stream; 0 means 6

	HTTPClient *http.Client // s3: nil means a client with time limits that honours AWS_CA_BUNDLE and HTTPS_PROXY
	Log        *slog.Logger // one debug record per retry; nil discards
}

const (
	defaultPartBytes      = 32 << 20
	minPartBytes          = 5 << 20 // the least that S3 accepts for any part but the last
	defaultMaxObjectBytes = 512 << 20
	defaultMaxAttempts    = 6
)

func (o Options) withDefaults() (Options, error) {
	if o.PartBytes == 0 {
		o.PartBytes = defaultPartBytes
	}
	if o.MaxObjectBytes == 0 {
		o.MaxObjectBytes = defaultMaxObjectBytes
	}
	if o.MaxAttempts == 0 {
		o.MaxAttempts = defaultMaxAttempts
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	switch {
	case o.PartBytes < minPartBytes:
		return o, fmt.Errorf("store: parts of %d bytes: want at least %d", o.PartBytes, int64(minPartBytes))
	case o.MaxObjectBytes < 0:
		return o, fmt.Errorf("store: limit of %d bytes per object: want more than 0", o.MaxObjectBytes)
	case o.MaxAttempts < 0:
		return o, fmt.Errorf("store: %d attempts: want at least 1", o.MaxAttempts)
	case o.SSE != "" && o.SSE != "AES256" && o.SSE != "aws:kms":
		return o, fmt.Errorf(`store: encryption %q: want "", "AES256" or "aws:kms"`, o.SSE)
	case o.KMSKeyID != "" && o.SSE != "aws:kms":
		return o, fmt.Errorf("store: a KMS key needs encryption aws:kms, not %q", o.SSE)
	}
	return o, nil
}

// Open returns the store at uri: file:///abs/dir, a bare path (relative ones too) or s3://bucket/prefix. It makes no
// request and creates nothing: a wrong bucket or missing credentials show at the first call.
func Open(ctx context.Context, uri string, opts Options) (Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	loc, err := parseURI(uri)
	if err != nil {
		return nil, err
	}
	if loc.bucket != "" {
		return openS3(ctx, loc.bucket, loc.prefix, opts)
	}
	return openDir(loc.path, opts)
}

// Under returns the part of s below prefix as a store of its own. An empty prefix returns s.
func Under(s Store, prefix string) Store {
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return s
	}
	return &under{next: s, prefix: prefix + "/"}
}
