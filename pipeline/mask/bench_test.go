package mask_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/mask"
)

// agentText generates about n bytes of what agents read and write: prose, code, logs and JSON, with the words key,
// token and secret as often as they come there.
func agentText(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	words := strings.Fields(`the a of to and in is that for it as was with on be by this are from at or an have not which one you were all we can
		there has been if more when will would who so no out up into them then some could these may than other its only new two such time any about
		file function error return value test build server request response agent model tool result session message prompt context window budget`)
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	code := []string{
		"func (s *Server) handle(w http.ResponseWriter, r *http.Request) error {\n\tif err := s.check(r.Context()); err != nil {\n\t\treturn fmt.Errorf(\"check: %w\", err)\n\t}\n",
		"for key, value := range entries {\n\ttotal += len(key) + len(value)\n}\n",
		"const tokens = tokenizer.encode(text);\nconsole.log(`tokens: ${tokens.length}`);\n",
		"def load(path: str) -> dict:\n    with open(path) as f:\n        return json.load(f)\n",
		"$ ls -la /srv/demo/project/internal/handlers\ndrwxr-xr-x 4 demo demo 4096 Nov 30 12:00 handlers\n",
		"2026-11-30T12:00:00.123Z INFO request done status=200 duration=12ms trace_id=4bf92f3577b34da6a3ce929d0e0e4736\n",
		"{\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"usage\":{\"input_tokens\":1234,\"output_tokens\":56},\"status\":\"ok\"}\n",
		"| key | meaning |\n|---|---|\n| name | the name of the thing |\n",
		"if token == nil {\n\treturn ErrNoToken // the secret store has none\n}\n",
		"https://example.invalid/docs/guide/getting-started?page=2#install\n",
	}
	var b strings.Builder
	for b.Len() < n {
		if r.IntN(4) == 0 {
			b.WriteString(pick(code))
			continue
		}
		for range 40 {
			switch r.IntN(90) {
			case 0:
				b.WriteString("key ")
			case 1:
				b.WriteString("token ")
			case 2:
				b.WriteString("secret ")
			default:
				b.WriteString(pick(words) + " ")
			}
		}
		b.WriteString(".\n")
	}
	return b.String()
}

// spanDocument wraps texts as attributes of a document, the way exports look.
func spanDocument(n int) string {
	var b strings.Builder
	b.WriteString(`{"attributes":[`)
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`{"key":"gen_ai.usage.input_tokens","value":{"intValue":"1234"}},{"key":"session.id","value":{"stringValue":"550e8400-e29b-41d4-a716-446655440000"}},`)
		b.WriteString(`{"key":"gen_ai.input.messages","value":{"stringValue":` + quoteJSON(`[{"role":"user","content":`+quoteJSON(agentText(2000, uint64(i)))+`}]`) + `}}`)
	}
	b.WriteString(`]}`)
	return b.String()
}

func benchmark(b *testing.B, m *mask.Masker, text string) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	c := mask.Counts{}
	for b.Loop() {
		m.String(text, c)
	}
}

func BenchmarkClean(b *testing.B) {
	text := agentText(1<<20, 7)
	if m := mask.New(mask.Options{}); m.String(text, nil) != text {
		b.Fatal("the clean text is not clean")
	}
	benchmark(b, mask.New(mask.Options{}), text)
}

func BenchmarkCleanLeaves(b *testing.B) {
	text := agentText(64<<10, 7)
	var leaves []string
	for i := 0; i+200 < len(text); i += 200 {
		leaves = append(leaves, text[i:i+200])
	}
	m := mask.New(mask.Options{})
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		for _, l := range leaves {
			m.Leaf("gen_ai.output.messages", l, nil)
		}
	}
}

func BenchmarkCleanDocument(b *testing.B) {
	benchmark(b, mask.New(mask.Options{}), spanDocument(1<<20))
}

func BenchmarkCleanPII(b *testing.B) {
	benchmark(b, mask.New(mask.Options{PII: true}), agentText(1<<20, 7))
}

// BenchmarkMixed has a secret every 4 KiB.
func BenchmarkMixed(b *testing.B) {
	var text strings.Builder
	for i, s := range corpus() {
		text.WriteString(agentText(4<<10, uint64(i)))
		text.WriteString(s.text + "\n")
	}
	benchmark(b, mask.New(mask.Options{}), text.String())
}
