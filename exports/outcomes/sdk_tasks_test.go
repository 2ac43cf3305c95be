package outcomes

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/tracejury/tracejury/exports"
	"github.com/tracejury/tracejury/exports/exporttest"
)

// Each task is an event that the platform's SDK sends as it stands in the file, as a session's first and to a session that runs.
func TestTasks_AreWhatTheSDKSends(t *testing.T) {
	n := 0
	for line := range bytes.Lines(exporttest.Write(t, exporttest.Full(), Target{})[TasksFile]) {
		n++
		var l struct {
			TaskID string          `json:"task_id"`
			Event  json.RawMessage `json:"event"`
		}
		if err := exports.ReadStrict(TasksFile, line, &l); err != nil {
			t.Fatal(err)
		}
		body := []byte(`{"agent":"agent_1","environment_id":"env_1","initial_events":[` + string(l.Event) + `]}`)
		if got, want := sent(t, body), parsed(t, body); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: the SDK sends\n%v\nthe file holds\n%v", l.TaskID, got, want)
		}
		events := []byte(`{"events":[` + string(l.Event) + `]}`)
		var params anthropic.BetaSessionEventSendParams
		if err := json.Unmarshal(events, &params); err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(params); err != nil || !reflect.DeepEqual(parsed(t, again), parsed(t, events)) {
			t.Errorf("%s: %v: the SDK's type makes of it\n%s", l.TaskID, err, again)
		}
	}
	if n != 3 {
		t.Errorf("%d tasks", n)
	}
}

func TestTools_AreOfTheSDKType(t *testing.T) {
	file := exporttest.Write(t, exporttest.Full(), Target{})[ToolsFile]
	agent := func(tools []byte) []byte { return append([]byte(`{"name":"n",`), bytes.TrimSpace(tools)[1:]...) }
	again := func(body []byte) any {
		var params anthropic.BetaAgentNewParams
		if err := json.Unmarshal(body, &params); err != nil {
			t.Fatal(err)
		}
		out, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		return parsed(t, out)
	}
	if got, want := again(agent(file)), parsed(t, agent(file)); !reflect.DeepEqual(got, want) {
		t.Errorf("the SDK's type makes\n%v\nof\n%v", got, want)
	}
	damaged := bytes.Replace(file, []byte(`"input_schema"`), []byte(`"parameters"`), 1)
	if reflect.DeepEqual(again(agent(damaged)), parsed(t, agent(damaged))) {
		t.Error("a damaged tool is not seen")
	}
}
