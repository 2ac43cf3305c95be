package integration

import (
	"slices"
	"strings"
	"sync"

	"github.com/tracejury/tracejury/judge/judgetest"
)

const bedrockJudge = "bedrock:eu.anthropic.claude-haiku-4-5-20251001-v1:0"

// withBedrock makes the judge of w the local Bedrock server, and of AWS nothing else reachable.
func (w *world) withBedrock(opts judgetest.Options) *judgetest.Server {
	w.t.Helper()
	s := judgetest.New(opts)
	w.t.Cleanup(func() {
		s.Close()
		// A client that was killed leaves half of a body.
		refused := slices.DeleteFunc(s.Refused(), func(why string) bool { return why == "the body is too long" })
		if len(refused) > 0 {
			w.t.Errorf("the service would refuse %d calls, the first: %s", len(refused), refused[0])
		}
	})
	w.judge = bedrockJudge
	w.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", s.URL)
	return s
}

// setenv sets a variable for the commands of w. AWS variables come with all else that a command of a test must have.
func (w *world) setenv(name, value string) {
	if !strings.HasPrefix(strings.Join(w.env, "\n"), "AWS_EC2_METADATA_DISABLED") {
		w.env = append([]string{"AWS_EC2_METADATA_DISABLED=true", "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=" + s3AccessKey,
			"AWS_SECRET_ACCESS_KEY=" + s3SecretKey, "AWS_CONFIG_FILE=/nonexistent", "AWS_SHARED_CREDENTIALS_FILE=/nonexistent"}, w.env...)
	}
	w.env = append(w.env, name+"="+value)
}

// failFirst answers the first n questions, and every attempt to mend them, as bad does, and all others as [leakyJudge] does.
func failFirst(n int, bad judgetest.Answer) func(judgetest.Call) judgetest.Answer {
	var mu sync.Mutex
	spoilt := map[string]bool{}
	return func(c judgetest.Call) judgetest.Answer {
		mu.Lock()
		defer mu.Unlock()
		if c.Repair == "" && len(spoilt) < n {
			spoilt[c.User] = true
		}
		if spoilt[c.User] {
			return bad
		}
		return leakyJudge(c)
	}
}
