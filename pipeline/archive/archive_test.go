package archive

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

func gz(parts ...string) string {
	var b bytes.Buffer
	for _, p := range parts {
		w := gzip.NewWriter(&b)
		w.Write([]byte(p))
		w.Close()
	}
	return b.String()
}

func zs(parts ...string) string {
	enc, _ := zstd.NewWriter(nil)
	defer enc.Close()
	var b []byte
	for _, p := range parts {
		b = append(b, enc.EncodeAll([]byte(p), nil)...)
	}
	return string(b)
}

func l4(parts ...string) string {
	var b bytes.Buffer
	for _, p := range parts {
		w := lz4.NewWriter(&b)
		w.Write([]byte(p))
		w.Close()
	}
	return b.String()
}

func framed(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return string(b)
}

func delimited(parts ...string) string {
	var b []byte
	for _, p := range parts {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
	}
	return string(b)
}

const (
	docA = `{"resourceSpans":[{"scopeSpans":[{"spans":[{"name":"a \"quoted\" {["}]}]}]}`
	docB = `{"resourceLogs":[]}`
	docC = "{\n  \"resourceSpans\": [\n    {}\n  ]\n}"
	// a ResourceSpans of one ScopeSpans without content, and an empty ResourceSpans with schema URL
	protoA = "\x0a\x04\x12\x02\x0a\x00"
	protoB = "\x0a\x03\x1a\x01x"
)

// found is the documents as text, and the result.
func found(t testing.TB, body string, opts Options) ([]string, Result) {
	t.Helper()
	var docs []string
	in := []byte(body)
	var covered int64
	var last int64
	res, err := Documents("test", in, opts, func(d Document) error {
		if d.Offset < last || d.Offset+int64(len(d.Data)) > 1<<40 {
			t.Fatalf("document at %d, after %d", d.Offset, last)
		}
		last = d.Offset + int64(len(d.Data))
		covered += int64(len(d.Data))
		s := string(d.Data)
		if d.Encoding == Proto {
			s = fmt.Sprintf("proto %q", s)
		}
		if d.Truncated {
			s = "cut " + s
		}
		docs = append(docs, s)
		for i := range d.Data { // each may overwrite
			d.Data[i] = 'x'
		}
		return nil
	})
	if err != nil {
		t.Fatalf("Documents: %v", err)
	}
	checkLaw(t, res)
	if covered != res.DocumentBytes || len(docs) != int(res.Documents) {
		t.Fatalf("%d bytes in %d documents, result says %d in %d", covered, len(docs), res.DocumentBytes, res.Documents)
	}
	return docs, res
}

// checkLaw is the law of the package: every decompressed byte is accounted for once.
func checkLaw(t testing.TB, res Result) {
	t.Helper()
	if res.BytesOut != res.DocumentBytes+res.ProblemBytes+res.SeparatorBytes {
		t.Fatalf("%d bytes out, but %d in documents + %d in problems + %d separators",
			res.BytesOut, res.DocumentBytes, res.ProblemBytes, res.SeparatorBytes)
	}
	var sum int64
	for _, p := range res.Problems {
		if p.Offset < 0 || p.Length < 0 || p.Offset+p.Length > res.BytesOut || p.Reason == "" || strings.Contains(p.Reason, "\n") {
			t.Fatalf("problem %+v of %d bytes", p, res.BytesOut)
		}
		sum += p.Length
	}
	if sum != res.ProblemBytes {
		t.Fatalf("problems hold %d bytes, result says %d", sum, res.ProblemBytes)
	}
}

var cases = []struct {
	name, body string
	want       []string
	layers     string
	framing    Format
	problems   string // detected formats
}{
	{"nothing", "", nil, "", "", ""},
	{"white space only", "  \n\t\r\n", nil, "", "", ""},
	{"a byte order mark only", bom, nil, "", "", ""},
	{"one document", docA, []string{docA}, "", FramingJSON, ""},
	{"lines", docA + "\n" + docB + "\n", []string{docA, docB}, "", FramingJSON, ""},
	{"lines with CRLF and empty ones", docA + "\r\n\r\n" + docB, []string{docA, docB}, "", FramingJSON, ""},
	{"glued", docA + docB + docC, []string{docA, docB, docC}, "", FramingJSON, ""},
	{"pretty and concatenated", docC + "\n" + docC, []string{docC, docC}, "", FramingJSON, ""},
	{"an array", "[" + docA + ", " + docC + "]", []string{docA, docC}, "", FramingJSON, ""},
	{"arrays of arrays", "[[" + docA + "],[" + docB + "]]\n[]", []string{docA, docB}, "", FramingJSON, ""},
	{"an array with scalars", `[` + docA + `,5,"x",` + docB + `]`, []string{docA, docB}, "", FramingJSON, "json,json"},
	{"an array that is not closed", "[" + docA + ",", []string{docA}, "", FramingJSON, "json"},
	{"an array of numbers is a value", "[1,2]", []string{"[1,2]"}, "", FramingJSON, ""},
	{"null", "null", []string{"null"}, "", FramingJSON, ""},
	{"empty object", "{}", []string{"{}"}, "", FramingJSON, ""},
	{"byte order mark", bom + docA, []string{docA}, "", FramingJSON, ""},
	{"byte order mark after gunzip, and between", gz(bom+docA, bom+docB), []string{docA, docB}, "gzip", FramingJSON, ""},
	{"garbage between", docA + "\nthis is no json {\n" + docB, []string{docA, docB}, "", FramingJSON, "text"},
	{"garbage before", "flushing metrics\n" + docA, []string{docA}, "", FramingJSON, "text"},
	{"garbage after", docA + "\n}}]", []string{docA}, "", FramingJSON, "text"},
	{"cut line in the middle", docA[:40] + "\n" + docB + "\n" + docB, []string{"cut " + docA[:40], docB, docB}, "", FramingJSON, ""},
	{"line cut in a string", `{"a":"b` + "\n" + docB + "\n" + docA, []string{`cut {"a":"b`, docB, docA}, "", FramingJSON, ""},
	{"a raw line feed in a string is accepted", "{\"a\":\"b\n{c\"}\n" + docB, []string{"{\"a\":\"b\n{c\"}", docB}, "", FramingJSON, ""},
	{"cut at the end", docB + "\n" + docA[:50], []string{docB, "cut " + docA[:50]}, "", FramingJSON, ""},
	{"CloudWatch export", "2026-01-01T00:00:00.000Z " + docA + "\n2026-01-01T00:00:01.000Z " + docC + "\n", []string{docA, docC}, "", FramingCloudWatch, ""},
	{"CloudWatch export with plain lines", "2026-01-01T00:00:00.000Z START\n2026-01-01T00:00:01.000Z " + docB, []string{docB}, "", FramingCloudWatch, "text"},
	{"gzip", gz(docA), []string{docA}, "gzip", FramingJSON, ""},
	{"gzip members", gz(docA, docB+"\n", docC), []string{docA, docB, docC}, "gzip", FramingJSON, ""},
	{"gzip in gzip", gz(gz(docA)), []string{docA}, "gzip,gzip", FramingJSON, ""},
	{"gzip in zstd in lz4", l4(zs(gz(docA))), []string{docA}, "lz4,zstd,gzip", FramingJSON, ""},
	{"four layers", gz(gz(gz(gz(docA)))), nil, "gzip,gzip,gzip", "", "gzip"},
	{"gzip padded with zeros", gz(docA) + "\x00\x00\x00", []string{docA}, "gzip", FramingJSON, ""},
	{"gzip with garbage behind", gz(docA) + "garbage", []string{docA}, "gzip", FramingJSON, "gzip"},
	{"gzip with garbage between", gz(docA) + "garbage" + gz(docB), []string{docA, docB}, "gzip", FramingJSON, "gzip"},
	{"gzip cut in the second member", cutTail(gz(docA, strings.Repeat(docB, 50)), 20), nil, "gzip", FramingJSON, "gzip"},
	{"zstd frames", zs(docA, docB), []string{docA, docB}, "zstd", FramingJSON, ""},
	{"zstd with a skippable frame", "\x50\x2a\x4d\x18\x02\x00\x00\x00ab" + zs(docA) + "\x5f\x2a\x4d\x18\x00\x00\x00\x00" + zs(docB), []string{docA, docB}, "zstd", FramingJSON, ""},
	{"zstd with a broken frame between", zs(docA) + breakAt(zs(docC), 14) + zs(docB), []string{docA, docB}, "zstd", FramingJSON, "zstd"},
	{"lz4 frames", l4(docA, docB), []string{docA, docB}, "lz4", FramingJSON, ""},
	{"frames of JSON", framed(docA, docB+"\n"), []string{docA, docB}, "", FramingLength, ""},
	{"frames of protobuf", framed(protoA, protoB, ""), []string{p(protoA), p(protoB)}, "", FramingLength, ""},
	{"frames of zstd", framed(zs(docA), zs(protoA)), []string{docA, p(protoA)}, "zstd-framed", FramingLength, ""},
	{"frames in zstd", zs(framed(protoA, protoB)), []string{p(protoA), p(protoB)}, "zstd", FramingLength, ""},
	{"frames with a cut tail", framed(docB, docB) + "\x00\x00\x00\x10" + docB[:9], []string{docB, docB, "cut " + docB[:9]}, "", FramingLength, ""},
	{"frames with a cut header", framed(docB, docB) + "\x00\x00", []string{docB, docB}, "", FramingLength, "length_prefixed"},
	{"frames with garbage between", framed(docB) + "\xff\xff\xff\xffgarbage" + framed(docB, docB), []string{docB, docB, docB}, "", FramingLength, "length_prefixed"},
	{"varint-delimited", delimited(protoA, protoB), []string{p(protoA), p(protoB)}, "", FramingVarint, ""},
	{"varint-delimited, cut", delimited(protoA, protoB)[:10], []string{p(protoA), "cut " + p(protoB[:2])}, "", FramingVarint, ""},
	{"bare protobuf", protoA, []string{p(protoA)}, "", FramingProto, ""},
	{"glued protobuf", protoA + protoB, []string{p(protoA + protoB)}, "", FramingProto, ""},
	{"cut protobuf", protoA[:5], []string{"cut " + p(protoA[:5])}, "", FramingProto, ""},
	{"gzip of protobuf", gz(protoA), []string{p(protoA)}, "gzip", FramingProto, ""},
	{"Parquet", "PAR1xxxx", nil, "", "", "parquet"},
	{"zip", "PK\x03\x04xxxx", nil, "", "", "zip"},
	{"UTF-16", "\xff\xfe{\x00}\x00", nil, "", "", "utf-16"},
	{"UTF-16 without mark", "{\x00\"\x00", nil, "", "", "utf-16"},
	{"text", "claude_code.user_prompt\nclaude_code.tool\n", nil, "", "", "text"},
	{"binary", "\x07\x12\x00\x01\xff\xfe", nil, "", "", "unknown"},
}

func p(s string) string               { return fmt.Sprintf("proto %q", s) }
func cutTail(s string, n int) string  { return s[:len(s)-n] }
func breakAt(s string, at int) string { return s[:at] + string(s[at]^0xff) + s[at+1:] }

func TestDocuments(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			docs, res := found(t, c.body, Options{})
			if c.want == nil && strings.HasPrefix(c.name, "gzip cut") {
				if len(docs) < 1 || docs[0] != docA {
					t.Errorf("documents %q, want the first member's", docs)
				}
			} else if c.name == "zstd with a broken frame between" {
				if docs[0] != docA || docs[len(docs)-1] != docB {
					t.Errorf("documents %q, want those around the broken frame", docs)
				}
			} else if !slices.Equal(docs, c.want) {
				t.Errorf("documents\n%q\nwant\n%q", docs, c.want)
			}
			if got := strings.Join(res.Layers, ","); got != c.layers {
				t.Errorf("layers %s, want %s", got, c.layers)
			}
			if res.Framing != c.framing {
				t.Errorf("framing %q, want %q", res.Framing, c.framing)
			}
			var formats []string
			for _, p := range res.Problems {
				formats = append(formats, p.DetectedFormat)
			}
			if got := strings.Join(formats, ","); got != c.problems {
				t.Errorf("problems %+v, want of %q", res.Problems, c.problems)
			}
			if empty := strings.TrimLeft(c.body, " \t\r\n"+bom) == ""; res.Empty != empty {
				t.Errorf("empty %v, want %v", res.Empty, empty)
			}
		})
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat(docB, 1000)
	for _, bomb := range []string{gz(long), zs(long), l4(long), gz(gz(long))} {
		docs, res := found(t, bomb, Options{MaxDecompressed: 1000})
		if len(docs) < 50 || res.BytesOut != 1000 || len(res.Problems) != 1 {
			t.Errorf("%v: %d documents, %d bytes, problems %+v", res.Layers, len(docs), res.BytesOut, res.Problems)
		}
	}
	docs, res := found(t, docA+"\n"+docB, Options{MaxDocument: 30})
	if !slices.Equal(docs, []string{docB}) || len(res.Problems) != 1 {
		t.Errorf("documents %q, problems %+v", docs, res.Problems)
	}
}

func TestErrorOfEachEndsTheObject(t *testing.T) {
	boom := errors.New("boom")
	n := 0
	_, err := Documents("a.json", []byte(docA+docB), Options{}, func(Document) error { n++; return boom })
	if !errors.Is(err, boom) || n != 1 || !strings.Contains(err.Error(), "a.json") {
		t.Errorf("%d calls, error %v", n, err)
	}
}

// TestCutAnywhere cuts each case after every byte: nothing panics, the law holds, and documents that came whole before the
// cut are the same.
func TestCutAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	for _, c := range cases {
		for n := range len(c.body) {
			docs, _ := found(t, c.body[:n], Options{})
			for i, d := range docs {
				if c.framing == FramingJSON && c.problems == "" && i < len(docs)-1 && i < len(c.want) && d != c.want[i] {
					t.Fatalf("%s cut at %d: document %d is %q, want %q", c.name, n, i, d, c.want[i])
				}
			}
		}
	}
}

// TestHostileLines costs linear time: thousands of lines that never end, each of which could be searched to the end.
func TestHostileLines(t *testing.T) {
	docs, _ := found(t, strings.Repeat("{\"a\":[\n", 200_000)+docB, Options{})
	if docs[len(docs)-1] != docB {
		t.Errorf("the last of %d documents is %.40q", len(docs), docs[len(docs)-1])
	}
}

func FuzzDocuments(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		found(t, string(body), Options{MaxDecompressed: 1 << 20})
	})
}

func BenchmarkStream(b *testing.B) {
	doc := []byte(strings.Repeat(docA[:60]+strings.Repeat(`some \"text\" in a string `, 200)+docA[60:]+"\n", 200))
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		if _, err := Documents("bench", doc, Options{}, func(Document) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}
