// Command otlpgen writes OTLP archives: the demo archive of testdata, or one of any size for benchmarks.
//
//	go run ./pipeline/otlp/otlpgen/cmd/otlpgen --demo testdata/archive
//	go run ./pipeline/otlp/otlpgen/cmd/otlpgen --out /tmp/archive --spans 200000 --format proto --compress zstd
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/alecthomas/kong"
	"github.com/tracejury/tracejury/pipeline/otlp/otlpgen"
)

type flags struct {
	Demo string `help:"Write the demo archive into this folder and its truth beside it." placeholder:"DIR" xor:"what"`
	Out  string `help:"Write a bulk archive into this folder." placeholder:"DIR" xor:"what"`

	Spans        int     `help:"Spans of the bulk archive." default:"100000"`
	BytesPerSpan int     `help:"Size of a span in OTLP JSON, about." default:"2000"`
	Seed         uint64  `help:"The same seed gives the same bytes." default:"1"`
	Format       string  `help:"json, ndjson or proto." enum:"json,ndjson,proto" default:"json"`
	Compress     string  `help:"none, gzip or zstd." enum:"none,gzip,zstd" default:"none"`
	Objects      int     `help:"Objects of the bulk archive; 0 means one for 2,000 spans."`
	Sessions     int     `help:"Sessions of the bulk archive; 0 means one for 25 spans."`
	Services     int     `help:"Services of the bulk archive." default:"3"`
	Late         float64 `help:"Share of the spans that come one object later." default:"0.02"`
}

func main() {
	var f flags
	kong.Parse(&f, kong.Name("otlpgen"), kong.Description("Write OTLP archives."))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := f.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (f *flags) run(ctx context.Context) error {
	switch {
	case f.Demo != "":
		return otlpgen.WriteDemo(f.Demo)
	case f.Out != "":
		r, err := otlpgen.WriteBulk(ctx, f.Out, otlpgen.BulkOptions{Spans: f.Spans, BytesPerSpan: f.BytesPerSpan, Seed: f.Seed,
			Format: otlpgen.Format(f.Format), Compress: otlpgen.Compression(f.Compress), Objects: f.Objects, Sessions: f.Sessions,
			Services: f.Services, Late: f.Late})
		fmt.Printf("%d objects, %d spans (%d late), %d bytes, %d stored\n", r.Objects, r.Spans, r.Late, r.PlainBytes, r.Bytes)
		return err
	}
	return fmt.Errorf("otlpgen: say --demo DIR or --out DIR")
}
