package table

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/format"
)

// codec is zstd with the window of a page: the library's own keeps an encoder of several MiB for each file, which costs more
// than it compresses. Its coders are shared by all writers and readers; they hold no state between pages.
type codec struct{}

func (codec) String() string                            { return "ZSTD" }
func (codec) CompressionCodec() format.CompressionCodec { return format.Zstd }

var encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(pageBytes), zstd.WithEncoderCRC(false),
		zstd.WithZeroFrames(true), zstd.WithEncoderConcurrency(runtime.GOMAXPROCS(0)))
})

var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(runtime.GOMAXPROCS(0)), zstd.WithDecoderMaxMemory(maxPage))
})

// maxPage bounds what one page of a hostile file may unpack to: one value may be large, and is never cut.
const maxPage = 1 << 30

func (codec) Encode(dst, src []byte) ([]byte, error) {
	e, err := encoder()
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return e.EncodeAll(src, dst[:0]), nil
}

func (codec) Decode(dst, src []byte) ([]byte, error) {
	d, err := decoder()
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return d.DecodeAll(src, dst[:0])
}
