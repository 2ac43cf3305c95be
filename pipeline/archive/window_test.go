package archive

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// streamed is what Stream finds.
func streamed(t testing.TB, body io.Reader, opts Options) ([]string, Result) {
	t.Helper()
	var docs []string
	var covered int64
	res, err := Stream("test", body, opts, func(d Document) error {
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
		t.Fatalf("Stream: %v", err)
	}
	checkLaw(t, res)
	if covered != res.DocumentBytes || len(docs) != int(res.Documents) {
		t.Fatalf("%d bytes in %d documents, result says %d in %d", covered, len(docs), res.DocumentBytes, res.Documents)
	}
	return docs, res
}

// A stream gives the same documents as the object in memory, however small the pieces are that it comes in.
func TestStreamIsLikeDocuments(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			want, whole := found(t, c.body, Options{})
			for _, chunk := range []int{0, 256, 70} {
				for name, in := range map[string]io.Reader{"at once": strings.NewReader(c.body), "by bytes": iotest.OneByteReader(strings.NewReader(c.body))} {
					docs, res := streamed(t, in, Options{chunk: chunk})
					damaged := strings.Contains(c.name, "broken frame") || strings.HasPrefix(c.name, "gzip cut") // a stream salvages less
					glued := res.Framing == FramingProto
					if !damaged && !glued && !slices.Equal(docs, want) || damaged && docs[0] != want[0] || glued && protoBytes(docs) != protoBytes(want) {
						t.Errorf("%s by %d: documents\n%q\nwant\n%q", name, chunk, docs, want)
					}
					if !slices.Equal(res.Layers, whole.Layers) || res.Framing != whole.Framing || res.Empty != whole.Empty || res.BytesOut != whole.BytesOut && !damaged {
						t.Errorf("%s by %d: %+v, want %+v", name, chunk, res, whole)
					}
					if len(res.Problems) != len(whole.Problems) {
						t.Errorf("%s by %d: problems %+v, want %+v", name, chunk, res.Problems, whole.Problems)
						continue
					}
					for i, p := range res.Problems {
						if q := whole.Problems[i]; p.Offset != q.Offset || p.Length != q.Length || p.DetectedFormat != q.DetectedFormat {
							t.Errorf("%s by %d: problem %+v, want %+v", name, chunk, p, q)
						}
					}
				}
			}
		})
	}
}

// protoBytes joins protobuf documents: any cut between groups is as good as another.
func protoBytes(docs []string) string {
	s := strings.Join(docs, "")
	for _, drop := range []string{"cut ", "proto ", `"`} {
		s = strings.ReplaceAll(s, drop, "")
	}
	return s
}

// Every cut of every case is accounted for in a stream too.
func TestStreamCutAnywhere(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	for _, c := range cases {
		for n := range len(c.body) {
			streamed(t, strings.NewReader(c.body[:n]), Options{chunk: 70})
		}
	}
}

// endless gives n bytes of a text over and over.
type endless struct {
	text string
	n    int
	at   int // in text
}

func (e *endless) Read(p []byte) (int, error) {
	if e.n == 0 {
		return 0, io.EOF
	}
	got := 0
	for got < len(p) && got < e.n {
		n := copy(p[got:min(len(p), e.n)], e.text[e.at:])
		got += n
		e.at = (e.at + n) % len(e.text)
	}
	e.n -= got
	return got, nil
}

// However large an object is and whatever it holds, a stream holds one document of it, and says which limit a larger one broke.
func TestStreamHoldsItsMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a gigabyte")
	}
	const size, limit = 96 << 20, 4 << 20
	line := docA + "\n"
	value := `{"resourceSpans":[{"a":"` + strings.Repeat("x", 1000) + `"}` // never ends
	for name, c := range map[string]struct {
		in       io.Reader
		docs     int64
		problems int
		reason   string
	}{
		"NUL":                {&endless{text: "\x00", n: size}, 0, 1, "no known format"},
		"spaces":             {&endless{text: " ", n: size}, 0, 0, ""},
		"lines":              {&endless{text: strings.Repeat(line, 1000), n: size / len(line) * len(line)}, int64(size / len(line)), 0, ""},
		"text":               {&endless{text: "no telemetry ", n: size}, 0, 1, "text without JSON"},
		"an endless value":   {&endless{text: value, n: size}, 0, 1, "raise limits.x"},
		"an endless string":  {io.MultiReader(strings.NewReader(`{"a":"`), &endless{text: "x", n: size}, strings.NewReader("\n"+docB)), 1, 1, "raise limits.x"},
		"a large frame":      {io.MultiReader(strings.NewReader(framed(docB)+"\x05\x00\x00\x00"), &endless{text: docB + " ", n: 5 << 24}, strings.NewReader(framed(docC))), 2, 1, "raise limits.x"},
		"a large message":    {io.MultiReader(strings.NewReader(protoA+"\x0a\x80\x80\x80\x08\x12\xfb\xff\xff\x07"), &endless{text: "\x00", n: 1<<24 - 5}, strings.NewReader(protoB)), 2, 1, "raise limits.x"},
		"garbage, then data": {io.MultiReader(strings.NewReader(docA+"\n"), &endless{text: "garbage ", n: size}, strings.NewReader("\n"+docB+"\n")), 2, 1, "no JSON"},
		"a bomb":             {strings.NewReader(gz(strings.Repeat(strings.Repeat(" ", 1<<20), 96))), 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			var docs int64
			res, err := Stream("test", c.in, Options{MaxDocument: limit, DocumentLimit: "limits.x"}, func(Document) error { docs++; return nil })
			runtime.ReadMemStats(&after)
			if err != nil {
				t.Fatal(err)
			}
			checkLaw(t, res)
			if docs != c.docs || len(res.Problems) != c.problems || c.problems > 0 && !strings.Contains(res.Problems[0].Reason, c.reason) {
				t.Errorf("%d documents, problems %+v; want %d and %d, %q", docs, res.Problems, c.docs, c.problems, c.reason)
			}
			if got := after.TotalAlloc - before.TotalAlloc; got > 8*limit {
				t.Errorf("%d bytes were allocated for documents of %d", got, limit)
			}
		})
	}
}

// What the store says while an object is read is the error, at whatever depth of compression.
func TestStreamErrors(t *testing.T) {
	boom := errors.New("connection reset")
	for _, body := range []string{docA + "\n", gz(strings.Repeat(docA+"\n", 9)), gz(zs(docA)), framed(docA)} {
		_, err := Stream("a.json", io.MultiReader(strings.NewReader(body[:len(body)-3]), iotest.ErrReader(boom)), Options{}, func(Document) error { return nil })
		if !errors.Is(err, boom) || !strings.Contains(err.Error(), "a.json") {
			t.Errorf("error %v", err)
		}
	}
	if _, err := Stream("a.json", strings.NewReader(docA+docB), Options{}, func(Document) error { return boom }); !errors.Is(err, boom) {
		t.Errorf("error of each: %v", err)
	}
	if _, err := Documents("a.json", []byte(gz(docA)), Options{MaxDecompressed: 10, Fit: true}, func(Document) error { return boom }); !errors.Is(err, ErrTooLarge) {
		t.Errorf("an object that does not fit: %v", err)
	}
}

func FuzzStream(f *testing.F) {
	for _, c := range cases {
		f.Add([]byte(c.body), uint16(70))
	}
	f.Fuzz(func(t *testing.T, body []byte, chunk uint16) {
		streamed(t, strings.NewReader(string(body)), Options{MaxDecompressed: 1 << 20, MaxDocument: 4096, chunk: max(int(chunk), lookahead)})
	})
}
