// Package mask replaces credentials, and on request personal data, by typed markers.
//
// A marker is [MASKED:kind], or [MASKED:kind:h8] when a key is configured: h8 is the start of a keyed hash of the
// secret, so that equal secrets stay recognisable as equal while nothing about them can be looked up. A marker never
// tells length or characters of what it stands for.
//
// Four laws hold for every method and every input:
//
//  1. Masking is idempotent: masking a masked value changes nothing.
//  2. It fails closed: a value that is too large, or on which the masker itself fails, becomes [MASKED:error].
//  3. The output is valid UTF-8, and valid JSON keeps its shape: only string contents, keys and large numbers under a
//     sensitive key are replaced.
//  4. The time is linear in the size of the value.
//
// Everything is found as spans of the text it came from. JSON strings, escapes, percent-encoding and zero-width
// characters are undone into a view that remembers where each byte lay; a secret found in a view is replaced in the
// original. Markers contain no character that any of these layers would have to escape.
//
// The package does not know where a text came from. Patterns cannot promise that nothing slips through: a secret
// without a known prefix, without a telling name beside it, or of which only the end is left, is not found. So mask
// before cutting. What somebody else cut shows less than eight characters of a secret beyond its prefix or its name, in every form that is
// undone; base64 of less than 20 and hex of less than 32 characters is not, and the bare AWS secret key of its documentation is known by its end.
package mask

// Kind names what a marker stands for, in lower snake case.
type Kind string

// The kinds of credentials.
const (
	AWSAccessKeyID     Kind = "aws_access_key_id"
	AWSSecretAccessKey Kind = "aws_secret_access_key"
	AWSSessionToken    Kind = "aws_session_token"
	GitHubToken        Kind = "github_token"
	GitLabToken        Kind = "gitlab_token"
	SlackToken         Kind = "slack_token"
	SlackWebhook       Kind = "slack_webhook"
	OpenAIKey          Kind = "openai_key"
	OpenRouterKey      Kind = "openrouter_key"
	AnthropicKey       Kind = "anthropic_key"
	BedrockAPIKey      Kind = "bedrock_api_key"
	GoogleAPIKey       Kind = "google_api_key"
	GoogleOAuthToken   Kind = "google_oauth_token"
	PrivateKey         Kind = "private_key"
	AzureClientSecret  Kind = "azure_client_secret"
	StripeKey          Kind = "stripe_key"
	NPMToken           Kind = "npm_token"
	PyPIToken          Kind = "pypi_token"
	DockerToken        Kind = "docker_token"
	HuggingFaceToken   Kind = "huggingface_token"
	JWT                Kind = "jwt"
	SendGridKey        Kind = "sendgrid_key"
	TwilioKey          Kind = "twilio_key"
	VaultToken         Kind = "vault_token"
	DatabricksToken    Kind = "databricks_token"
	AgeSecretKey       Kind = "age_secret_key"
	TelegramToken      Kind = "telegram_token"
	ServiceToken       Kind = "service_token" // of one of the many services that give out tokens of their own form
	URLPassword        Kind = "url_password"  // user information or a secret parameter of a URL
	URLSignature       Kind = "url_signature"
	Assignment         Kind = "assignment" // found by a name beside it in running text
	Password           Kind = "password"   // this and the following: found by the key that holds the value
	Secret             Kind = "secret"
	Token              Kind = "token"
	APIKey             Kind = "api_key"
	Authorization      Kind = "authorization"
	Cookie             Kind = "cookie"
	ConnectionString   Kind = "connection_string"
	Credential         Kind = "credential"
)

// The kinds of personal data, masked only with [Options.PII].
const (
	Email     Kind = "email"
	Phone     Kind = "phone"
	IBAN      Kind = "iban"
	Card      Kind = "payment_card"
	IPAddress Kind = "ip_address"
	USSSN     Kind = "us_ssn"
	Identity  Kind = "identity" // found by an attribute name such as user.account_uuid
)

// Failed marks a value that was replaced as a whole because it could not be masked.
const Failed Kind = "error"

// Options tunes a [Masker]. The zero value masks credentials and adds no hash.
type Options struct {
	Key            []byte // HMAC key of the hash in a marker; nil means no hash
	PII            bool   // mask personal data too
	MaxDecodeDepth int    // layers of JSON in JSON strings that are opened; 0 means 4. Other encodings are undone once
	MaxValueBytes  int    // a larger value becomes [MASKED:error]; 0 means 64 MiB
}

// Counts is how many secrets of each kind were replaced. A nil Counts may be passed to every method.
type Counts map[Kind]int

func (c Counts) add(k Kind) {
	if c != nil {
		c[k]++
	}
}
