package platformtest

import (
	"net/http"
	"regexp"
	"strings"
	"time"
)

var (
	logGroup  = regexp.MustCompile(`^[.\-_/#A-Za-z0-9]{1,512}$`)
	logStream = regexp.MustCompile(`^[^:*]{1,512}$`)
)

func (s *AWS) logs(target string, body []byte) (int, any, http.Header) {
	bad := func(format string, args ...any) (int, any, http.Header) {
		return refuse(http.StatusBadRequest, "InvalidParameterException", format, args...)
	}
	var in struct {
		LogGroupName  string     `json:"logGroupName"`
		LogStreamName string     `json:"logStreamName"`
		LogEvents     []LogEvent `json:"logEvents"`
		StartFromHead bool       `json:"startFromHead"`
		Limit         int        `json:"limit"`
		Unmask        bool       `json:"unmask"`
	}
	if err := decode(body, &in); err != nil {
		return bad("%v", err)
	}
	op := strings.TrimPrefix(target, "Logs_20140328.")
	if !logGroup.MatchString(in.LogGroupName) || (op != "CreateLogGroup" && !logStream.MatchString(in.LogStreamName)) {
		return bad("group %q, stream %q", in.LogGroupName, in.LogStreamName)
	}
	if strings.HasPrefix(in.LogGroupName, "/aws/bedrock-agentcore/evaluations/") {
		return bad("reserved for the service")
	}
	if s.Deny[in.LogGroupName] {
		return refuse(http.StatusBadRequest, "AccessDeniedException", "not authorized for %s", in.LogGroupName)
	}
	group, hasGroup := s.Groups[in.LogGroupName]
	if op == "CreateLogGroup" {
		if hasGroup {
			return refuse(http.StatusConflict, "ResourceAlreadyExistsException", "the log group exists")
		}
		s.Groups[in.LogGroupName] = map[string][]LogEvent{}
		return http.StatusOK, map[string]any{}, nil
	}
	if !hasGroup {
		return refuse(http.StatusNotFound, "ResourceNotFoundException", "no such log group")
	}
	events, hasStream := group[in.LogStreamName]
	if op == "CreateLogStream" {
		if hasStream {
			return refuse(http.StatusConflict, "ResourceAlreadyExistsException", "the log stream exists")
		}
		group[in.LogStreamName] = nil
		return http.StatusOK, map[string]any{}, nil
	}
	if !hasStream {
		return refuse(http.StatusNotFound, "ResourceNotFoundException", "no such log stream")
	}
	switch op {
	case "PutLogEvents":
		return s.put(in.LogGroupName, in.LogStreamName, in.LogEvents)
	case "GetLogEvents":
		key := in.LogGroupName + "\x00" + in.LogStreamName
		if len(events) > 0 && s.unseen[key] > 0 {
			s.unseen[key]--
			events = nil
		}
		if in.Limit > 0 && len(events) > in.Limit {
			events = events[:in.Limit]
		}
		out := []any{}
		for _, e := range events {
			out = append(out, map[string]any{"timestamp": e.Timestamp, "message": e.Message, "ingestionTime": e.Timestamp})
		}
		return http.StatusOK, map[string]any{"events": out, "nextForwardToken": "f/1", "nextBackwardToken": "b/1"}, nil
	}
	return bad("no such call: %s", target)
}

func (s *AWS) put(group, stream string, events []LogEvent) (int, any, http.Header) {
	bad := func(format string, args ...any) (int, any, http.Header) {
		return refuse(http.StatusBadRequest, "InvalidParameterException", format, args...)
	}
	if len(events) < 1 || len(events) > 10_000 {
		return bad("%d events", len(events))
	}
	size, tooOld, tooNew := 0, 0, -1
	for i, e := range events {
		size += len(e.Message) + 26
		if e.Message == "" || i > 0 && e.Timestamp < events[i-1].Timestamp {
			return bad("event %d is empty or out of order", i)
		}
		at := time.UnixMilli(e.Timestamp)
		if at.Before(s.Now.Add(-14 * 24 * time.Hour)) {
			tooOld = i + 1
		}
		if tooNew < 0 && at.After(s.Now.Add(2*time.Hour)) {
			tooNew = i
		}
	}
	if size > 1_048_576 {
		return bad("%d bytes", size)
	}
	if events[len(events)-1].Timestamp-events[0].Timestamp > (24 * time.Hour).Milliseconds() {
		return bad("more than 24 hours")
	}
	rejected := map[string]any{}
	kept := events
	if tooNew >= 0 {
		rejected["tooNewLogEventStartIndex"] = tooNew
		kept = kept[:tooNew]
	}
	if tooOld > 0 {
		rejected["tooOldLogEventEndIndex"] = tooOld
		kept = kept[min(tooOld, len(kept)):]
	}
	key := group + "\x00" + stream
	if len(s.Groups[group][stream]) == 0 {
		s.unseen[key] = s.Lag
	}
	s.Groups[group][stream] = append(s.Groups[group][stream], kept...)
	out := map[string]any{"nextSequenceToken": "1"}
	if len(rejected) > 0 {
		out["rejectedLogEventsInfo"] = rejected
	}
	return http.StatusOK, out, nil
}

// Messages is every event of every stream.
func (s *AWS) Messages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, streams := range s.Groups {
		for _, events := range streams {
			for _, e := range events {
				out = append(out, e.Message)
			}
		}
	}
	return out
}
