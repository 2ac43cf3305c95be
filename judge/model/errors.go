package model

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/tracejury/tracejury/judge"
)

// bedrockError says what kind of failure an SDK error is.
func bedrockError(err error) *judge.CallError {
	out := &judge.CallError{Class: judge.ClassUnknown, Err: err}
	status := 0
	if re, ok := errors.AsType[*smithyhttp.ResponseError](err); ok && re.Response != nil {
		status = re.HTTPStatusCode()
		out.RetryAfter = retryAfter(re.Response.Header)
	}
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		out.Class = transportClass(err, status)
		if out.Class == judge.ClassAccess {
			out.Hint = "no AWS credentials were found: set AWS_PROFILE or AWS_ACCESS_KEY_ID, or use --judge rules"
		}
		return out
	}
	out.Class, out.Hint = bedrockClass(strings.ToLower(api.ErrorCode()), api.ErrorMessage(), err, status)
	if out.Class == judge.ClassInvalid {
		out.Refuses = refuses(api.ErrorMessage())
	}
	return out
}

func bedrockClass(code, message string, err error, status int) (judge.Class, string) {
	switch code {
	case "throttlingexception", "throttledexception", "toomanyrequestsexception", "requestlimitexceeded", "modelnotreadyexception", "slowdown":
		return judge.ClassThrottled, ""
	case "serviceunavailableexception", "internalserverexception", "internalfailure", "serviceunavailable", "modelstreamerrorexception":
		return judge.ClassTransient, ""
	case "modeltimeoutexception", "requesttimeout", "requesttimeoutexception":
		return judge.ClassTimeout, ""
	case "modelerrorexception":
		if e, ok := errors.AsType[*types.ModelErrorException](err); ok && e.OriginalStatusCode != nil {
			return statusClass(int(*e.OriginalStatusCode)), ""
		}
		return judge.ClassUnknown, ""
	case "servicequotaexceededexception":
		return judge.ClassQuota, "a service quota is used up: run again later, what is judged is kept"
	case "accessdeniedexception", "unrecognizedclientexception", "expiredtokenexception", "expiredtoken", "invalidsignatureexception",
		"missingauthenticationtokenexception", "invalidclienttokenid", "signaturedoesnotmatch":
		return judge.ClassAccess, "check the credentials, and that the model is enabled for this account in this region"
	case "resourcenotfoundexception":
		return judge.ClassAccess, "check the model id and the region, and that the model is enabled for this account"
	case "validationexception":
		return validation(message)
	}
	return statusClass(status), ""
}

// validation tells a subject that is too long from a request that no model takes.
func validation(message string) (judge.Class, string) {
	m := strings.ToLower(message)
	for _, s := range []string{"too long", "too many tokens", "context window", "context length", "maximum tokens", "input length", "exceeds the maximum"} {
		if strings.Contains(m, s) {
			return judge.ClassOverflow, ""
		}
	}
	switch refuses(m) {
	case RefusesMode:
		return judge.ClassInvalid, "the model does not take this mode of structured output: list it in evaluate.models with another mode (" + strings.Join(Modes, ", ") + ")"
	case RefusesTemperature:
		return judge.ClassInvalid, "the model takes no temperature: list it in evaluate.models with temperature: false"
	}
	return judge.ClassInvalid, ""
}

// refuses says what of how it was asked a service refuses, by the words of its message; "" nothing that is known.
func refuses(message string) string {
	m := strings.ToLower(message)
	for _, s := range []string{"outputconfig", "output_config", "toolchoice", "tool_choice", "tool choice", "toolconfig", "tool use", "tools", "grammar", "response_format", "json_schema", "schema", "structured"} {
		if strings.Contains(m, s) {
			return RefusesMode
		}
	}
	if strings.Contains(m, "temperature") || strings.Contains(m, "top_p") {
		return RefusesTemperature
	}
	return ""
}

// statusClass goes by the HTTP status alone.
func statusClass(status int) judge.Class {
	switch {
	case status == http.StatusTooManyRequests:
		return judge.ClassThrottled
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return judge.ClassTimeout
	case status >= 500:
		return judge.ClassTransient
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound:
		return judge.ClassAccess
	case status == http.StatusRequestEntityTooLarge:
		return judge.ClassOverflow
	case status >= 400:
		return judge.ClassInvalid
	}
	return judge.ClassUnknown
}

// transportClass goes by how a call failed to reach or to leave the service.
func transportClass(err error, status int) judge.Class {
	text := err.Error()
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return judge.ClassUnknown
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return judge.ClassTimeout
	case strings.Contains(text, "get identity"), strings.Contains(text, "get credentials"), strings.Contains(text, "refresh cached credentials"),
		strings.Contains(text, "no EC2 IMDS role found"):
		return judge.ClassAccess
	case status >= 400:
		return statusClass(status)
	}
	return judge.ClassTransient // reset, refused, cut off: it may work the next time
}

// retryAfter is how long a service asks to wait: seconds or a date.
func retryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 {
		return time.Duration(min(s, 86_400) * float64(time.Second)) // the caller bounds it; what is too long is not none
	}
	if at, err := http.ParseTime(v); err == nil {
		now := time.Now()
		if sent, err := http.ParseTime(h.Get("Date")); err == nil {
			now = sent // the service's clock, not ours
		}
		return max(0, at.Sub(now))
	}
	return 0
}

// short is an error body fit for a message.
func short(body []byte) error {
	s := strings.ToValidUTF8(string(body[:min(len(body), 300)]), "")
	return fmt.Errorf("%s", strings.TrimSpace(s))
}
