package pipeline

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/tracejury/tracejury/exports/foundry"
)

const (
	tenantID = "11111111-2222-3333-4444-555555555555"
	clientID = "66666666-7777-8888-9999-000000000000"
	theirKey = "secret~of~the~application"
)

// tokenServer is Entra's authority of one tenant: its metadata, and tokens for whoever has the secret. What is wrong it says with
// all that it was sent, as a careless proxy may.
func tokenServer(t *testing.T) (*httptest.Server, *int) {
	t.Helper()
	asked := new(int)
	var s *httptest.Server
	s = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer := func(status int, v any) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(v)
		}
		if r.URL.Path == "/"+tenantID+"/v2.0/.well-known/openid-configuration" {
			answer(http.StatusOK, map[string]string{"issuer": s.URL + "/" + tenantID + "/v2.0", "authorization_endpoint": s.URL + "/" + tenantID + "/oauth2/v2.0/authorize",
				"token_endpoint": s.URL + "/" + tenantID + "/oauth2/v2.0/token"})
			return
		}
		*asked++
		if err := r.ParseForm(); err != nil || r.URL.Path != "/"+tenantID+"/oauth2/v2.0/token" {
			answer(http.StatusNotFound, map[string]string{"error": r.URL.Path})
			return
		}
		form := url.Values(r.PostForm)
		if form.Get("client_secret") != theirKey || form.Get("client_id") != clientID || form.Get("grant_type") != "client_credentials" || !strings.Contains(form.Get("scope"), foundry.Scope) {
			answer(http.StatusUnauthorized, map[string]string{"error": "invalid_client", "error_description": "no: " + form.Encode()})
			return
		}
		answer(http.StatusOK, map[string]any{"access_token": "token-of-entra", "expires_in": 3600, "token_type": "Bearer"})
	}))
	t.Cleanup(s.Close)
	for _, k := range []string{"AZURE_CLIENT_CERTIFICATE_PATH", "AZURE_USERNAME", "AZURE_FEDERATED_TOKEN_FILE", "AZURE_TOKEN_CREDENTIALS", "IDENTITY_ENDPOINT", "MSI_ENDPOINT"} {
		t.Setenv(k, "")
		_ = os.Unsetenv(k) // t.Setenv sets it back
	}
	for k, v := range map[string]string{"AZURE_TENANT_ID": tenantID, "AZURE_CLIENT_ID": clientID, "AZURE_CLIENT_SECRET": theirKey, "AZURE_AUTHORITY_HOST": s.URL} {
		t.Setenv(k, v)
	}
	return s, asked
}

func entraOf(s *httptest.Server) *entra {
	return &entra{options: &azidentity.DefaultAzureCredentialOptions{ClientOptions: azcore.ClientOptions{Transport: s.Client()}, DisableInstanceDiscovery: true}}
}

// The application's secret becomes a token for the right scope, which is asked for once.
func TestEntra_Token(t *testing.T) {
	s, asked := tokenServer(t)
	e := entraOf(s)
	for range 3 {
		got, err := e.Token(t.Context())
		if err != nil || got != "token-of-entra" {
			t.Fatalf("%q %v", got, err)
		}
	}
	if *asked != 1 {
		t.Errorf("%d tokens were asked for", *asked)
	}
}

// A refusal that repeats the secret is shown without it.
func TestEntra_SecretIsNotShown(t *testing.T) {
	s, _ := tokenServer(t)
	const wrong = "secret~that~is~wrong"
	t.Setenv("AZURE_CLIENT_SECRET", wrong)
	_, err := entraOf(s).Token(t.Context())
	if err == nil || !strings.Contains(err.Error(), wrong) && !strings.Contains(err.Error(), url.QueryEscape(wrong)) {
		t.Fatalf("the server's words are gone, and this test shows nothing: %v", err)
	}
	cfg := &Config{Data: t.TempDir()}
	if err := cfg.Complete(time.Date(2026, 11, 30, 6, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	hide, err2 := pushMask(cfg)
	if err2 != nil {
		t.Fatal(err2)
	}
	if got := hide(err.Error()); strings.Contains(got, wrong) || strings.Contains(got, url.QueryEscape(wrong)) || !strings.Contains(got, "[MASKED:") {
		t.Errorf("shown: %s", got)
	}
}
