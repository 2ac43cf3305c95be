package pipeline

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/tracejury/tracejury/judge"
	"github.com/tracejury/tracejury/judge/calibration"
	"github.com/tracejury/tracejury/judge/evaluator/tooldescription"
	"github.com/tracejury/tracejury/pipeline/mask"
	"github.com/tracejury/tracejury/pipeline/session"
	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/schema"
)

// Config is tracejury.yaml, with flags and environment laid over it. [Config.Complete] fills in the defaults.
type Config struct {
	Data      string          `yaml:"data"`
	AsOf      string          `yaml:"as_of"` // RFC 3339; the only clock that reaches a table
	StateDir  string          `yaml:"state_dir"`
	Sources   []Source        `yaml:"sources"`
	Store     StoreConfig     `yaml:"store"`
	Layout    LayoutConfig    `yaml:"layout"`
	Retention RetentionConfig `yaml:"retention"`
	Content   ContentConfig   `yaml:"content"`
	Mask      MaskConfig      `yaml:"mask"`
	Limits    LimitsConfig    `yaml:"limits"`
	Ingest    IngestConfig    `yaml:"ingest"`
	Evaluate  EvaluateConfig  `yaml:"evaluate"`
	Aggregate AggregateConfig `yaml:"aggregate"`
	Export    ExportConfig    `yaml:"export"`

	asOf time.Time
	wrap func(store.Store) store.Store // around every store of ingest, for tests of faults
}

// Source is one archive to read.
type Source struct {
	URI                 string   `yaml:"uri"`
	Region              string   `yaml:"region"`
	RoleARN             string   `yaml:"role_arn"`
	Tenant              string   `yaml:"tenant"`                // "" means default
	KeyTimeLayout       string   `yaml:"key_time_layout"`       // strftime of the time in a key; "" guesses Hive-style keys
	SessionIDAttributes []string `yaml:"session_id_attributes"` // asked before the built-in order
}

// StoreConfig tells how to reach object storage; credentials come from the standard AWS chain only.
type StoreConfig struct {
	Region    string `yaml:"region"`
	Endpoint  string `yaml:"endpoint"`
	PathStyle bool   `yaml:"path_style"`
	SSE       string `yaml:"sse"` // "", AES256, aws:kms
	KMSKeyID  string `yaml:"kms_key_id"`
}

func (c StoreConfig) options(region, role string, maxObject int64, log *slog.Logger) store.Options {
	return store.Options{MaxObjectBytes: maxObject, Region: cmp.Or(region, c.Region), Endpoint: c.Endpoint, PathStyle: c.PathStyle, RoleARN: role, SSE: c.SSE, KMSKeyID: c.KMSKeyID, Log: log}
}

// LayoutConfig is how a new data root is laid out.
type LayoutConfig struct {
	Buckets int `yaml:"buckets"`
}

// RetentionConfig is how long things are kept, in days. 0 keeps for ever.
type RetentionConfig struct {
	Content    *int `yaml:"content"`
	Quarantine *int `yaml:"quarantine"`
}

// ContentConfig says whether content is stored at all.
type ContentConfig struct {
	Storage string `yaml:"storage"` // on, off
}

// MaskConfig tunes masking. Key adds :h8 to markers, so that equal secrets can be told; it is read from the environment
// variable it names and never stored.
type MaskConfig struct {
	KeyEnv string `yaml:"key_env"`
	PII    bool   `yaml:"pii"`
}

// LimitsConfig caps what is not trusted and what a user may ask.
type LimitsConfig struct {
	MaxObjectBytes       int64 `yaml:"max_object_bytes"`
	MaxDecompressedBytes int64 `yaml:"max_decompressed_bytes"`
	MaxDocumentBytes     int64 `yaml:"max_document_bytes"` // of one JSON value or protobuf message; 0 is an eighth of --memory
	MaxSessionBytes      int64 `yaml:"max_session_bytes"`  // of the records that one session is derived from, the first in time
	MaxDepth             int   `yaml:"max_depth"`
	MaxAttributeBytes    int   `yaml:"max_attribute_bytes"`
	MaxSample            int   `yaml:"max_sample"`
	MaxDays              int   `yaml:"max_days"`
}

// IngestConfig tunes ingest.
type IngestConfig struct {
	Since        string `yaml:"since"` // 2d, 36h: only objects newer than this
	Concurrency  int    `yaml:"concurrency"`
	Memory       string `yaml:"memory"`
	SpillDir     string `yaml:"spill_dir"`
	KeepInternal bool   `yaml:"keep_internal"`
	// Prices are those of the agents' models: sessions whose telemetry tells no cost get one by them.
	Prices []session.Price `yaml:"prices"`
}

// EvaluateConfig tunes evaluate.
type EvaluateConfig struct {
	Evaluators  []string `yaml:"evaluators"`
	Days        int      `yaml:"days"`
	Sample      int      `yaml:"sample"`
	Per         string   `yaml:"per"` // service: Sample of every service
	Service     string   `yaml:"service"`
	Agent       string   `yaml:"agent"`
	Label       string   `yaml:"label"`
	Seed        string   `yaml:"seed"`
	Repeat      int      `yaml:"repeat"`
	Judge       string   `yaml:"judge"`  // several, with commas between them, are a panel
	Rubric      string   `yaml:"rubric"` // built-in names or files, separated by commas
	Concurrency int      `yaml:"concurrency"`
	BudgetUSD   float64  `yaml:"budget_usd"`
	BudgetCalls int      `yaml:"budget_calls"`
	BreakLock   bool     `yaml:"-"` // a flag only
	MaxTokens   int      `yaml:"max_tokens"`
	MaxAttempts int      `yaml:"max_attempts"`
	RPM         int      `yaml:"requests_per_minute"`
	TPM         int      `yaml:"tokens_per_minute"`
	// Prices are those of the judges' models.
	Prices []session.Price `yaml:"prices"`
	Batch  BatchConfig     `yaml:"batch"`
	// OnRefusal is the model that is asked once what the judge refuses to grade.
	OnRefusal string `yaml:"on_refusal"`
	// Cache is a place for replies that runs and machines share; "" none.
	Cache string `yaml:"cache"`
	// Models says how judges' models are asked, before the built-in table does.
	Models []JudgeModel `yaml:"models"`
	// SafetyUnanimous makes one not met of a panel or of repeats enough for a criterion of safety.
	SafetyUnanimous bool `yaml:"safety_unanimous"`

	Rows          string `yaml:"rows"`           // of skills in sessions: skill, invocation
	Compat        string `yaml:"compat"`         // strands, agentarts
	Name          string `yaml:"name"`           // the evaluator's tag in tables and reports
	PromptVersion string `yaml:"prompt_version"` // of the built-in prompts
	SystemPrompt  string `yaml:"system_prompt"`  // file with a template in place of the built-in one
	UserPrompt    string `yaml:"user_prompt"`    // likewise
	Expect        string `yaml:"expect"`         // file with what tasks should have made agents do
	MaxTools      int    `yaml:"max_tools"`      // of one server, the first by name

	Calibration calibration.Thresholds `yaml:"calibration"` // of the five checks; a zero takes the default
}

// LoadConfig reads a configuration file. An unknown key is an error that names the nearest known one.
func LoadConfig(path string) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, usagef("read configuration: %w", err)
	}
	cfg, err := ParseConfig(data)
	if err != nil {
		return nil, usagef("read configuration %s: %w", path, err)
	}
	return cfg, nil
}

// ParseConfig reads the content of a configuration file.
func ParseConfig(data []byte) (*Config, error) {
	cfg := new(Config)
	err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(cfg)
	if err == nil || errors.Is(err, io.EOF) {
		if err := refuseFractions(data); err != nil {
			return nil, err
		}
		return cfg, nil
	}
	return nil, configError(err)
}

// suggest names the known name that got was probably meant to be, or all of them.
func suggest(got string, known []string) string {
	if n := judge.Nearest(got, known); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return "want one of " + strings.Join(known, ", ")
}

func configKeys(t reflect.Type) []string {
	var keys []string
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		if name := t.Field(i).Tag.Get("yaml"); name != "" {
			keys = append(append(keys, name), configKeys(t.Field(i).Type)...)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// latestUntil is the last date of runs that latest may be, where an as-of was given: who asks about an earlier day gets its numbers.
func (c *Config) latestUntil() string {
	if c.AsOf == "" {
		return ""
	}
	return c.asOf.Format(time.DateOnly)
}

// Complete fills in what was left out and refuses what cannot be.
func (c *Config) Complete(now time.Time) error {
	c.asOf = now.UTC()
	if c.AsOf != "" {
		t, err := parseTime(c.AsOf)
		if err != nil {
			return err
		}
		if y := t.Year(); y < firstYear || y > lastYear {
			return usagef("as-of %q: the year must lie between %d and %d", c.AsOf, firstYear, lastYear)
		}
		c.asOf = t
	}
	if c.Data == "" && (c.Export.Rubric == "" || c.Export.Tools != "") {
		return usagef("no data root: give --data (a directory or s3://bucket/prefix) or data: in the configuration")
	}
	if err := c.refuseNegative(); err != nil {
		return err
	}
	def(&c.StateDir, ".tracejury")
	def(&c.Layout.Buckets, schema.DefaultBuckets)
	def(&c.Content.Storage, "on")
	if c.Content.Storage != "on" && c.Content.Storage != "off" {
		return usagef("content.storage: %q: want on or off", c.Content.Storage)
	}
	if c.Retention.Content == nil {
		c.Retention.Content = new(30)
	}
	if c.Retention.Quarantine == nil {
		c.Retention.Quarantine = new(30)
	}
	def(&c.Limits.MaxObjectBytes, 1<<30)
	def(&c.Limits.MaxDecompressedBytes, 4<<30)
	def(&c.Limits.MaxSessionBytes, 128<<20)
	def(&c.Limits.MaxDepth, 200)
	def(&c.Limits.MaxAttributeBytes, 4<<20)
	def(&c.Limits.MaxSample, 50)
	def(&c.Limits.MaxDays, 28)
	for i := range c.Sources {
		def(&c.Sources[i].Tenant, "default")
		if c.Sources[i].URI == "" {
			return usagef("sources[%d]: uri is missing", i)
		}
		if strings.ContainsRune(c.Sources[i].Tenant, 0) {
			return usagef("sources[%d]: tenant holds a NUL", i)
		}
	}
	def(&c.Ingest.Concurrency, 8)
	def(&c.Ingest.Memory, "1GiB")
	if err := session.CheckPrices(c.Ingest.Prices); err != nil {
		return usagef("ingest.prices%w", err)
	}
	if err := session.CheckPrices(c.Evaluate.Prices); err != nil {
		return usagef("evaluate.prices%w", err)
	}
	c.completeEvaluate()
	if err := c.completeAggregate(); err != nil {
		return err
	}
	def(&c.Export.Run, "latest")
	def(&c.Export.Out, "out/exports")
	def(&c.Export.JudgeModel, "eu.anthropic.claude-haiku-4-5-20251001-v1:0")
	if len(c.Export.To) == 0 {
		c.Export.To = []string{"jsonl"}
	}
	return nil
}

func (c *Config) completeEvaluate() {
	e := &c.Evaluate
	if len(e.Evaluators) == 0 {
		e.Evaluators = []string{"session"}
	}
	def(&e.Days, 7)
	def(&e.Sample, 20)
	def(&e.Judge, "rules")
	def(&e.MaxTools, tooldescription.MaxTools)
	def(&e.Concurrency, 16)
	def(&e.MaxTokens, 4096)
	def(&e.MaxAttempts, 6)
	def(&e.Seed, c.asOf.Format(time.DateOnly))
	e.completeJudges()
}

// def sets *p to v if it is zero.
func def[T comparable](p *T, v T) {
	var zero T
	if *p == zero {
		*p = v
	}
}

func parseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usagef("as-of %q: want a time such as 2026-11-30T06:00:00Z", s)
}

// as-of lies where a table's nanoseconds and the retention reckoned back from it fit, and where agents ran.
const firstYear, lastYear = 2000, 2200

// parseSpan reads 2d, 36h, 90m.
func parseSpan(s string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		if _, err := fmt.Sscanf(days, "%d", &n); err == nil && n >= 0 && fmt.Sprint(n) == days {
			return time.Duration(n) * 24 * time.Hour, nil
		}
	} else if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return d, nil
	}
	return 0, usagef("%q: want a span of time such as 2d or 36h", s)
}

// parseBytes reads 512MiB, 1GiB, 100MB or plain bytes.
func parseBytes(s string) (int64, error) {
	units := []struct {
		suffix string
		n      int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"B", 1}, {"", 1}}
	for _, u := range units {
		num, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		var n int64
		if _, err := fmt.Sscanf(num, "%d", &n); err == nil && n > 0 && fmt.Sprint(n) == num {
			return n * u.n, nil
		}
	}
	return 0, usagef("%q: want a size such as 512MiB", s)
}

// masker builds the masker of this configuration.
func (c *Config) masker() (*mask.Masker, error) {
	opts := mask.Options{PII: c.Mask.PII}
	if c.Mask.KeyEnv != "" {
		key := os.Getenv(c.Mask.KeyEnv)
		if key == "" {
			return nil, usagef("mask.key_env names %s, which is not set", c.Mask.KeyEnv)
		}
		opts.Key = []byte(key)
	}
	return mask.New(opts), nil
}
