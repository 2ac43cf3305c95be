package store

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
)

// s3Store keeps objects in a bucket below prefix.
type s3Store struct {
	client *s3.Client
	bucket string
	prefix string // empty, or ending in a slash
	region string
	opts   Options
	retry  retrier
	stall  time.Duration // how long an attempt may stand still

	bucketSeen atomic.Bool // the bucket has answered for itself: a 404 without a body is about the key
}

const stallAfter = time.Minute

func openS3(ctx context.Context, bucket, prefix string, opts Options) (*s3Store, error) {
	s := &s3Store{
		bucket: bucket, opts: opts, stall: stallAfter,
		retry: retrier{attempts: opts.MaxAttempts, base: retryBase, max: retryMax, log: opts.Log},
	}
	if prefix != "" {
		s.prefix = prefix + "/"
	}
	if strings.ContainsAny(opts.Endpoint, "@?#") {
		return nil, &Error{
			Op: "open", URI: s.URI(), Err: fmt.Errorf("endpoint %s is not scheme://host:port", redact(opts.Endpoint)),
			Hint: "credentials do not belong into a URL",
		}
	}
	load := []func(*config.LoadOptions) error{
		config.WithRetryer(func() aws.Retryer { return aws.NopRetryer{} }),
		config.WithHTTPClient(newHTTPClient()),
	}
	if opts.Region != "" {
		load = append(load, config.WithRegion(opts.Region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, load...)
	if err != nil {
		return nil, &Error{Op: "open", URI: s.URI(), Err: err, Hint: "check ~/.aws/config, AWS_PROFILE and the AWS_ variables"}
	}
	// The SDK's own log goes to stderr, between the lines of whoever reads there.
	cfg.Logger = logging.LoggerFunc(func(_ logging.Classification, format string, args ...any) {
		opts.Log.Debug("aws: " + oneLine(fmt.Sprintf(format, args...)))
	})
	if opts.HTTPClient != nil {
		cfg.HTTPClient = opts.HTTPClient // not while loading: that fails when AWS_CA_BUNDLE is set
	}
	if opts.RoleARN != "" {
		role := sts.NewFromConfig(cfg, func(o *sts.Options) {
			o.Retryer = aws.NopRetryer{}
			if o.Region == "" {
				o.Region = "us-east-1"
			}
		})
		cfg.Credentials = stscreds.NewAssumeRoleProvider(role, opts.RoleARN, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "tracejury"
		})
	}
	if cfg.Credentials != nil {
		// The mark goes inside the cache: the cache is what the SDK recognises, the mark what we recognise.
		cfg.Credentials = aws.NewCredentialsCache(markedCredentials{cfg.Credentials})
	}
	s.client = s3.NewFromConfig(cfg, func(o *s3.Options) {
		if opts.Endpoint != "" {
			o.BaseEndpoint = aws.String(opts.Endpoint)
		}
		// By now the SDK has put AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile's endpoint here. Servers other
		// than AWS rarely have a name per bucket.
		o.UsePathStyle = opts.PathStyle || o.BaseEndpoint != nil
		if o.Region == "" && o.BaseEndpoint != nil {
			o.Region = "us-east-1" // other servers do not care, but a signature needs one
		}
		o.DisableLogOutputChecksumValidationSkipped = true
	})
	s.region = s.client.Options().Region
	if s.region == "" {
		return nil, &Error{
			Op: "open", URI: s.URI(), Err: &cause{kind: ErrRegion, text: "none is configured"},
			Hint: "set AWS_REGION, or in tracejury.yaml store.region, or the region of the source",
		}
	}
	return s, nil
}

// newHTTPClient is the SDK's client, which honours AWS_CA_BUNDLE and the proxy variables, with time limits, and without
// transparent decompression: what is stored is what we read.
func newHTTPClient() *awshttp.BuildableClient {
	return awshttp.NewBuildableClient().
		WithDialerOptions(func(d *net.Dialer) { d.Timeout = 10 * time.Second }).
		WithTransportOptions(func(t *http.Transport) {
			t.DisableCompression = true
			t.MaxIdleConnsPerHost = 64
		})
}

// markedCredentials gives the failure to get credentials a type that survives the SDK's wrapping.
type markedCredentials struct{ next aws.CredentialsProvider }

type credentialsError struct{ err error }

func (e *credentialsError) Error() string { return e.err.Error() }
func (e *credentialsError) Unwrap() error { return e.err }

func (m markedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := m.next.Retrieve(ctx)
	if err != nil {
		err = &credentialsError{err}
	}
	return c, err
}

func (s *s3Store) URI() string {
	return strings.TrimSuffix("s3://"+s.bucket+"/"+s.prefix, "/")
}

// Stat asks for an object's head.
func (s *s3Store) Stat(ctx context.Context, key string) (Object, error) {
	if err := checkObjectKey("stat", s.URI(), key); err != nil {
		return Object{}, err
	}
	o, _, err := s.head(ctx, "stat", key)
	return o, err
}

// head also returns the mark that our conditional writes leave on an object.
func (s *s3Store) head(ctx context.Context, op, key string) (o Object, mark string, err error) {
	err = s.retry.do(ctx, func(int) error {
		ctx, dog := watch(ctx, s.stall)
		defer dog.stop()
		out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)})
		if err != nil {
			return s.failHead(ctx, op, key, err)
		}
		s.bucketSeen.Store(true)
		o = Object{
			Key: key, Size: aws.ToInt64(out.ContentLength), ETag: unquote(out.ETag), Modified: aws.ToTime(out.LastModified),
		}
		mark = out.Metadata[markName]
		return nil
	})
	return o, mark, err
}

// failHead finds out what a 404 without a body means: HEAD answers have none, and a missing bucket must not look like a
// missing key, or a typing mistake would look like an empty store.
func (s *s3Store) failHead(ctx context.Context, op, key string, err error) error {
	err = s.fail(ctx, op, key, err)
	if s.bucketSeen.Load() || !isNotExist(err) {
		return err
	}
	if _, bucketErr := s.client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &s.bucket}); bucketErr != nil {
		if isNotExist(s.fail(ctx, op, key, bucketErr)) {
			return s.noBucket(op, key, nil)
		}
		return err // for example no s3:ListBucket: then the object's own answer is all there is
	}
	s.bucketSeen.Store(true)
	return err
}

// Delete removes an object; in a versioned bucket it hides it behind a delete marker.
func (s *s3Store) Delete(ctx context.Context, key string) error {
	if err := checkObjectKey("delete", s.URI(), key); err != nil {
		return err
	}
	err := s.retry.do(ctx, func(int) error {
		ctx, dog := watch(ctx, s.stall)
		defer dog.stop()
		_, err := s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: aws.String(s.prefix + key)})
		return s.fail(ctx, "delete", key, err)
	})
	if isNotExist(err) {
		return nil
	}
	return err
}

func unquote(etag *string) string { return strings.Trim(aws.ToString(etag), `"`) }

func quote(etag string) *string {
	if etag == "" {
		return nil
	}
	return aws.String(`"` + etag + `"`)
}
