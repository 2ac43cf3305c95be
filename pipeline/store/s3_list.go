package store

import (
	"context"
	"fmt"
	"iter"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// List checks the order that it promises: a merge over a listing out of order would lose objects without a sign.
func (s *s3Store) List(ctx context.Context, prefix string, opts ListOptions) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		in := &s3.ListObjectsV2Input{
			Bucket: &s.bucket, Prefix: aws.String(s.prefix + prefix),
			EncodingType: types.EncodingTypeUrl, // XML cannot hold every byte of a key
		}
		if opts.StartAfter != "" {
			in.StartAfter = aws.String(s.prefix + opts.StartAfter)
		}
		last := ""
		for {
			page, err := s.listPage(ctx, prefix, in)
			if err != nil {
				yield(Object{}, err)
				return
			}
			for _, item := range page.Contents {
				o, err := s.listed(page, item)
				if err == nil && o.Key <= last && last != "" {
					err = fmt.Errorf("key %q was listed after %q: this service does not list in byte order", o.Key, last)
				}
				if err != nil {
					yield(Object{}, &Error{Op: "list", URI: s.URI() + "/" + prefix, Err: err})
					return
				}
				if o.Key == "" || (o.Size == 0 && strings.HasSuffix(o.Key, "/")) || o.Key <= opts.StartAfter {
					continue // a folder marker, or a server that does not know start-after
				}
				last = o.Key
				if !yield(o, nil) {
					return
				}
			}
			if !aws.ToBool(page.IsTruncated) {
				return
			}
			if page.NextContinuationToken == nil || aws.ToString(page.NextContinuationToken) == aws.ToString(in.ContinuationToken) {
				yield(Object{}, &Error{
					Op: "list", URI: s.URI() + "/" + prefix, Err: fmt.Errorf("the listing is cut after %q and has no way to go on", last),
				})
				return
			}
			in.ContinuationToken = page.NextContinuationToken
		}
	}
}

func (s *s3Store) listPage(ctx context.Context, prefix string, in *s3.ListObjectsV2Input) (page *s3.ListObjectsV2Output, err error) {
	err = s.retry.do(ctx, func(int) error {
		ctx, dog := watch(ctx, s.stall)
		defer dog.stop()
		page, err = s.client.ListObjectsV2(ctx, in)
		return s.fail(ctx, "list", prefix, err)
	})
	if err == nil {
		s.bucketSeen.Store(true)
	}
	return page, err
}

func (s *s3Store) listed(page *s3.ListObjectsV2Output, item types.Object) (Object, error) {
	key := aws.ToString(item.Key)
	if page.EncodingType == types.EncodingTypeUrl {
		plain, err := url.QueryUnescape(key)
		if err != nil {
			return Object{}, fmt.Errorf("listed key: %w", err)
		}
		key = plain
	}
	rel, ok := strings.CutPrefix(key, s.prefix)
	if !ok {
		return Object{}, fmt.Errorf("key %q was listed outside of the prefix", key)
	}
	return Object{Key: rel, Size: aws.ToInt64(item.Size), ETag: unquote(item.ETag), Modified: aws.ToTime(item.LastModified)}, nil
}
