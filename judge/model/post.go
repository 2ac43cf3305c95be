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
	resp, err := client.Do(h)
	if err != nil {
		return nil, 0, &judge.CallError{Class: transportClass(err, 0), Err: err}
	}
	defer resp.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, 0, &judge.CallError{Class: transportClass(err, 0), Err: fmt.Errorf("read reply: %w", err)}
	}
	if resp.StatusCode != http.StatusOK {
		class, hint := httpClass(resp.StatusCode, string(answer))
		ce := &judge.CallError{Class: class, Hint: hint, RetryAfter: retryAfter(resp.Header), Err: fmt.Errorf("status %d: %w", resp.StatusCode, short(answer))}
		if class == judge.ClassInvalid {
			ce.Refuses = refuses(string(answer))
		}
		return nil, 0, ce
	}
	return answer, time.Since(begin), nil
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
