package agentcore

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/tracejury/tracejury/exports"
)

// Limits of PutLogEvents.
const (
	maxBatchBytes  = 1_048_576 // of messages, each counted with eventOverhead
	eventOverhead  = 26
	maxBatchEvents = 10_000
	maxBatchSpan   = 24 * time.Hour
	maxEventAge    = 14 * 24 * time.Hour
	maxEventLead   = 2 * time.Hour
	maxGroupName   = 512
)

// maxBuffered bounds what waits in batches of all services together.
const maxBuffered = 16 << 20

// groupPrefix is where the console looks for results that the service did not write itself.
const groupPrefix = "/aws/cloudwatch/evaluations/results/"

var notInGroup = regexp.MustCompile(`[^.\-_/#A-Za-z0-9]`)

// groupName is the log group of a service. A name that cannot be one ends in a hash, so that two never fall together.
func groupName(service string) string {
	name := groupPrefix + notInGroup.ReplaceAllString(service, "_")
	if name != groupPrefix+service || len(name) > maxGroupName {
		sum := sha256.Sum256([]byte(service))
		name = name[:min(len(name), maxGroupName-9)] + "-" + hex.EncodeToString(sum[:4])
	}
	return name
}

// event is one line of SessionsFile.
type event struct {
	at      int64 // milliseconds
	message string
	id      string // hash of run, session and criterion
	key     string // of the ledger: the account, region and group as well
}

func (e *event) size() int { return len(e.message) + eventOverhead }

type batch struct {
	events []event
	bytes  int
}

// place is where a batch went: what it takes to look it up.
type place struct {
	Group  string `json:"group"`
	Stream string `json:"stream"`
}

// sender is the sending of one file.
type sender struct {
	*pusher
	batches map[string]*batch // by group
	waiting int               // bytes in batches
	groups  map[string]*exports.Result
	failed  map[string]error
}

// pushSessions sends every record that the ledger does not know as sent. A batch has a log stream of its own, named by what
// it holds verdicts on, so that whether it arrived can be told from the stream, by this machine and any other.
func (p *pusher) pushSessions(ctx context.Context, files fs.FS) error {
	s := &sender{pusher: p, batches: map[string]*batch{}, groups: map[string]*exports.Result{}, failed: map[string]error{}}
	err := s.settlePending(ctx)
	if err == nil {
		err = s.read(ctx, files)
	}
	for _, g := range slices.Sorted(maps.Keys(s.batches)) {
		if err != nil {
			break
		}
		err = s.flush(ctx, g)
	}
	if err != nil { // nothing more can be sent: the file, the ledger or the user says so
		return p.box.Fail(exports.Result{Target: "agentcore", Kind: "log_events", Name: SessionsFile}, err)
	}
	var all []error
	for _, g := range slices.Sorted(maps.Keys(s.groups)) {
		r := *s.groups[g]
		if e := s.failed[g]; e != nil {
			all = append(all, p.box.Fail(r, fmt.Errorf("log group %s: %w", g, e)))
			continue
		}
		p.box.Done(r)
	}
	return errors.Join(all...)
}

// settlePending finds out about batches that an earlier push began and did not see the end of.
func (s *sender) settlePending(ctx context.Context) error {
	ids, values := s.box.Ledger.Pending(s.prefix + "logs/")
	for i, id := range ids {
		var at place
		if err := json.Unmarshal([]byte(values[i]), &at); err != nil {
			return fmt.Errorf("push ledger: %w", err)
		}
		there, err := s.arrived(ctx, at, true)
		if err != nil {
			return fmt.Errorf("look up batch %s of %s: %w", at.Stream, at.Group, err)
		}
		if s.box.DryRun {
			continue
		}
		if there {
			err = s.box.Ledger.Finish(id, values[i], nil)
		} else {
			err = s.box.Ledger.Drop(id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// read goes through the file and sends each batch that is full.
func (s *sender) read(ctx context.Context, files fs.FS) error {
	f, err := files.Open(SessionsFile)
	if err != nil {
		return err
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(make([]byte, 64<<10), 2*maxBatchBytes)
	for n := 1; scan.Scan(); n++ {
		group, e, err := s.parse(scan.Bytes())
		if err != nil {
			return fmt.Errorf("%s:%d: %w", SessionsFile, n, err)
		}
		if s.groups[group] == nil {
			s.groups[group] = &exports.Result{Target: "agentcore", Kind: "log_group", Name: group, State: exports.Unchanged}
		}
		if s.failed[group] != nil || s.box.Ledger.Sent(e.key) {
			continue
		}
		b := s.batches[group]
		if b != nil && (b.bytes+e.size() > maxBatchBytes || len(b.events) == maxBatchEvents) {
			if err := s.flush(ctx, group); err != nil {
				return err
			}
			b = nil
		}
		if b == nil {
			b = &batch{}
			s.batches[group] = b
		}
		b.events, b.bytes, s.waiting = append(b.events, e), b.bytes+e.size(), s.waiting+e.size()
		if s.waiting > maxBuffered {
			if err := s.flush(ctx, s.largest()); err != nil {
				return err
			}
		}
	}
	return scan.Err()
}

func (s *sender) largest() (group string) {
	for _, g := range slices.Sorted(maps.Keys(s.batches)) {
		if group == "" || s.batches[g].bytes > s.batches[group].bytes {
			group = g
		}
	}
	return group
}

func (s *sender) parse(line []byte) (group string, e event, err error) {
	var r record
	if err := json.Unmarshal(line, &r); err != nil {
		return "", e, err
	}
	group = groupName(r.Resource.Attributes.ServiceName)
	e = event{at: r.TimeUnixNano / int64(time.Millisecond), message: string(line), id: hash16(r.Attributes.RunID, r.Attributes.SessionKey, r.Attributes.Name)}
	e.key = hash16(s.prefix, group, e.id)
	at := time.UnixMilli(e.at)
	switch {
	case r.Body != eventName || r.Attributes.RunID == "" || r.Attributes.SessionKey == "" || r.Attributes.Name == "":
		return "", e, errors.New("no record of ours")
	case e.size() > maxBatchBytes:
		return "", e, fmt.Errorf("%d bytes: an event may have %d", len(line), maxBatchBytes-eventOverhead)
	case at.Before(s.box.Now.Add(-maxEventAge)):
		return "", e, fmt.Errorf("its time is %s: CloudWatch Logs drops what is over 14 days old; export with a newer --as-of", at.UTC().Format(time.RFC3339))
	case at.After(s.box.Now.Add(maxEventLead)):
		return "", e, fmt.Errorf("its time is %s: CloudWatch Logs drops what is over two hours ahead; export with an older --as-of", at.UTC().Format(time.RFC3339))
	}
	return group, e, nil
}

func hash16(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// flush sends the batch of a group in order of time, in pieces of at most a day. An error is one that ends the push: what a
// service refuses ends its own group only.
func (s *sender) flush(ctx context.Context, group string) error {
	b := s.batches[group]
	delete(s.batches, group)
	s.waiting -= b.bytes
	slices.SortStableFunc(b.events, func(x, y event) int { return cmp.Compare(x.at, y.at) })
	for len(b.events) > 0 {
		n := 1
		for n < len(b.events) && b.events[n].at-b.events[0].at < maxBatchSpan.Milliseconds() {
			n++
		}
		err := s.send(ctx, group, b.events[:n])
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errLedger):
			return err
		case err != nil:
			s.failed[group] = err
			return nil
		}
		b.events = b.events[n:]
	}
	return nil
}

// errLedger ends a push: without memory nothing may be sent.
var errLedger = errors.New("the push ledger failed")

func (s *sender) send(ctx context.Context, group string, events []event) error {
	sum := sha256.New()
	keys := make([]string, len(events))
	in := &cloudwatchlogs.PutLogEventsInput{LogGroupName: &group}
	for i := range events {
		keys[i] = events[i].key
		sum.Write([]byte(events[i].id))
		in.LogEvents = append(in.LogEvents, types.InputLogEvent{Timestamp: &events[i].at, Message: &events[i].message})
	}
	hash := hex.EncodeToString(sum.Sum(nil))
	var r record
	if err := json.Unmarshal([]byte(events[0].message), &r); err != nil {
		return err
	}
	at := place{Group: group, Stream: r.Attributes.RunID + "/" + hash[:16]}
	in.LogStreamName = &at.Stream
	id, value := s.prefix+"logs/"+group+"/"+hash, ""
	data, err := exports.JSON(at)
	if err != nil {
		return err
	}
	value = string(data)
	existed, err := s.ensureStream(ctx, at)
	if err != nil {
		return err
	}
	if existed { // made by a push whose ledger is lost, or between its call and its ledger
		there, err := s.arrived(ctx, at, true)
		if err != nil {
			return err
		}
		if there {
			return s.finish(id, value, keys)
		}
	}
	if !s.box.DryRun {
		if err := s.box.Ledger.Begin(id, value, keys); err != nil {
			return fmt.Errorf("%w: %w", errLedger, err)
		}
	}
	taken, err := s.put(ctx, at, in)
	if err != nil {
		if classify(err) == permanent && !s.box.DryRun && ctx.Err() == nil && !errors.Is(err, exports.ErrUncertain) {
			if err := s.box.Ledger.Drop(id); err != nil {
				return fmt.Errorf("%w: %w", errLedger, err)
			}
		}
		return err
	}
	result := s.groups[group]
	result.State = exports.Sent
	result.Count += int64(taken[1] - taken[0])
	refused := len(events) - (taken[1] - taken[0])
	switch {
	case refused == 0:
		return s.finish(id, value, nil)
	case refused < len(events):
		err = s.finish(id, value, keys[taken[0]:taken[1]])
	default:
		err = s.box.Ledger.Drop(id)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errLedger, err)
	}
	return fmt.Errorf("%d of %d records were dropped for their time", refused, len(events))
}

func (s *sender) finish(id, value string, keys []string) error {
	if s.box.DryRun {
		return nil
	}
	if err := s.box.Ledger.Finish(id, value, keys); err != nil {
		return fmt.Errorf("%w: %w", errLedger, err)
	}
	return nil
}

// put sends a batch once. Where the answer is lost, the stream says whether it arrived. taken is the range of events that were
// stored: the service drops those that are too old or too far ahead.
func (s *sender) put(ctx context.Context, at place, in *cloudwatchlogs.PutLogEventsInput) (taken [2]int, err error) {
	taken = [2]int{0, len(in.LogEvents)}
	err = s.box.Retry(ctx, func() error {
		out, err := s.logs.PutLogEvents(ctx, in)
		if err == nil {
			if no := out.RejectedLogEventsInfo; no != nil {
				taken[0] = int(max(aws.ToInt32(no.TooOldLogEventEndIndex), aws.ToInt32(no.ExpiredLogEventEndIndex)))
				if no.TooNewLogEventStartIndex != nil {
					taken[1] = max(taken[0], int(*no.TooNewLogEventStartIndex))
				}
			}
			return nil
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case classify(err) == permanent:
			return plain(err)
		case classify(err) == throttled:
			return &exports.Retryable{Err: plain(err)}
		}
		there, lookErr := s.arrived(ctx, at, true)
		if lookErr != nil {
			return fmt.Errorf("%w: %w; and looking it up: %w", exports.ErrUncertain, plain(err), lookErr)
		}
		if there {
			return nil
		}
		return &exports.Retryable{Err: plain(err)}
	})
	return taken, err
}

// ensureStream makes group and stream exist.
func (s *sender) ensureStream(ctx context.Context, at place) (existed bool, err error) {
	if g := s.groups[at.Group]; g.ID == "" {
		err := s.call(ctx, func() error {
			_, err := s.logs.CreateLogGroup(ctx, &cloudwatchlogs.CreateLogGroupInput{LogGroupName: &at.Group})
			return err
		})
		if err != nil && !isCode(err, "ResourceAlreadyExistsException") {
			return false, err
		}
		g.ID = at.Group
	}
	err = s.call(ctx, func() error {
		_, err := s.logs.CreateLogStream(ctx, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: &at.Group, LogStreamName: &at.Stream})
		return err
	})
	if isCode(err, "ResourceAlreadyExistsException") {
		return true, nil
	}
	return false, err
}

// arrived says whether a stream holds anything. A stream takes one batch, and a batch is stored whole. What was stored is seen
// after some seconds: settle waits for that.
func (s *sender) arrived(ctx context.Context, at place, settle bool) (bool, error) {
	there := false
	limit := time.Duration(0)
	if settle && !s.box.DryRun {
		limit = s.box.SettleTime()
	}
	err := s.box.Poll(ctx, limit, func() (bool, error) {
		err := s.call(ctx, func() error {
			out, err := s.logs.GetLogEvents(ctx, &cloudwatchlogs.GetLogEventsInput{LogGroupName: &at.Group, LogStreamName: &at.Stream, StartFromHead: aws.Bool(true), Limit: aws.Int32(1)})
			there = err == nil && len(out.Events) > 0
			return err
		})
		if isCode(err, "ResourceNotFoundException") {
			return true, nil // no stream: the batch was never on its way
		}
		return there, err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return false, nil
	}
	return there, err
}
