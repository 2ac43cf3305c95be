package ledger

import (
	"bufio"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
)

// A frame is the length of kind and payload (4 bytes, little endian), their CRC-32C, the kind and the payload.
const (
	headerLength = 8
	maxPayload   = 8 << 20

	kindRecord = 'R'
	kindSealed = 'S'
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealedMark says in the log that records up to Through lie in segments.
type sealedMark struct {
	Through int64 `json:"through"`
}

func frameLength(payload []byte) int { return headerLength + 1 + len(payload) }

func appendFrame(dst []byte, kind byte, payload []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(1+len(payload)))
	sum := crc32.Update(crc32.Checksum([]byte{kind}, castagnoli), castagnoli, payload)
	dst = binary.LittleEndian.AppendUint32(dst, sum)
	dst = append(dst, kind)
	return append(dst, payload...)
}

// frames calls visit with each whole frame and returns the offset at which the whole ones end. payload is valid until
// visit returns. Only an error of visit or of reading is an error: a torn or damaged frame ends the log.
func frames(r io.Reader, visit func(offset int64, kind byte, payload []byte) error) (int64, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	var head [headerLength]byte
	var buf []byte
	for at := int64(0); ; {
		if _, err := io.ReadFull(in, head[:]); err != nil {
			return at, torn(err)
		}
		n := int(binary.LittleEndian.Uint32(head[:4]))
		if n < 1 || n > maxPayload+1 {
			return at, nil
		}
		if cap(buf) < n {
			buf = make([]byte, n)
		}
		buf = buf[:n]
		if _, err := io.ReadFull(in, buf); err != nil {
			return at, torn(err)
		}
		if crc32.Checksum(buf, castagnoli) != binary.LittleEndian.Uint32(head[4:]) {
			return at, nil
		}
		if err := visit(at, buf[0], buf[1:]); err != nil {
			return at, err
		}
		at += int64(headerLength + n)
	}
}

func torn(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}
