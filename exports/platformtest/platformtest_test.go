package platformtest

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// A server that takes everything proves nothing: what no push sends is refused.
func TestServers_Refuse(t *testing.T) {
	aws, foundry, claude := NewAWS(t, Now()), NewFoundry(t), NewClaude(t)
	bearer := http.Header{"Authorization": {"Bearer " + FoundryToken}, "Content-Type": {"application/json"}}
	key := http.Header{"X-Api-Key": {ClaudeKey}, "Anthropic-Version": {"2023-06-01"}, "Anthropic-Beta": {"managed-agents-2026-04-01"}}
	for name, call := range map[string]struct {
		method, url, body string
		header            http.Header
		status            int
	}{
		"aws without a signature":         {"POST", aws.URL + "/evaluators/create", `{}`, nil, 403},
		"foundry without a token":         {"GET", foundry.Endpoint() + "/evaluators/x/versions?api-version=v1", ``, nil, 401},
		"foundry without a version":       {"GET", foundry.Endpoint() + "/evaluators/x/versions", ``, bearer, 400},
		"foundry, a bad name":             {"POST", foundry.Endpoint() + "/evaluators/builtin.x/versions?api-version=v1", `{}`, bearer, 400},
		"foundry, an unknown field":       {"POST", foundry.Endpoint() + "/evaluators/x/versions?api-version=v1", `{"name":"x"}`, bearer, 400},
		"foundry, a dataset of dots":      {"GET", foundry.Endpoint() + "/datasets/a.b/versions?api-version=v1", ``, bearer, 400},
		"foundry, an unknown eval":        {"POST", foundry.Endpoint() + "/openai/v1/evals/eval_9/runs", `{}`, bearer, 404},
		"storage with a wrong signature":  {"PUT", foundry.URL + "/blobs/x-1/f?sig=no", `{}`, http.Header{"X-Ms-Blob-Type": {"BlockBlob"}}, 403},
		"storage with a token":            {"PUT", foundry.URL + "/blobs/x-1/f?sig=" + sasSignature, `{}`, http.Header{"X-Ms-Blob-Type": {"BlockBlob"}, "Authorization": {"x"}}, 400},
		"claude without a key":            {"GET", claude.URL + "/v1/files?limit=1", ``, nil, 401},
		"claude, no form":                 {"POST", claude.URL + "/v1/files", `x`, key, 400},
		"claude, an unknown session":      {"POST", claude.URL + "/v1/sessions/sesn_x/events", `{}`, key, 404},
		"claude, an unknown rubric":       {"POST", claude.URL + "/v1/sessions/" + ClaudeSession + "/events", `{"events":[{"type":"user.define_outcome","description":"x","rubric":{"type":"file","file_id":"file_9"},"max_iterations":3}]}`, key, 400},
		"claude, an unknown field":        {"POST", claude.URL + "/v1/sessions/" + ClaudeSession + "/events", `{"events":[],"weight":1}`, key, 400},
		"claude, an unknown query member": {"GET", claude.URL + "/v1/files?offset=1", ``, key, 400},
	} {
		req, err := http.NewRequest(call.method, call.url, strings.NewReader(call.body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range call.header {
			req.Header[k] = v
		}
		if call.body == "" {
			req.Header.Del("Content-Type")
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != call.status {
			t.Errorf("%s: %d %s, want %d", name, resp.StatusCode, body, call.status)
		}
	}
}
