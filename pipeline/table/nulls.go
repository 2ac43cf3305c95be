package table

import (
	"math/bits"
	"reflect"
	"strings"
	"unsafe"
)

const (
	// wordRows is how many rows the library takes at a time, and the width of its bitmap of nulls.
	wordRows = 64
	// pairRows cannot make the pattern that safeRows looks for.
	pairRows = 2
)

// optionals are the fields of a row that are no pointers and null where they are zero.
type optionals struct {
	strings, int64s, int32s []uintptr // offsets
	others                  bool      // there are some of another type
}

func optionalsOf[T any]() (o optionals) {
	t := reflect.TypeFor[T]()
	for i := range t.NumField() {
		f := t.Field(i)
		_, tags, _ := strings.Cut(f.Tag.Get("parquet"), ",")
		if !strings.Contains(","+tags+",", ",optional,") {
			continue
		}
		switch f.Type.Kind() {
		case reflect.String:
			o.strings = append(o.strings, f.Offset)
		case reflect.Int64:
			o.int64s = append(o.int64s, f.Offset)
		case reflect.Int32:
			o.int32s = append(o.int32s, f.Offset)
		case reflect.Pointer:
		default:
			o.others = true
		}
	}
	return o
}

// safeRows is how many of rows the library may be given at once. It loses nulls of optional columns that are no pointers where,
// in a word of 64 rows, the last values are a run of y that begins at row y and nulls follow: those become "" or 0 (v0.32.0,
// writeRowsFuncOfOptional compares the rest of the word with 1<<y − 1). What follows the run is left for the next time.
func safeRows[T any](o *optionals, rows []T) int {
	n := min(len(rows), wordRows)
	if n <= pairRows {
		return n
	}
	if o.others {
		return pairRows
	}
	for { // fewer rows may be unsafe where more are not
		safe := n
		for _, at := range o.strings {
			safe = safeWord(known[string](rows[:safe], at), safe)
		}
		for _, at := range o.int64s {
			safe = safeWord(known[int64](rows[:safe], at), safe)
		}
		for _, at := range o.int32s {
			safe = safeWord(known[int32](rows[:safe], at), safe)
		}
		if safe == n {
			return n
		}
		n = safe
	}
}

// known has a bit for each row, at most 64, whose field at the offset is not zero.
func known[V string | int64 | int32, T any](rows []T, at uintptr) (bits uint64) {
	var zero V
	for i := range rows {
		if *(*V)(unsafe.Add(unsafe.Pointer(&rows[i]), at)) != zero {
			bits |= 1 << i
		}
	}
	return bits
}

// safeWord is how many of n rows are safe when those in set have a value. The rows up to the end of a run always are.
func safeWord(set uint64, n int) int {
	end := bits.Len64(set)
	y := end / 2
	if end == n || end%2 == 1 || y == 0 || set>>y != 1<<y-1 || set>>(y-1)&1 == 1 {
		return n
	}
	return end
}
