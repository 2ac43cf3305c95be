package otlpgen

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// AsOf is the time for which the demo archive is made: the sessions of the seven days before it are its window, and one
// session is still running.
const AsOf = "2026-11-30T06:00:00Z"

// Object is one object of an archive.
type Object struct {
	Key  string // relative to the archive's root
	Body []byte
	info ObjectTruth
}

// sink is the way in which exports reached the bucket.
type sink uint8

const (
	sinkS3         sink = iota // the collector's S3 exporter
	sinkFile                   // a file exporter's JSON lines, all signals in one file
	sinkFramed                 // a file exporter's protobuf, each message after its length in 4 bytes
	sinkCloudWatch             // a subscription of a CloudWatch log group: gzip members of envelopes
)

// encoding is one of the forms in which the S3 exporter was set to write.
type encoding struct {
	json bool
	zip  Compression
}

func encodings() []encoding {
	return []encoding{{true, Gzip}, {true, Zstd}, {false, Gzip}, {false, Zstd}, {true, None}, {false, None}}
}

// The scripts to which something happens on the way.
const (
	lateScript      = "op-13-asked-first" // its last span comes 70 minutes late
	duplicateScript = "op-07-certificate" // the exporter sends its batch twice
	brokenScript    = "hd-03-vpn-dealer"  // a copy of its batch is cut off
)

// Demo makes the archive of testdata/archive and what is true about it.
func Demo() ([]Object, *Truth, error) {
	scripts := slices.Concat(helpdeskSessions(), opsSessions())
	var chunks []chunk
	for _, s := range scripts {
		for i, c := range render(s) {
			if s.Name == lateScript && i == len(s.Turns)-1 {
				c, chunks = splitLate(c, chunks)
			}
			chunks = append(chunks, c)
		}
	}
	a := &archiver{}
	for i, b := range batches(chunks) {
		if err := a.batch(i, b); err != nil {
			return nil, nil, err
		}
	}
	if err := a.badObjects(); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(a.objects, func(x, y Object) int { return cmp.Compare(x.Key, y.Key) })
	truth, err := newTruth(scripts, chunks, a.objects)
	if err != nil {
		return nil, nil, err
	}
	return a.objects, truth, nil
}

// splitLate moves the last span of c into a chunk of its own that comes later.
func splitLate(c chunk, chunks []chunk) (chunk, []chunk) {
	g := &c.groups[0]
	last := len(g.Spans) - 1
	late := chunk{script: c.script, at: c.at + int64(70*time.Minute), groups: []Group{{Resource: g.Resource, Scope: g.Scope, Spans: g.Spans[last:]}}}
	g.Spans = g.Spans[:last:last]
	return c, append(chunks, late)
}

// batches sorts the chunks by the time of their export and puts together what a collector would: a few minutes of all
// services, one sink at a time.
func batches(chunks []chunk) [][]chunk {
	sorted := slices.Clone(chunks)
	slices.SortStableFunc(sorted, func(a, b chunk) int {
		return cmp.Or(cmp.Compare(a.script.Sink, b.script.Sink), cmp.Compare(a.at, b.at))
	})
	var out [][]chunk
	for _, c := range sorted {
		if n := len(out); n > 0 {
			first := out[n-1][0]
			near := c.at-first.at < int64(25*time.Minute) || c.script.Sink == sinkFile
			if near && first.script.Sink == c.script.Sink && len(out[n-1]) < 4 {
				out[n-1] = append(out[n-1], c)
				continue
			}
		}
		out = append(out, []chunk{c})
	}
	return out
}

// archiver writes batches into objects.
type archiver struct {
	objects   []Object
	broken    []byte // body of the batch that is sent once more and cut
	brokenKey string
}

func (a *archiver) batch(i int, b []chunk) error {
	var groups []Group
	for _, c := range b {
		groups = append(groups, c.groups...)
	}
	at := time.Unix(0, b[len(b)-1].at).UTC().Add(3 * time.Second)
	switch b[0].script.Sink {
	case sinkFile:
		return a.file(at, b)
	case sinkFramed:
		return a.framed(at, b)
	case sinkCloudWatch:
		return a.cloudWatch(at, groups)
	}
	enc := encodings()[i%len(encodings())]
	for _, signal := range []Signal{Traces, Logs, Metrics} {
		if signal.records(groups) == 0 {
			continue
		}
		var plain []byte
		name := "binpb"
		if enc.json {
			name = "json"
			plain = AppendJSON(nil, signal, groups)
		} else {
			plain = AppendProto(nil, signal, groups)
		}
		key := s3Key(at, signal, "."+name+enc.zip.suffix())
		info := ObjectTruth{Format: name + enc.zip.suffix(), Records: signal.records(groups)}
		body, err := a.put(key, enc.zip, plain, info)
		if err != nil {
			return err
		}
		for _, c := range b {
			if signal == Traces && c.script.Name == duplicateScript {
				again := s3Key(at.Add(time.Minute), signal, "."+name+enc.zip.suffix())
				info.Note = "the exporter's retry of " + key + ": every record a duplicate"
				a.objects = append(a.objects, Object{Key: again, Body: body, info: info})
			}
			if signal == Traces && c.script.Name == brokenScript {
				a.broken, a.brokenKey = plain, s3Key(at.Add(time.Minute), signal, ".json.gz")
			}
		}
	}
	return nil
}

func (a *archiver) put(key string, zip Compression, plain []byte, info ObjectTruth) ([]byte, error) {
	var buf bytes.Buffer
	w, err := zip.writer(&buf, true)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("otlpgen: write %s: %w", key, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("otlpgen: compress %s: %w", key, err)
	}
	a.objects = append(a.objects, Object{Key: key, Body: buf.Bytes(), info: info})
	return buf.Bytes(), nil
}

// s3Key is a key as the collector's S3 exporter makes it: folders of the time of the upload, nine random digits.
func s3Key(at time.Time, signal Signal, suffix string) string {
	folder := at.Format("agents/year=2006/month=01/day=02/hour=15/minute=04/")
	r := newRandom(folder + string(signal))
	return folder + fmt.Sprintf("%s_%09d", signal, r.below(1e9)) + suffix
}

// file writes JSON lines, one request a line, signals as they came.
func (a *archiver) file(at time.Time, b []chunk) error {
	var plain []byte
	info := ObjectTruth{Format: "jsonl.gz", Note: "all three signals in one file"}
	for _, c := range b {
		for _, signal := range []Signal{Traces, Logs, Metrics} {
			if n := signal.records(c.groups); n > 0 {
				plain = append(AppendJSON(plain, signal, c.groups), '\n')
				info.Records += n
			}
		}
	}
	_, err := a.put(at.Format("file/agents-2006-01-02T15-04.jsonl.gz"), Gzip, plain, info)
	return err
}

// framed writes protobuf messages, each after its length in four bytes, big end first.
func (a *archiver) framed(at time.Time, b []chunk) error {
	var plain []byte
	info := ObjectTruth{Format: "binpb, framed", Note: "4-byte big-endian length before each message"}
	for _, c := range b {
		for _, g := range c.groups {
			message := AppendProto(nil, Traces, []Group{g})
			plain = append(plain, byte(len(message)>>24), byte(len(message)>>16), byte(len(message)>>8), byte(len(message)))
			plain = append(plain, message...)
			info.Records += len(g.Spans)
		}
	}
	_, err := a.put(at.Format("file/traces-2006-01-02T15-04.proto"), None, plain, info)
	return err
}

// badObjects adds what no reader can use: an object that was cut off, a note, an empty object.
func (a *archiver) badObjects() error {
	var whole archiver
	body, err := whole.put(a.brokenKey, Gzip, a.broken, ObjectTruth{})
	if err != nil {
		return err
	}
	note := "Objects below agents/ are written by the collector of the platform team.\n" +
		"Questions: platform@example.org. Please do not put anything else here.\n"
	a.objects = append(a.objects,
		Object{Key: a.brokenKey, Body: body[:len(body)*3/5], info: ObjectTruth{Format: "json.gz",
			Note: "cut off: a copy of spans that are in the archive, so what can be read is a duplicate", Bad: true}},
		Object{Key: "agents/README.txt", Body: []byte(note), info: ObjectTruth{Format: "text", Note: "a note, no telemetry", Bad: true}},
		Object{Key: "agents/year=2026/month=11/day=27/hour=00/minute=00/traces_000000000.json", Body: []byte{},
			info: ObjectTruth{Format: "empty", Note: "zero bytes"}})
	for _, o := range a.objects {
		if strings.HasPrefix(o.Key, "/") || o.Key == "" {
			return fmt.Errorf("otlpgen: object without a key")
		}
	}
	return nil
}
