package platformtest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// The account of the AWS server.
const (
	Region    = "eu-central-1"
	AccountID = "123456789012"
	accessKey = "AKIATESTTESTTESTTEST"
	secretKey = "platformtest/secret"
)

// AWS is AgentCore's control plane, CloudWatch Logs, S3 and STS.
type AWS struct {
	Server
	// Now is the service's clock. PollsToActive is how often an evaluator is asked for before it is ready; Lag is how often log
	// events are asked for before new ones are seen. PageSize is of listings.
	Now           time.Time
	PollsToActive int
	Lag           int
	PageSize      int
	Evaluators    map[string]*Evaluator // by id
	Groups        map[string]map[string][]LogEvent
	Datasets      map[string]*AWSDataset // by id
	Objects       map[string][]byte      // of S3, by bucket/key
	Deny          map[string]bool        // log groups and buckets that may not be written

	tokens map[string]string // client token to evaluator id
	unseen map[string]int    // stream to reads left until its events are seen
}

// Evaluator is one that the account has.
type Evaluator struct {
	ID, Name, Description, Level, Status string
	Config                               json.RawMessage
	Tags                                 map[string]string
	Locked                               bool
	Versions                             int
	polls                                int
}

// LogEvent is one event of a stream.
type LogEvent struct {
	Timestamp int64  `json:"timestamp"`
	Message   string `json:"message"`
}

// NewAWS starts the server.
func NewAWS(t testing.TB, now time.Time) *AWS {
	s := &AWS{Now: now, PollsToActive: 2, PageSize: 2, Evaluators: map[string]*Evaluator{}, Groups: map[string]map[string][]LogEvent{}, Deny: map[string]bool{}, Datasets: map[string]*AWSDataset{}, Objects: map[string][]byte{},
		tokens: map[string]string{}, unseen: map[string]int{}}
	s.start(t, func(status int, message string) (int, any) {
		code := "InternalServerException"
		if status == http.StatusTooManyRequests {
			code = "ThrottlingException"
		}
		return status, map[string]string{"__type": code, "message": message}
	}, s.handle)
	return s
}

// SetLag sets how late log events are seen.
func (s *AWS) SetLag(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Lag = n
	clear(s.unseen)
}

// Config is how a client reaches the server with valid credentials.
func (s *AWS) Config() aws.Config {
	return aws.Config{Region: Region, BaseEndpoint: &s.URL, Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, "")}
}

func refuse(status int, code, format string, args ...any) (int, any, http.Header) {
	return status, map[string]string{"__type": code, "message": fmt.Sprintf(format, args...)}, http.Header{"X-Amzn-Errortype": {code}}
}

func (s *AWS) handle(r *http.Request, body []byte) (int, any, http.Header) {
	target := r.Header.Get("X-Amz-Target")
	service := "bedrock-agentcore"
	switch {
	case target != "":
		service = "logs"
	case r.URL.Path == "/" && strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded"):
		service = "sts"
	case r.Header.Get("X-Amz-Content-Sha256") != "":
		service = "s3"
	}
	if err := checkSignature(r, body, service); err != nil {
		return refuse(http.StatusForbidden, "AccessDeniedException", "%v", err)
	}
	switch service {
	case "logs":
		return s.logs(target, body)
	case "sts":
		form, err := url.ParseQuery(string(body))
		if err != nil || form.Get("Action") != "GetCallerIdentity" {
			return refuse(http.StatusBadRequest, "InvalidAction", "%v", form)
		}
		return http.StatusOK, `<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult><Arn>arn:aws:iam::` + AccountID +
			`:user/test</Arn><UserId>u</UserId><Account>` + AccountID + `</Account></GetCallerIdentityResult></GetCallerIdentityResponse>`, http.Header{"Content-Type": {"text/xml"}}
	}
	if service == "s3" {
		return s.putObject(r, body)
	}
	if r.URL.Path == "/datasets" || strings.HasPrefix(r.URL.Path, "/datasets/") {
		return s.datasets(r, body)
	}
	return s.control(r, body)
}

var authorization = regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=([A-Z0-9]+)/(\d{8})/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$`)

// checkSignature signs the request again and compares.
func checkSignature(r *http.Request, body []byte, service string) error {
	m := authorization.FindStringSubmatch(r.Header.Get("Authorization"))
	switch {
	case m == nil:
		return fmt.Errorf("no signature")
	case m[1] != accessKey:
		return fmt.Errorf("unknown key")
	case m[3] != Region || m[4] != service:
		return fmt.Errorf("signed for %s in %s, want %s in %s", m[4], m[3], service, Region)
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return err
	}
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.URL.RequestURI(), nil)
	if err != nil {
		return err
	}
	for _, name := range strings.Split(m[5], ";") {
		switch name {
		case "host":
		case "content-length":
			again.ContentLength = r.ContentLength
		default:
			again.Header[http.CanonicalHeaderKey(name)] = r.Header.Values(name)
		}
	}
	sum := sha256.Sum256(body)
	signer := v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" })
	if err := signer.SignHTTP(r.Context(), aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey}, again, hex.EncodeToString(sum[:]), service, Region, at); err != nil {
		return err
	}
	if again.Header.Get("Authorization") != r.Header.Get("Authorization") {
		return fmt.Errorf("the signature does not match")
	}
	return nil
}

type dimension struct {
	DimensionName        string `json:"dimensionName"`
	DimensionInstruction string `json:"dimensionInstruction"`
	DimensionRatingScale struct {
		Categorical []struct {
			Label      string `json:"label"`
			Definition string `json:"definition"`
		} `json:"categorical"`
		Numerical []struct {
			Value      *float64 `json:"value"`
			Label      string   `json:"label"`
			Definition string   `json:"definition"`
		} `json:"numerical"`
	} `json:"dimensionRatingScale"`
}

type judgeConfig struct {
	LLMAsAJudge *struct {
		Instructions string `json:"instructions"`
		RatingScale  struct {
			MultiDimensional []dimension `json:"multiDimensional"`
		} `json:"ratingScale"`
		ModelConfig struct {
			Bedrock *struct {
				ModelID         string `json:"modelId"`
				InferenceConfig struct {
					MaxTokens int `json:"maxTokens"`
				} `json:"inferenceConfig"`
			} `json:"bedrockEvaluatorModelConfig"`
		} `json:"modelConfig"`
	} `json:"llmAsAJudge"`
}

var (
	evaluatorName = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9_]{0,47}$`)
	clientToken   = regexp.MustCompile(`^[a-zA-Z0-9](-*[a-zA-Z0-9]){0,256}$`)
	braces        = regexp.MustCompile(`\{(\w+)\}`)
	sessionWords  = []string{"context", "available_tools", "actual_tool_trajectory", "expected_tool_trajectory", "assertions"}
)

func checkConfig(raw json.RawMessage) error {
	var c judgeConfig
	if err := decode(raw, &c); err != nil {
		return err
	}
	if c.LLMAsAJudge == nil || c.LLMAsAJudge.ModelConfig.Bedrock == nil || c.LLMAsAJudge.ModelConfig.Bedrock.ModelID == "" || c.LLMAsAJudge.ModelConfig.Bedrock.InferenceConfig.MaxTokens < 1 {
		return fmt.Errorf("a required member is missing")
	}
	words := braces.FindAllStringSubmatch(c.LLMAsAJudge.Instructions, -1)
	if len(words) == 0 {
		return fmt.Errorf("no placeholder")
	}
	for _, w := range words {
		if !slices.Contains(sessionWords, w[1]) {
			return fmt.Errorf("placeholder %s is not of level SESSION", w[1])
		}
	}
	seen := map[string]bool{}
	for _, d := range c.LLMAsAJudge.RatingScale.MultiDimensional {
		scale := d.DimensionRatingScale
		if n := utf8.RuneCountInString(d.DimensionInstruction); !evaluatorName.MatchString(d.DimensionName) || seen[d.DimensionName] || n < 1 || n > 4000 || (len(scale.Categorical) > 0) == (len(scale.Numerical) > 0) {
			return fmt.Errorf("dimension %q", d.DimensionName)
		}
		seen[d.DimensionName] = true
	}
	if len(seen) == 0 {
		return fmt.Errorf("no dimension")
	}
	return nil
}

func (s *AWS) control(r *http.Request, body []byte) (int, any, http.Header) {
	id, single := strings.CutPrefix(r.URL.Path, "/evaluators/")
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/evaluators/create":
		return s.create(body)
	case r.Method == http.MethodPost && r.URL.Path == "/evaluators" && len(strings.TrimSpace(string(body))) <= 2:
		return s.listEvaluators(r)
	case single && (r.Method == http.MethodGet || r.Method == http.MethodPut):
		e := s.Evaluators[id]
		if e == nil {
			return refuse(http.StatusNotFound, "ResourceNotFoundException", "no evaluator %s", id)
		}
		if r.Method == http.MethodPut {
			return s.update(e, body)
		}
		if e.Status == "CREATING" || e.Status == "UPDATING" {
			if e.polls--; e.polls <= 0 {
				e.Status = "ACTIVE"
			}
		}
		return http.StatusOK, map[string]any{"evaluatorArn": "arn:" + e.ID, "evaluatorId": e.ID, "evaluatorName": e.Name, "description": e.Description, "level": e.Level, "status": e.Status,
			"evaluatorConfig": e.Config, "createdAt": 1, "updatedAt": 1 + e.Versions, "lockedForModification": e.Locked}, nil
	}
	return refuse(http.StatusBadRequest, "ValidationException", "no such call: %s %s %s", r.Method, r.URL.Path, body)
}

func (s *AWS) create(body []byte) (int, any, http.Header) {
	var in struct {
		EvaluatorName   string            `json:"evaluatorName"`
		Description     string            `json:"description"`
		Level           string            `json:"level"`
		ClientToken     string            `json:"clientToken"`
		Tags            map[string]string `json:"tags"`
		EvaluatorConfig json.RawMessage   `json:"evaluatorConfig"`
	}
	if err := decode(body, &in); err != nil {
		return refuse(http.StatusBadRequest, "ValidationException", "%v", err)
	}
	n := utf8.RuneCountInString(in.Description)
	if !evaluatorName.MatchString(in.EvaluatorName) || in.Level != "SESSION" || n < 1 || n > 200 || len(in.ClientToken) < 33 || !clientToken.MatchString(in.ClientToken) || len(in.Tags) > 50 {
		return refuse(http.StatusBadRequest, "ValidationException", "name, level, description, token or tags")
	}
	if err := checkConfig(in.EvaluatorConfig); err != nil {
		return refuse(http.StatusBadRequest, "ValidationException", "evaluatorConfig: %v", err)
	}
	if id, ok := s.tokens[in.ClientToken]; ok && s.Evaluators[id] != nil {
		return http.StatusAccepted, map[string]any{"evaluatorArn": "arn:" + id, "evaluatorId": id, "createdAt": 1, "status": s.Evaluators[id].Status}, nil
	}
	for _, e := range s.Evaluators {
		if e.Name == in.EvaluatorName {
			return refuse(http.StatusConflict, "ConflictException", "an evaluator named %s exists", e.Name)
		}
	}
	e := &Evaluator{ID: fmt.Sprintf("%s-%010d", in.EvaluatorName, len(s.tokens)), Name: in.EvaluatorName, Description: in.Description, Level: in.Level, Status: "CREATING",
		Config: in.EvaluatorConfig, Tags: in.Tags, Versions: 1, polls: s.PollsToActive}
	s.Evaluators[e.ID], s.tokens[in.ClientToken] = e, e.ID
	return http.StatusAccepted, map[string]any{"evaluatorArn": "arn:" + e.ID, "evaluatorId": e.ID, "createdAt": 1, "status": e.Status}, nil
}

func (s *AWS) update(e *Evaluator, body []byte) (int, any, http.Header) {
	var in struct {
		Description     string          `json:"description"`
		Level           string          `json:"level"`
		ClientToken     string          `json:"clientToken"`
		EvaluatorConfig json.RawMessage `json:"evaluatorConfig"`
	}
	if err := decode(body, &in); err != nil {
		return refuse(http.StatusBadRequest, "ValidationException", "%v", err)
	}
	if err := checkConfig(in.EvaluatorConfig); err != nil || !clientToken.MatchString(in.ClientToken) || len(in.ClientToken) < 33 {
		return refuse(http.StatusBadRequest, "ValidationException", "evaluatorConfig or token: %v", err)
	}
	answer := map[string]any{"evaluatorArn": "arn:" + e.ID, "evaluatorId": e.ID, "updatedAt": 1, "status": "UPDATING"}
	if s.tokens[in.ClientToken] == e.ID {
		return http.StatusAccepted, answer, nil
	}
	if e.Locked || e.Status == "CREATING" || e.Status == "UPDATING" {
		return refuse(http.StatusConflict, "ConflictException", "locked or %s", e.Status)
	}
	s.tokens[in.ClientToken] = e.ID
	e.Description, e.Level, e.Config, e.Status, e.polls = in.Description, in.Level, in.EvaluatorConfig, "UPDATING", s.PollsToActive
	e.Versions++
	return http.StatusAccepted, answer, nil
}

func (s *AWS) listEvaluators(r *http.Request) (int, any, http.Header) {
	ids := make([]string, 0, len(s.Evaluators))
	for id := range s.Evaluators {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	from, _ := strconv.Atoi(r.URL.Query().Get("nextToken"))
	list, next := []any{}, ""
	for i := from; i < len(ids); i++ {
		if i == from+s.PageSize {
			next = strconv.Itoa(i)
			break
		}
		e := s.Evaluators[ids[i]]
		list = append(list, map[string]any{"evaluatorArn": "arn:" + e.ID, "evaluatorId": e.ID, "evaluatorName": e.Name, "evaluatorType": "Custom", "level": e.Level, "status": e.Status, "createdAt": 1, "updatedAt": 1})
	}
	out := map[string]any{"evaluators": list}
	if next != "" {
		out["nextToken"] = next
	}
	return http.StatusOK, out, nil
}
