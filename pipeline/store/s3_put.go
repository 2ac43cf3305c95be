package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// markName is the metadata entry by which a writer recognises its own object. Bytes alone would not do: two writers may
// want to publish the same ones, and only one of them may win.
const markName = "tracejury-put"

// s3Put is one write, through all of its attempts.
type s3Put struct {
	s           *s3Store
	key         string
	body        io.ReadSeeker
	size        int64
	contentType string
	ifMatch     *string
	ifNoneMatch *string
	mark        string // unique to this write; empty on an unconditional one in a single request
}

func (s *s3Store) Put(ctx context.Context, key string, body io.ReadSeeker, opts PutOptions) (Object, error) {
	return s.put(ctx, &s3Put{s: s, key: key, body: body, contentType: opts.ContentType})
}

func (s *s3Store) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker, opts PutOptions) (Object, error) {
	return s.put(ctx, &s3Put{s: s, key: key, body: body, contentType: opts.ContentType, ifNoneMatch: aws.String("*")})
}

func (s *s3Store) PutIfMatch(ctx context.Context, key string, body io.ReadSeeker, etag string, opts PutOptions) (Object, error) {
	if etag == "" {
		return Object{}, &Error{Op: "put", URI: s.URI() + "/" + key, Err: errors.New("no ETag to match")}
	}
	return s.put(ctx, &s3Put{s: s, key: key, body: body, contentType: opts.ContentType, ifMatch: quote(etag)})
}

func (s *s3Store) put(ctx context.Context, p *s3Put) (o Object, err error) {
	if err := checkNewKey("put", s.URI(), s.prefix+p.key); err != nil {
		return Object{}, err
	}
	if p.size, err = p.body.Seek(0, io.SeekEnd); err != nil {
		return Object{}, p.fail(ctx, fmt.Errorf("size of the body: %w", err))
	}
	if p.ifMatch != nil || p.ifNoneMatch != nil || p.size > s.opts.PartBytes {
		var random [16]byte
		_, _ = rand.Read(random[:]) // never fails
		p.mark = hex.EncodeToString(random[:])
	}
	if p.size > s.opts.PartBytes {
		return p.multipart(ctx)
	}
	err = s.retry.do(ctx, func(try int) error {
		o, err = p.single(ctx)
		return p.settle(ctx, try, &o, err)
	})
	return o, err
}

func (p *s3Put) single(ctx context.Context) (Object, error) {
	if _, err := p.body.Seek(0, io.SeekStart); err != nil {
		return Object{}, p.fail(ctx, err)
	}
	ctx, dog := watch(ctx, p.s.stall)
	defer dog.stop()
	in := &s3.PutObjectInput{
		Bucket: &p.s.bucket, Key: aws.String(p.s.prefix + p.key), Body: movingBody{p.body, dog},
		ContentLength: &p.size, ContentType: p.mediaType(), IfMatch: p.ifMatch, IfNoneMatch: p.ifNoneMatch, Metadata: p.metadata(),
	}
	in.ServerSideEncryption, in.SSEKMSKeyId = p.s.encryption()
	out, err := p.s.client.PutObject(ctx, in)
	if err != nil {
		return Object{}, p.fail(ctx, err)
	}
	p.s.bucketSeen.Store(true)
	return Object{Key: p.key, Size: p.size, ETag: unquote(out.ETag)}, nil
}

// settle decides what an attempt means. An attempt whose answer was lost may have won, and the next one then meets its
// own object. So after a retry a refused condition (or an upload that is gone, since it was completed) is success if
// the object bears our mark.
func (p *s3Put) settle(ctx context.Context, try int, o *Object, err error) error {
	refused := errors.Is(err, ErrExist) || errors.Is(err, ErrChanged) || errors.Is(err, errNoUpload)
	if err == nil || try == 0 || p.mark == "" || !refused {
		return err
	}
	found, mark, headErr := p.s.head(ctx, "put", p.key)
	switch {
	case isNotExist(headErr):
		return err
	case headErr != nil:
		return &Error{
			Op: "put", URI: p.s.URI() + "/" + p.key,
			Err: fmt.Errorf("an earlier attempt may have written it, and looking failed: %w", headErr), Hint: hintOf(headErr),
		}
	case mark == p.mark, mark == "" && p.sameBytes(ctx, found):
		*o = found
		return nil
	}
	return err
}

// sameBytes compares what is stored with the body, for services that keep no metadata.
func (p *s3Put) sameBytes(ctx context.Context, found Object) bool {
	if found.Size != p.size {
		return false
	}
	r, _, err := p.s.Open(ctx, p.key, found.ETag)
	if err != nil {
		return false
	}
	defer r.Close() //nolint:errcheck // never fails
	if _, err := p.body.Seek(0, io.SeekStart); err != nil {
		return false
	}
	stored, ours := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, err := io.ReadFull(r, stored)
		m, _ := io.ReadFull(p.body, ours[:n])
		if m != n || !bytes.Equal(stored[:n], ours[:n]) || (err != nil && !isEnd(err)) {
			return false
		}
		if err != nil {
			return true
		}
	}
}

func (p *s3Put) mediaType() *string {
	if p.contentType == "" {
		return aws.String("application/octet-stream")
	}
	return &p.contentType
}

func (p *s3Put) metadata() map[string]string {
	if p.mark == "" {
		return nil
	}
	return map[string]string{markName: p.mark}
}

func (s *s3Store) encryption() (types.ServerSideEncryption, *string) {
	if s.opts.KMSKeyID == "" {
		return types.ServerSideEncryption(s.opts.SSE), nil
	}
	return types.ServerSideEncryption(s.opts.SSE), &s.opts.KMSKeyID
}

// fail gives a refused condition the meaning that it has for this put.
func (p *s3Put) fail(ctx context.Context, err error) error {
	err = p.s.fail(ctx, "put", p.key, err)
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	switch {
	case errors.Is(err, ErrChanged) && p.ifNoneMatch != nil:
		return &Error{Op: e.Op, URI: e.URI, Err: ErrExist}
	case isNotExist(err) && p.ifMatch != nil && !errors.Is(err, errNoUpload):
		return &Error{Op: e.Op, URI: e.URI, Err: &cause{kind: ErrChanged, text: "it is gone"}}
	}
	return err
}

// movingBody tells the watchdog that bytes leave.
type movingBody struct {
	io.ReadSeeker
	dog *watchdog
}

func (b movingBody) Read(p []byte) (int, error) {
	b.dog.moved()
	return b.ReadSeeker.Read(p)
}
