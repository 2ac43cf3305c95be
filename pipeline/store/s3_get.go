package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

func (s *s3Store) Get(ctx context.Context, key, ifMatch string) (b []byte, o Object, err error) {
	if err := checkObjectKey("get", s.URI(), key); err != nil {
		return nil, Object{}, err
	}
	err = s.again(ctx, ifMatch, func() error {
		var r *s3Reader
		if r, o, err = s.open(ctx, "get", key, "", ifMatch); err != nil {
			return err
		}
		if o.Size > s.opts.MaxObjectBytes {
			_ = r.Close()
			return tooLarge("get", s.URI()+"/"+key, o.Size, s.opts.MaxObjectBytes)
		}
		b, err = r.all(s.opts.MaxObjectBytes)
		o.Size = int64(len(b))
		return err
	})
	if err != nil {
		return nil, Object{}, err
	}
	return b, o, nil
}

func (s *s3Store) GetRange(ctx context.Context, key string, off, n int64, ifMatch string) (b []byte, err error) {
	if err := checkObjectKey("get", s.URI(), key); err != nil {
		return nil, err
	}
	uri := s.URI() + "/" + key
	if err := checkRange(off, n); err != nil {
		return nil, &Error{Op: "get", URI: uri, Err: err}
	}
	rng := fmt.Sprintf("bytes=%d-%d", off, off+n-1)
	switch {
	case n > s.opts.MaxObjectBytes:
		return nil, tooLarge("get", uri, n, s.opts.MaxObjectBytes)
	case n == 0: // no such range; but a missing object stays an error
		o, err := s.Stat(ctx, key)
		if err == nil && ifMatch != "" && o.ETag != ifMatch {
			err = &Error{Op: "get", URI: uri, Err: changed(ifMatch, o.ETag)}
		}
		return nil, err
	case off < 0:
		rng = fmt.Sprintf("bytes=-%d", n)
	}
	err = s.again(ctx, ifMatch, func() error {
		r, o, err := s.open(ctx, "get", key, rng, ifMatch)
		switch {
		case errors.Is(err, errPastEnd):
			b = nil
			return nil
		case err != nil:
			return err
		case r.end >= 0 && r.end <= off: // the whole, small object in place of an error
			b = nil
			return r.Close()
		case o.Size > n || r.at < off:
			_ = r.Close()
			return &Error{Op: "get", URI: uri, Err: fmt.Errorf("asked for %d bytes at %d, the service sent %d at %d", n, off, o.Size, r.at)}
		}
		b, err = r.all(n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return b, nil
}

// again starts a read over, as long as nothing of it was handed out, when resuming cannot mend it: a checksum did not
// fit, or another object took the place of one that the caller had not asked for by ETag.
func (s *s3Store) again(ctx context.Context, ifMatch string, read func() error) error {
	for try := 0; ; try++ {
		err := read()
		fresh := errors.Is(err, errBody) || (ifMatch == "" && errors.Is(err, ErrChanged))
		if !fresh || try+1 >= s.opts.MaxAttempts || s.retry.wait(ctx, try, err) != nil {
			return err
		}
	}
}

func (s *s3Store) Open(ctx context.Context, key, ifMatch string) (io.ReadCloser, Object, error) {
	if err := checkObjectKey("open", s.URI(), key); err != nil {
		return nil, Object{}, err
	}
	r, o, err := s.open(ctx, "open", key, "", ifMatch)
	if err != nil {
		return nil, Object{}, err
	}
	return r, o, nil
}

// s3Reader is the body of one GET, which it sends again for the rest when the connection breaks.
//
// Invariant: at ≤ end, and every byte before at has been delivered; end is -1 while unknown. All bodies have one ETag.
type s3Reader struct {
	s       *s3Store
	ctx     context.Context //nolint:containedctx // the reader ends with the call that opened it
	op, key string
	etag    string
	at, end int64 // offsets in the object

	body io.ReadCloser // nil between a break and the next attempt
	dog  *watchdog
	live context.Context //nolint:containedctx // of this body: cancelled by dog

	breaks  int   // since refill
	refill  int64 // the offset from which breaks count
	lastErr error
	sticky  error
}

// refillBytes of progress give a stream its attempts back: long objects may meet more breaks than short ones, but a
// server that sends one byte per connection is given up.
const refillBytes = 8 << 20

// errBody marks a body that arrived in full but wrong.
var errBody = errors.New("body is damaged")

// errPastEnd: the range begins at or after the end of the object.
var errPastEnd = errors.New("range past the end")

// open sends the first request, with retries. o.Size is the size of the body, that is of the range when rng asks for one.
func (s *s3Store) open(ctx context.Context, op, key, rng, ifMatch string) (r *s3Reader, o Object, err error) {
	r = &s3Reader{s: s, ctx: ctx, op: op, key: key, etag: ifMatch, end: -1}
	err = s.retry.do(ctx, func(int) error {
		out, err := r.request(rng)
		if err != nil {
			return err
		}
		if out.ContentRange == nil { // not asked for a range, or the whole object is the range
			r.at, r.end = 0, -1
			if out.ContentLength != nil {
				r.end = *out.ContentLength
			}
		} else if r.at, r.end, err = contentRange(out.ContentRange); err != nil {
			r.drop()
			return &Error{Op: op, URI: s.URI() + "/" + key, Err: err}
		}
		r.refill = r.at
		r.etag = unquote(out.ETag)
		o = Object{Key: key, Size: max(0, r.end-r.at), ETag: r.etag, Modified: aws.ToTime(out.LastModified)}
		s.bucketSeen.Store(true)
		return nil
	})
	if err != nil {
		return nil, Object{}, err
	}
	return r, o, nil
}

// request sends one GET and makes its body r's.
func (r *s3Reader) request(rng string) (*s3.GetObjectOutput, error) {
	live, dog := watch(r.ctx, r.s.stall)
	in := &s3.GetObjectInput{Bucket: &r.s.bucket, Key: aws.String(r.s.prefix + r.key), IfMatch: quote(r.etag)}
	if rng != "" {
		in.Range = &rng
	}
	out, err := r.s.client.GetObject(live, in)
	if err != nil {
		err = r.s.fail(live, r.op, r.key, err)
		dog.stop()
		return nil, err
	}
	r.body, r.dog, r.live = out.Body, dog, live
	return out, nil
}

func (r *s3Reader) drop() {
	if r.body != nil {
		r.dog.stop() // first: Close may want to drain what is left, and must not
		_ = r.body.Close()
		r.body = nil
	}
}

func (r *s3Reader) Read(p []byte) (int, error) {
	if r.sticky != nil || len(p) == 0 {
		return 0, r.sticky
	}
	for {
		if r.body == nil {
			if err := r.resume(); err != nil {
				r.sticky = err
				return 0, err
			}
		}
		n, err := r.body.Read(p)
		r.dog.moved()
		r.at += int64(n)
		switch {
		case r.end >= 0 && r.at > r.end:
			r.sticky = r.failure(fmt.Errorf("%w: it is longer than announced", errBody))
			return 0, r.sticky
		case err == nil:
			if n > 0 {
				return n, nil
			}
		case errors.Is(err, io.EOF) && (r.end < 0 || r.at == r.end):
			r.sticky = io.EOF
			return n, io.EOF
		default:
			r.broke(err)
			if r.sticky != nil || n > 0 {
				return n, r.sticky
			}
		}
	}
}

// broke decides whether what ended the body is worth another request.
func (r *s3Reader) broke(err error) {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the size says that there is more
	}
	failed := r.s.fail(r.live, r.op, r.key, err)
	r.drop()
	switch {
	case r.ctx.Err() != nil:
		r.sticky = r.failure(context.Cause(r.ctx))
	case r.end < 0:
		r.sticky = failed // without a size nobody knows what is missing
	case r.at == r.end && transient(failed):
		r.sticky = io.EOF // every byte is here; only the goodbye was lost
	case r.at == r.end:
		// The SDK compares checksums at the end, and its error has no exported type.
		r.sticky = r.failure(fmt.Errorf("%w: %w", errBody, err))
	}
	r.lastErr = failed
}

// resume asks for what is missing, under the ETag of what is here.
func (r *s3Reader) resume() error {
	if r.at-r.refill >= refillBytes {
		r.breaks, r.refill = 0, r.at
	}
	for {
		if r.breaks++; r.breaks >= r.s.opts.MaxAttempts {
			return afterTries(r.lastErr, r.breaks)
		}
		if err := r.s.retry.wait(r.ctx, r.breaks-1, r.lastErr); err != nil {
			return r.failure(err)
		}
		out, err := r.request(fmt.Sprintf("bytes=%d-%d", r.at, r.end-1))
		if err == nil {
			first, end, err := contentRange(out.ContentRange)
			if err != nil || first != r.at || end != r.end || unquote(out.ETag) != r.etag {
				r.drop()
				return r.failure(fmt.Errorf("%w while it was read", ErrChanged))
			}
			return nil
		}
		if !transient(err) {
			if errors.Is(err, ErrNotExist) || errors.Is(err, errPastEnd) {
				err = r.failure(fmt.Errorf("%w while it was read: %w", ErrChanged, err))
			}
			return err
		}
		r.lastErr = err
	}
}

func (r *s3Reader) failure(err error) error {
	return &Error{Op: r.op, URI: r.s.URI() + "/" + r.key, Err: err}
}

// Close ends the request; the connection is kept only if the body was read to its end.
func (r *s3Reader) Close() error {
	r.drop()
	if r.sticky == nil || r.sticky == io.EOF { //nolint:errorlint // ours
		r.sticky = r.failure(errors.New("read after close"))
	}
	return nil
}

// all reads the rest, of at most limit bytes, and closes r.
func (r *s3Reader) all(limit int64) ([]byte, error) {
	defer r.Close() //nolint:errcheck // never fails
	if r.end < 0 {
		b, err := io.ReadAll(io.LimitReader(r, limit+1))
		if err == nil && int64(len(b)) > limit {
			err = tooLarge(r.op, r.s.URI()+"/"+r.key, int64(len(b)), limit)
		}
		return b, err
	}
	b := make([]byte, r.end-r.at)
	if _, err := io.ReadFull(r, b); err != nil && len(b) > 0 {
		return nil, err
	}
	// The end is read too: that is where the checksum is compared.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return nil, err
	}
	return b, nil
}

// contentRange parses "bytes 5-9/100" into 5 and 10.
func contentRange(header *string) (first, end int64, err error) {
	bad := fmt.Errorf("the service answered a range with %q", aws.ToString(header))
	if aws.ToString(header) == "bytes 0--1/0" {
		return 0, 0, nil // how servers built on Go's ServeContent say that the object is empty
	}
	span, ok := strings.CutPrefix(aws.ToString(header), "bytes ")
	span, _, found := strings.Cut(span, "/")
	from, to, dash := strings.Cut(span, "-")
	if !ok || !found || !dash {
		return 0, 0, bad
	}
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if err1 != nil || err2 != nil || first < 0 || last < first {
		return 0, 0, bad
	}
	return first, last + 1, nil
}
