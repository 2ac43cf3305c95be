package store

import (
	"bytes"
	"fmt"
	"testing"
)

// BenchmarkDir: what durability and content hashes cost, beside a plain range read of the same file.
func BenchmarkDir(b *testing.B) {
	for _, size := range []int{4 << 10, 16 << 20} {
		d := tempDir(b, Options{})
		body := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		b.Run(fmt.Sprintf("Put/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				putString(b, d, "k", string(body))
			}
		})
		o := putString(b, d, "k", string(body))
		b.Run(fmt.Sprintf("Get/%d", size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				if _, _, err := d.Get(b.Context(), "k", o.ETag); err != nil {
					b.Fatal(err)
				}
			}
		})
		for name, tag := range map[string]string{"IfMatch": o.ETag, "plain": ""} {
			b.Run(fmt.Sprintf("GetRange4k/%s/%d", name, size), func(b *testing.B) {
				for b.Loop() {
					if _, err := d.GetRange(b.Context(), "k", int64(size)-4096, 4096, tag); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
