package mask

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	markerOpen = "[MASKED:"
	hashLen    = 8
	maxKindLen = 32
)

// marker renders the marker of a kind; hash is empty or eight hex digits.
func marker(k Kind, hash string) string {
	if hash == "" {
		return markerOpen + string(k) + "]"
	}
	return markerOpen + string(k) + ":" + hash + "]"
}

// hash returns the eight hex digits of a secret, or nothing without a key.
func (m *Masker) hash(secret string) string {
	if m.key == nil {
		return ""
	}
	mac := hmac.New(sha256.New, m.key)
	mac.Write([]byte(secret))
	return hex.EncodeToString(mac.Sum(nil))[:hashLen]
}

// markerAt returns the length and kind of the marker that s starts with, or 0.
func markerAt(s string) (int, Kind) {
	if !strings.HasPrefix(s, markerOpen) {
		return 0, ""
	}
	i := len(markerOpen)
	from := i
	for i < len(s) && i-from <= maxKindLen && (is(s[i], cLower|cDigit) || s[i] == '_') {
		i++
	}
	kind := Kind(s[from:i])
	if i < len(s) && s[i] == ':' {
		h := i + 1
		for h < len(s) && h-i <= hashLen && is(s[h], cHex) {
			h++
		}
		if h-i-1 != hashLen {
			return 0, ""
		}
		i = h
	}
	// Only known kinds count: otherwise a value could call itself masked.
	if i >= len(s) || s[i] != ']' || !knownKind(kind) {
		return 0, ""
	}
	return i + 1, kind
}

func knownKind(k Kind) bool {
	switch k {
	case AWSAccessKeyID, AWSSecretAccessKey, AWSSessionToken, GitHubToken, GitLabToken, SlackToken, SlackWebhook,
		OpenAIKey, OpenRouterKey, AnthropicKey, BedrockAPIKey, GoogleAPIKey, GoogleOAuthToken, PrivateKey,
		AzureClientSecret, StripeKey, NPMToken, PyPIToken, DockerToken, HuggingFaceToken, JWT, SendGridKey, TwilioKey,
		VaultToken, DatabricksToken, AgeSecretKey, TelegramToken, ServiceToken, URLPassword, URLSignature, Assignment, Password,
		Secret, Token, APIKey, Authorization, Cookie, ConnectionString, Credential,
		Email, Phone, IBAN, Card, IPAddress, USSSN, Identity, Failed:
		return true
	}
	return false
}

// ContainsMarker reports whether s holds at least one marker.
func ContainsMarker(s string) bool {
	for {
		i := strings.Index(s, markerOpen)
		if i < 0 {
			return false
		}
		if n, _ := markerAt(s[i:]); n > 0 {
			return true
		}
		s = s[i+len(markerOpen):]
	}
}

// Markers returns the kinds of the markers in s, in order and with repetitions.
func Markers(s string) []Kind {
	var kinds []Kind
	for {
		i := strings.Index(s, markerOpen)
		if i < 0 {
			return kinds
		}
		n, k := markerAt(s[i:])
		if n > 0 {
			kinds = append(kinds, k)
		}
		s = s[i+max(n, len(markerOpen)):]
	}
}

// onlyMarkers reports whether s is one or more markers and nothing else. Several stand where a secret was cut over
// parts of one message.
func onlyMarkers(s string) bool {
	s = strings.TrimSpace(s)
	if s == "" {
		return false
	}
	for s != "" {
		n, _ := markerAt(s)
		if n == 0 {
			return false
		}
		s = s[n:]
	}
	return true
}
