package model

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// s3Objects is S3 below a prefix.
type s3Objects struct {
	client         *s3.Client
	bucket, prefix string
}

func openS3(cfg aws.Config, uri string) (Objects, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return nil, fmt.Errorf("batch location %q: want s3://bucket/prefix", uri)
	}
	prefix := strings.Trim(u.Path, "/")
	if prefix != "" {
		prefix += "/"
	}
	return &s3Objects{bucket: u.Host, prefix: prefix, client: s3.NewFromConfig(cfg, func(o *s3.Options) {
		o.Retryer = retry.NewStandard()
		o.UsePathStyle = os.Getenv("AWS_ENDPOINT_URL_S3") != "" // a server of one's own
	})}, nil
}

// URI implements [Objects].
func (s *s3Objects) URI(key string) string { return "s3://" + s.bucket + "/" + s.prefix + key }

// Put implements [Objects].
func (s *s3Objects) Put(ctx context.Context, key string, data []byte) error {
	_, err := s.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key), Body: bytes.NewReader(data)})
	return err
}

// Get implements [Objects].
func (s *s3Objects) Get(ctx context.Context, key string) ([]byte, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)})
	if _, missing := errors.AsType[*types.NoSuchKey](err); missing {
		return nil, fmt.Errorf("%s: %w", s.URI(key), ErrNoObject)
	}
	if err != nil {
		return nil, err
	}
	defer out.Body.Close()
	return io.ReadAll(out.Body)
}

// Delete implements [Objects].
func (s *s3Objects) Delete(ctx context.Context, key string) error {
	_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)})
	return err
}
