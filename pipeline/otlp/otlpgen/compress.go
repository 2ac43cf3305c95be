package otlpgen

import (
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Compression of an object. Settings are fixed, so that the same content gives the same bytes.
type Compression string

// The compressions.
const (
	None Compression = "none"
	Gzip Compression = "gzip"
	Zstd Compression = "zstd"
)

// suffix is what the collector's S3 exporter appends to a key.
func (c Compression) suffix() string {
	switch c {
	case Gzip:
		return ".gz"
	case Zstd:
		return ".zst"
	}
	return ""
}

// writer compresses into w. Closing it does not close w.
func (c Compression) writer(w io.Writer, best bool) (io.WriteCloser, error) {
	switch c {
	case None:
		return nopCloser{w}, nil
	case Gzip:
		level := gzip.DefaultCompression
		if best {
			level = gzip.BestCompression
		}
		z, err := gzip.NewWriterLevel(w, level) // no name, no time in the header
		if err != nil {
			return nil, fmt.Errorf("otlpgen: gzip at level %d: %w", level, err)
		}
		return z, nil
	case Zstd:
		level := zstd.SpeedDefault
		if best {
			level = zstd.SpeedBestCompression
		}
		z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(level), zstd.WithWindowSize(1<<20))
		if err != nil {
			return nil, fmt.Errorf("otlpgen: zstd at level %s: %w", level, err)
		}
		return z, nil
	}
	return nil, fmt.Errorf("otlpgen: unknown compression %q: want none, gzip or zstd", c)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
