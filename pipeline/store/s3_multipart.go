package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

const (
	maxParts     = 10_000
	partsAtOnce  = 4 // of one body, when it can be read at several places
	abortTimeout = 15 * time.Second
)

// errNoUpload: the multipart upload is gone, by completion or by abortion.
var errNoUpload = errors.New("no such upload")

// multipart uploads the body in parts and completes it under the put's condition: until then nothing is visible. When
// the service reports a conflict at the end, it wants the upload begun anew.
func (p *s3Put) multipart(ctx context.Context) (o Object, err error) {
	err = p.s.retry.do(ctx, func(try int) error {
		o, err = p.upload(ctx)
		return p.settle(ctx, try, &o, err)
	})
	return o, err
}

func (p *s3Put) upload(ctx context.Context) (o Object, err error) {
	id, err := p.create(ctx)
	if err != nil {
		return Object{}, err
	}
	defer func() {
		if err != nil {
			p.abort(ctx, id)
		}
	}()
	parts, err := p.parts(ctx, id)
	if err != nil {
		return Object{}, err
	}
	err = p.s.retry.do(ctx, func(try int) error {
		o, err = p.complete(ctx, id, parts)
		return p.settle(ctx, try, &o, err)
	})
	return o, err
}

// create is the one step whose lost answer leaves something behind, an upload that nobody knows; a lifecycle rule
// for incomplete uploads removes such.
func (p *s3Put) create(ctx context.Context) (id *string, err error) {
	in := &s3.CreateMultipartUploadInput{
		Bucket: &p.s.bucket, Key: aws.String(p.s.prefix + p.key), ContentType: p.mediaType(), Metadata: p.metadata(),
	}
	in.ServerSideEncryption, in.SSEKMSKeyId = p.s.encryption()
	if p.s.client.Options().RequestChecksumCalculation != aws.RequestChecksumCalculationWhenRequired {
		in.ChecksumAlgorithm = types.ChecksumAlgorithmCrc32
	}
	err = p.s.retry.do(ctx, func(int) error {
		ctx, dog := watch(ctx, p.s.stall)
		defer dog.stop()
		out, err := p.s.client.CreateMultipartUpload(ctx, in)
		if err != nil {
			return p.fail(ctx, err)
		}
		id = out.UploadId
		return nil
	})
	return id, err
}

func (p *s3Put) parts(ctx context.Context, id *string) ([]types.CompletedPart, error) {
	size := max(p.s.opts.PartBytes, (p.size+maxParts-1)/maxParts)
	parts := make([]types.CompletedPart, (p.size+size-1)/size)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(1)
	at, concurrent := p.body.(io.ReaderAt)
	if concurrent {
		g.SetLimit(partsAtOnce)
	}
	for i := range parts {
		if gctx.Err() != nil {
			break
		}
		off := int64(i) * size
		n := min(size, p.size-off)
		g.Go(func() (err error) {
			var body io.ReadSeeker = &section{body: p.body, off: off, n: n}
			if concurrent {
				body = io.NewSectionReader(at, off, n)
			}
			parts[i], err = p.part(gctx, id, int32(i+1), body, n) //nolint:gosec // at most maxParts
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, p.fail(ctx, err)
	}
	return parts, nil
}

func (p *s3Put) part(ctx context.Context, id *string, number int32, body io.ReadSeeker, n int64) (part types.CompletedPart, err error) {
	err = p.s.retry.do(ctx, func(int) error {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			return p.fail(ctx, err)
		}
		ctx, dog := watch(ctx, p.s.stall)
		defer dog.stop()
		out, err := p.s.client.UploadPart(ctx, &s3.UploadPartInput{
			Bucket: &p.s.bucket, Key: aws.String(p.s.prefix + p.key), UploadId: id,
			PartNumber: &number, Body: movingBody{body, dog}, ContentLength: &n,
		})
		if err != nil {
			return p.fail(ctx, err)
		}
		part = types.CompletedPart{PartNumber: &number, ETag: out.ETag, ChecksumCRC32: out.ChecksumCRC32}
		return nil
	})
	return part, err
}

func (p *s3Put) complete(ctx context.Context, id *string, parts []types.CompletedPart) (Object, error) {
	ctx, dog := watch(ctx, 10*p.s.stall) // the service may join the parts before it says a word
	defer dog.stop()
	out, err := p.s.client.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{
		Bucket: &p.s.bucket, Key: aws.String(p.s.prefix + p.key), UploadId: id,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
		IfMatch:         p.ifMatch, IfNoneMatch: p.ifNoneMatch,
	})
	if err != nil {
		return Object{}, p.fail(ctx, err)
	}
	p.s.bucketSeen.Store(true)
	return Object{Key: p.key, Size: p.size, ETag: unquote(out.ETag)}, nil
}

// abort gives the parts back, also when the put was cancelled: parts that nobody sees still cost money.
func (p *s3Put) abort(ctx context.Context, id *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	err := p.s.retry.do(ctx, func(int) error {
		_, err := p.s.client.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{
			Bucket: &p.s.bucket, Key: aws.String(p.s.prefix + p.key), UploadId: id,
		})
		return p.s.fail(ctx, "abort", p.key, err)
	})
	if err != nil && !errors.Is(err, errNoUpload) {
		p.s.opts.Log.WarnContext(ctx, "an incomplete multipart upload stays behind", "upload_id", aws.ToString(id), "error", err)
	}
}

// section is a part of a body that can be read at one place at a time only.
type section struct {
	body   io.ReadSeeker
	off, n int64 // where it lies in body
	at     int64 // how much of it was read
}

func (s *section) Read(p []byte) (int, error) {
	if s.at >= s.n {
		return 0, io.EOF
	}
	n, err := s.body.Read(p[:min(int64(len(p)), s.n-s.at)])
	s.at += int64(n)
	if errors.Is(err, io.EOF) && s.at < s.n {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func (s *section) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.n
	}
	if offset < 0 || offset > s.n {
		return 0, fmt.Errorf("seek to %d in a part of %d bytes", offset, s.n)
	}
	if _, err := s.body.Seek(s.off+offset, io.SeekStart); err != nil {
		return 0, err
	}
	s.at = offset
	return offset, nil
}
