package store

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// fail turns an error of the SDK into an [*Error]: what it means, whether it may pass, what a person can do.
func (s *s3Store) fail(ctx context.Context, op, key string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*Error](err); ok {
		return err
	}
	e := &Error{Op: op, URI: s.URI() + "/" + key, Err: err}
	switch {
	case errors.Is(context.Cause(ctx), errStalled):
		e.Err = &cause{transient: true, text: errStalled.Error(), err: errStalled}
	case ctx.Err() != nil:
		e.Err = context.Cause(ctx)
	default:
		s.classify(e, key, err)
	}
	return e
}

func (s *s3Store) classify(e *Error, key string, err error) {
	if c, ok := errors.AsType[*credentialsError](err); ok {
		s.classifyCredentials(e, c)
		return
	}
	status, header, requestID := response(err)
	api, isAPI := errors.AsType[smithy.APIError](err)
	if !isAPI && status < 300 { // no answer, or a good one that could not be read to its end
		classifyTransport(e, err)
		return
	}
	c := &cause{text: fmt.Sprintf("status %d", status), err: err}
	code := ""
	if isAPI {
		code = api.ErrorCode()
		c.text = fmt.Sprintf("%s: %s (status %d", code, oneLine(api.ErrorMessage()), status)
		if requestID != "" {
			c.text += ", request " + requestID
		}
		c.text += ")"
	}
	e.Err = c
	region := header.Get("X-Amz-Bucket-Region")
	switch {
	case region != "" && region != s.region && (status < 400 || status == http.StatusBadRequest || status == http.StatusForbidden):
		c.kind = ErrRegion
		e.Hint = fmt.Sprintf("bucket %s lies in %s, not in %s: set AWS_REGION=%s or the region of this source", s.bucket, region, s.region, region)
	case isOf(code, "PermanentRedirect", "TemporaryRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException") ||
		status == http.StatusMovedPermanently:
		c.kind = ErrRegion
		e.Hint = fmt.Sprintf("bucket %s does not lie in %s: set AWS_REGION or the region of this source", s.bucket, s.region)
	case isOf(code, "SlowDown", "TooManyRequests", "RequestLimitExceeded", "BandwidthLimitExceeded", "ServiceUnavailable") ||
		strings.HasPrefix(code, "Throttl") || status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		c.kind, c.transient = ErrThrottled, true
		e.Hint = "lower the concurrency, or spread the keys over more prefixes"
	case isOf(code, "InternalError", "RequestTimeout", "OperationAborted", "ConditionalRequestConflict", "BadDigest", "IncompleteBody") ||
		status >= 500 || status == http.StatusRequestTimeout:
		c.transient = true // a digest that does not fit was damaged on the way: we computed it from what we sent
	case isOf(code, "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "ExpiredTokenException", "InvalidToken", "TokenRefreshRequired"):
		c.kind = ErrNoCredentials
		e.Hint = "the service does not accept these credentials: check AWS_PROFILE and the AWS_ variables, or log in again"
	case isOf(code, "RequestTimeTooSkewed", "RequestExpired"):
		c.kind = ErrDenied
		e.Hint = "the clock of this machine is wrong"
	case isOf(code, "NoSuchBucket"):
		e.Err, e.Hint = s.noBucketCause(err), s.noBucketHint()
	case isOf(code, "NoSuchUpload"):
		c.kind = errNoUpload
	case isOf(code, "NoSuchKey", "NotFound", "NoSuchVersion") || status == http.StatusNotFound:
		c.kind, c.text = ErrNotExist, ""
	case isOf(code, "PreconditionFailed") || status == http.StatusPreconditionFailed:
		c.kind, c.text = ErrChanged, ""
	case isOf(code, "InvalidRange") || status == http.StatusRequestedRangeNotSatisfiable:
		c.kind = errPastEnd
	case isOf(code, "AccessDenied", "Forbidden", "AllAccessDisabled", "AccountProblem") || status == http.StatusForbidden || status == http.StatusUnauthorized:
		c.kind = ErrDenied
		e.Hint = s.permissionHint(e.Op, key)
	case strings.HasPrefix(code, "KMS."):
		e.Hint = "check the KMS key of this bucket: its state, its region and its policy"
	}
}

func (s *s3Store) classifyCredentials(e *Error, c *credentialsError) {
	e.Err = &cause{kind: ErrNoCredentials, text: oneLine(c.Error()), err: c.err}
	if s.opts.RoleARN == "" {
		e.Hint = "set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or run where a role is attached"
		return
	}
	e.Hint = fmt.Sprintf("these credentials need sts:AssumeRole on %s, and the trust policy of the role must name them", s.opts.RoleARN)
}

// classifyTransport is about errors without an answer.
func classifyTransport(e *Error, err error) {
	c := &cause{err: err, text: oneLine(err.Error())}
	if u, ok := errors.AsType[*url.Error](err); ok {
		c.text = oneLine(u.Err.Error()) // the URL is known, and could be a signed one
	}
	e.Err = c
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		e.Hint = "no such host: check the endpoint, the region and the name of the bucket"
		return
	}
	_, unknownCA := errors.AsType[x509.UnknownAuthorityError](err)
	_, badName := errors.AsType[x509.HostnameError](err)
	_, badCert := errors.AsType[x509.CertificateInvalidError](err)
	if unknownCA || badName || badCert {
		e.Hint = "the certificate of the service is not trusted here: set AWS_CA_BUNDLE to the file of its authority"
		return
	}
	_, isNet := errors.AsType[net.Error](err)
	_, isSend := errors.AsType[*smithyhttp.RequestSendError](err)
	_, isSyntax := errors.AsType[*smithy.DeserializationError](err) // an answer that was cut
	c.transient = isNet || isSend || isSyntax || isEnd(err) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.ErrClosedPipe)
}

// response finds what the service said around an error.
func response(err error) (status int, header http.Header, requestID string) {
	if r, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		requestID = r.ServiceRequestID()
	}
	if r, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && r.Response != nil {
		return r.HTTPStatusCode(), r.Response.Header, requestID
	}
	return 0, http.Header{}, requestID
}

func (s *s3Store) noBucketCause(err error) error {
	return &cause{kind: ErrNoBucket, text: s.bucket, err: err}
}

func (s *s3Store) noBucketHint() string {
	return fmt.Sprintf("create bucket %s, or check its name and the account of these credentials", s.bucket)
}

func (s *s3Store) noBucket(op, key string, err error) error {
	return &Error{Op: op, URI: s.URI() + "/" + key, Err: s.noBucketCause(err), Hint: s.noBucketHint()}
}

// permissionHint names what a policy must allow.
func (s *s3Store) permissionHint(op, key string) string {
	partition := "aws"
	switch {
	case strings.HasPrefix(s.region, "cn-"):
		partition = "aws-cn"
	case strings.HasPrefix(s.region, "us-gov-"):
		partition = "aws-us-gov"
	}
	bucket := "arn:" + partition + ":s3:::" + s.bucket
	object := bucket + "/" + s.prefix + key
	hint := ""
	switch op {
	case "list":
		return fmt.Sprintf("needs s3:ListBucket on %s (prefix %s)", bucket, s.prefix+key)
	case "put":
		hint = "needs s3:PutObject on " + object + " (and s3:GetObject, to compare ETags)"
	case "abort":
		return "needs s3:AbortMultipartUpload on " + object
	case "delete":
		return "needs s3:DeleteObject on " + object
	default:
		hint = "needs s3:GetObject on " + object + "; without s3:ListBucket a missing object looks like this too"
	}
	if s.opts.SSE == "aws:kms" {
		hint += "; and kms:GenerateDataKey and kms:Decrypt on the bucket's key"
	}
	return hint
}

func isNotExist(err error) bool { return errors.Is(err, ErrNotExist) }

func hintOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Hint
	}
	return ""
}

func isOf(code string, list ...string) bool {
	for _, c := range list {
		if code == c {
			return true
		}
	}
	return false
}

// oneLine keeps what a service says printable: it is not ours.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 500 {
		s = s[:500] + "…"
	}
	return s
}
