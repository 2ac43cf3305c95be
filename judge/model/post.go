package model

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge"
)

const maxBody = 16 << 20

// postJSON makes one request and returns a body of status 200. Its errors are *judge.CallError.
func postJSON(ctx context.Context, client *http.Client, url string, header http.Header, body any) (answer []byte, latency time.Duration, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, 0, &judge.CallError{Class: judge.ClassInvalid, Err: fmt.Errorf("encode request: %w", err)}
	}
	h, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return nil, 0, &judge.CallError{Class: judge.ClassInvalid, Err: err}
	}
	h.Header = header.Clone()
	h.Header.Set("Content-Type", "application/json")
	begin := time.Now()
	resp, err := withoutRedirects(client).Do(h)
	if err != nil {
		return nil, 0, &judge.CallError{Class: transportClass(err, 0), Err: err}
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err != nil {
		return nil, 0, &judge.CallError{Class: transportClass(err, 0), Err: fmt.Errorf("read reply: %w", err)}
	}
	if len(answer) > maxBody { // to ask again would cost again, for no better answer
		return nil, 0, &judge.CallError{Class: judge.ClassMalformed, Err: fmt.Errorf("a reply of more than %d bytes", maxBody)}
	}
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode/100 == 3 {
		return nil, 0, &judge.CallError{Class: judge.ClassAccess, Hint: "name the address of the service itself: neither keys nor questions follow a redirection",
			Err: fmt.Errorf("status %d: the server sends elsewhere", resp.StatusCode)}
	}
	if resp.StatusCode != http.StatusOK {
		class, hint := httpClass(resp.StatusCode, string(answer))
		ce := &judge.CallError{Class: class, Hint: hint, RetryAfter: retryAfter(resp.Header), Err: fmt.Errorf("status %d: %w", resp.StatusCode, short(withoutKeys(answer, header)))}
		if class == judge.ClassInvalid {
			ce.Refuses = refuses(string(answer))
		}
		return nil, 0, ce
	}
	return answer, time.Since(begin), nil
}

// withoutRedirects is client, which takes no server's word for where to send a key and a transcript: net/http takes Authorization
// off on the way to another host, but no other header, and not the body.
func withoutRedirects(client *http.Client) *http.Client {
	c := *client
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &c
}

// withoutKeys takes out of an answer the keys that it was sent: some servers repeat them in what they refuse.
func withoutKeys(answer []byte, header http.Header) []byte {
	for _, name := range []string{"Authorization", "X-Api-Key"} {
		if key := strings.TrimPrefix(header.Get(name), "Bearer "); key != "" {
			answer = bytes.ReplaceAll(answer, []byte(key), []byte("[MASKED:key]"))
		}
	}
	return answer
}

// httpClass goes by the status and, where that says too little, by the words of the answer.
func httpClass(status int, answer string) (judge.Class, string) {
	const overloaded = 529
	switch {
	case status == http.StatusTooManyRequests && strings.Contains(answer, "insufficient_quota"):
		return judge.ClassQuota, "the account's quota is used up: run again later, what is judged is kept"
	case status == http.StatusBadRequest && strings.Contains(answer, "credit balance"):
		return judge.ClassQuota, "the account's credit is used up: run again later, what is judged is kept"
	case status == overloaded:
		return judge.ClassThrottled, ""
	}
	class := statusClass(status)
	if class == judge.ClassInvalid {
		return validation(answer)
	}
	return class, ""
}

var fenceWord = regexp.MustCompile(`<</?DATA ([A-Za-z0-9]{8,64})>>`)

// QuestionSHA256 is the hash of all that a judge is asked, without the random word of the fence: the same question asked by two
// commands has the same.
func QuestionSHA256(req *judge.Request) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%d\x00%d\x00", req.Schema, req.System, req.MaxTokens, req.Repeat)
	h.Write([]byte(withoutNonce(req.User)))
	fmt.Fprintf(h, "\x00%s\x00%s", req.RepairOf, req.RepairError)
	return hex.EncodeToString(h.Sum(nil))
}

func withoutNonce(user string) string {
	m := fenceWord.FindStringSubmatch(user)
	if m == nil {
		return user
	}
	return strings.ReplaceAll(user, m[1], "")
}
