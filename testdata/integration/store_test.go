package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"go.uber.org/goleak"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/store/storetest"
)

// s3Client is a bare SDK client for what a store does not do: making buckets and looking behind the curtain.
func s3Client(t testing.TB, client *http.Client) *s3.Client {
	t.Helper()
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cfg.HTTPClient = client
	return s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
}

// buckets returns an opener of stores, each in a bucket of its own on the server that the environment names.
func buckets(t testing.TB, client *http.Client) func(testing.TB) store.Store {
	raw := s3Client(t, client)
	var n atomic.Int64
	return func(tb testing.TB) store.Store {
		tb.Helper()
		bucket := fmt.Sprintf("bucket-%d", n.Add(1))
		if _, err := raw.CreateBucket(tb.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
			tb.Fatal(err)
		}
		s, err := store.Open(tb.Context(), "s3://"+bucket+"/some/prefix", store.Options{PartBytes: 5 << 20, HTTPClient: client})
		if err != nil {
			tb.Fatal(err)
		}
		tb.Cleanup(func() { noUploadsLeft(tb, raw, bucket) })
		return s
	}
}

// noUploadsLeft: a multipart upload is completed or aborted, whatever happened to it.
func noUploadsLeft(tb testing.TB, raw *s3.Client, bucket string) {
	tb.Helper()
	out, err := raw.ListMultipartUploads(context.WithoutCancel(tb.Context()), &s3.ListMultipartUploadsInput{Bucket: &bucket})
	if err != nil {
		tb.Error(err)
		return
	}
	for _, u := range out.Uploads {
		tb.Errorf("multipart upload of %s was left behind", aws.ToString(u.Key))
	}
}

func TestStoreContractOnS3(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	t.Run("suite", func(t *testing.T) {
		endpoint, access, secret := startS3(t)
		s3Env(t, endpoint, access, secret)
		storetest.Run(t, buckets(t, closeIdle(t)))
	})
}

func TestStoreContractOnS3OverTLS(t *testing.T) {
	endpoint, access, secret, caFile := startS3TLS(t)
	s3Env(t, endpoint, access, secret)
	pem, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	client := closeIdle(t)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	client.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	open := buckets(t, client)
	storetest.Run(t, open)
	t.Run("CABundle", func(t *testing.T) { // as a user sets it up: our own client, an authority by environment
		t.Setenv("AWS_CA_BUNDLE", caFile)
		s, err := store.Open(t.Context(), open(t).URI(), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Put(t.Context(), "a", bytes.NewReader([]byte("x")), store.PutOptions{}); err != nil {
			t.Fatal(err)
		}
	})
}
