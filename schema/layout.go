package schema

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// LayoutKey is the object below a data root that says how the root is laid out. It is written once.
const LayoutKey = "_layout.json"

// DefaultBuckets is the number of buckets of a new data root.
const DefaultBuckets = 16

// Layout is the content of LayoutKey.
type Layout struct {
	SchemaVersion int `json:"schema_version"`
	Buckets       int `json:"buckets"` // a power of two, at most 256
}

// ParseLayout reads a layout and refuses one that this version cannot serve.
func ParseLayout(data []byte) (Layout, error) {
	var l Layout
	if err := json.Unmarshal(data, &l); err != nil {
		return l, fmt.Errorf("read %s: %w", LayoutKey, err)
	}
	return l, l.Validate()
}

// Validate says whether this version can read and write the layout.
func (l Layout) Validate() error {
	switch {
	case l.SchemaVersion > Version:
		return fmt.Errorf("layout: schema version %d is newer than this program's %d: use a newer tracejury", l.SchemaVersion, Version)
	case l.SchemaVersion < 1:
		return fmt.Errorf("layout: schema version %d: want 1 to %d", l.SchemaVersion, Version)
	case l.Buckets < 1 || l.Buckets > 256 || l.Buckets&(l.Buckets-1) != 0:
		return fmt.Errorf("layout: %d buckets: want a power of two from 1 to 256", l.Buckets)
	}
	return nil
}

// Marshal is the bytes of LayoutKey.
func (l Layout) Marshal() []byte {
	return fmt.Appendf(nil, "{\"schema_version\":%d,\"buckets\":%d}\n", l.SchemaVersion, l.Buckets)
}

var errNotHex = errors.New("want at least two hex digits")

// Bucket is the leading bits of a hex key.
func (l Layout) Bucket(hexKey string) (int, error) {
	if len(hexKey) < 2 {
		return 0, fmt.Errorf("bucket of %q: %w", hexKey, errNotHex)
	}
	b, err := strconv.ParseUint(hexKey[:2], 16, 8)
	if err != nil {
		return 0, fmt.Errorf("bucket of %q: %w", hexKey, errNotHex)
	}
	return int(b) * l.Buckets / 256, nil
}

// BucketOfDigest is the leading bits of a digest.
func (l Layout) BucketOfDigest(sum []byte) int {
	b, _ := l.Bucket(hex.EncodeToString(sum[:1]))
	return b
}
