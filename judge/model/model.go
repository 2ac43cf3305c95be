// Package model owns the judges: clients of model services, the offline judge that is code, and the one limiter through
// which all of them are called.
//
// It does not know evaluators: a request says everything, a reply is text. Only the rules judge knows criteria by name.
package model

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tracejury/tracejury/judge"
)

// Options tunes the clients. The zero value takes everything from the environment, as the AWS SDK does.
type Options struct {
	Region      string            // of Bedrock; "" as the AWS configuration says, else eu-central-1
	Mode        string            // native_schema, forced_tool, auto_tool; "" as the capability table says
	Temperature *float64          // nil: 0 where the model takes a temperature
	CacheTTL    string            // 5m or 1h; "" the service's default
	EUOnly      bool              // refuse model ids that route outside of the EU
	APIKey      string            // of an OpenAI-compatible server or of the Messages API; "" OPENAI_API_KEY or ANTHROPIC_API_KEY
	Timeout     time.Duration     // of one attempt; 0 means 5 minutes
	Connections int               // idle connections kept; 0 means 64
	Table       []Capability      // searched before the built-in capability table
	Metadata    map[string]string // sent with each call for invocation logs; never content
	HTTPClient  *http.Client      // nil: one of our own
	Batch       BatchOptions      // of bedrock-batch
}

func (o Options) timeout() time.Duration { return cmp.Or(o.Timeout, 5*time.Minute) }

func (o Options) client() *http.Client {
	if o.HTTPClient != nil {
		return o.HTTPClient
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	o.tune(t)
	return &http.Client{Transport: t, Timeout: o.timeout()}
}

// tune keeps as many connections as calls may run at a time.
func (o Options) tune(t *http.Transport) {
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = cmp.Or(o.Connections, 64)
}

// Forms lists what Open understands, for messages.
const Forms = "rules, bedrock:<model id>, bedrock-batch:<model id>, anthropic:<model>, openai:http://host/v1#<model>, replay:<ledger file or directory>"

// Open makes the judge that spec names: one of [Forms]. It makes no call.
func Open(ctx context.Context, spec string, opts Options) (judge.Judge, error) {
	kind, rest, _ := strings.Cut(spec, ":")
	switch {
	case spec == "rules":
		return Rules(), nil
	case kind == "bedrock" && rest != "":
		return openBedrock(ctx, rest, opts)
	case kind == "bedrock-batch" && rest != "":
		return openBatch(ctx, rest, opts)
	case kind == "replay" && rest != "":
		return openReplay(rest)
	case kind == "anthropic" && rest != "":
		if opts.APIKey == "" {
			opts.APIKey = os.Getenv("ANTHROPIC_API_KEY")
		}
		return openAnthropic(os.Getenv("ANTHROPIC_BASE_URL"), rest, opts)
	case kind == "openai" && rest != "":
		base, name, ok := strings.Cut(rest, "#")
		if !ok || name == "" {
			return nil, fmt.Errorf("judge %q: the model is missing: want openai:http://host/v1#<model>", spec)
		}
		if opts.APIKey == "" {
			opts.APIKey = os.Getenv("OPENAI_API_KEY")
		}
		return openOpenAI(base, name, opts)
	}
	msg := fmt.Sprintf("judge %q is none of %s", spec, Forms)
	if near := judge.Nearest(kind, []string{"rules", "bedrock", "bedrock-batch", "anthropic", "openai", "replay"}); near != "" && near != kind {
		msg += fmt.Sprintf(" (did you mean %s?)", near)
	}
	return nil, fmt.Errorf("%s", msg)
}
