package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/parquet-go/parquet-go"
)

// Text is a column of text as numbers into its words. The numbers are lent, the words are not.
type Text struct {
	Code  []int32 // of every row; -1 is null
	Words []string
	Same  bool // every row has the same, which was known without reading it
}

// Value is the text of a row, "" for null.
func (t *Text) Value(row int) string {
	if c := t.Code[row]; c >= 0 {
		return t.Words[c]
	}
	return ""
}

// Strings is a column of text that is not worth numbering. Null is "".
type Strings struct {
	data    []byte
	offsets []uint32 // one more than rows
}

// Len is how many texts there are.
func (s *Strings) Len() int { return len(s.offsets) - 1 }

// Value is the text of a row, lent.
func (s *Strings) Value(row int) []byte { return s.data[s.offsets[row]:s.offsets[row+1]] }

// Own is all rows as texts that outlive the row group.
func (s *Strings) Own() []string { return cut(s.data, s.offsets) }

// Text decodes column i of the query as numbers into words.
func (g *Group) Text(i int) (Text, error) {
	code, words, err := g.Codes(i)
	if err != nil {
		return Text{}, err
	}
	_, same := g.constant(i)
	return Text{Code: code, Words: words.Own(), Same: same}, nil
}

// Codes decodes column i of the query as numbers into a list of words, which is lent as the numbers are: for columns with so many words
// that each costs something. -1 is null.
func (g *Group) Codes(i int) (code []int32, words *Strings, err error) {
	code, words = slices.Grow(g.buf[i].codes[:0], g.rows), &g.buf[i].words
	words.reset(0)
	if value, ok := g.constant(i); ok {
		if value != nil {
			words.addOne(*value)
		}
		code = code[:g.rows]
		if fill := int32(words.Len() - 1); fill == 0 {
			clear(code)
		} else {
			for at := range code {
				code[at] = fill
			}
		}
		g.buf[i].codes = code
		return code, words, nil
	}
	var number map[string]int32 // of words that did not come in a dictionary
	err = g.pages(i, parquet.ByteArray, func(p parquet.Page) error {
		values := p.Data()
		if p.Dictionary() == nil {
			number = words.numbers(number)
			data, offsets := values.ByteArray()
			return eachValue(p, max(0, len(offsets)-1), func(at int) {
				if at < 0 {
					code = append(code, -1)
					return
				}
				code = append(code, words.intern(number, data[offsets[at]:offsets[at+1]]))
			})
		}
		if words.Len() == 0 {
			dictionary := p.Dictionary().Page().Data()
			words.add(dictionary.ByteArray())
		}
		codes := values.Int32()
		for _, c := range codes {
			if uint32(c) >= uint32(words.Len()) {
				return errors.New("a value is not in the dictionary")
			}
		}
		if p.NumNulls() == 0 {
			code = append(code, codes...)
			return nil
		}
		return eachValue(p, len(codes), func(at int) {
			if at < 0 {
				code = append(code, -1)
				return
			}
			code = append(code, codes[at])
		})
	})
	err = g.complete(i, len(code), err, func() {
		for len(code) < g.rows {
			code = append(code, -1)
		}
	})
	g.buf[i].codes = code
	return code, words, err
}

// constant says whether a column has the same text in every row of the group, as its statistics tell, or nil for null in every row.
func (g *Group) constant(i int) (value *[]byte, ok bool) {
	if g.leaves[i] < 0 {
		return nil, true
	}
	m := &g.file.Metadata().RowGroups[g.index].Columns[g.leaves[i]].MetaData
	if k := g.file.RowGroups()[g.index].ColumnChunks()[g.leaves[i]].Type().Kind(); k != parquet.ByteArray {
		return nil, false
	}
	s := &m.Statistics
	switch {
	case g.rows > 0 && s.NullCount == int64(g.rows):
		return nil, true
	case s.NullCount == 0 && len(s.MinValue) > 0 && bytes.Equal(s.MinValue, s.MaxValue):
		return &s.MinValue, true
	}
	return nil, false
}

// reset empties the list and makes room for n texts.
func (s *Strings) reset(n int) {
	s.data, s.offsets = s.data[:0], append(slices.Grow(s.offsets[:0], n+1), 0)
}

// add adds the texts between offsets.
func (s *Strings) add(data []byte, offsets []uint32) {
	if len(offsets) == 0 {
		return
	}
	base, first := uint32(len(s.data)), offsets[0]
	s.data = append(s.data, data[first:offsets[len(offsets)-1]]...)
	s.offsets = slices.Grow(s.offsets, len(offsets))
	for _, end := range offsets[1:] {
		s.offsets = append(s.offsets, base+end-first)
	}
}

// addOne adds a text.
func (s *Strings) addOne(text []byte) {
	s.data = append(s.data, text...)
	s.offsets = append(s.offsets, uint32(len(s.data)))
}

// numbers is where texts are found in the list, made when it is first asked for.
func (s *Strings) numbers(have map[string]int32) map[string]int32 {
	if have == nil {
		have = map[string]int32{}
		for i := range s.Len() {
			have[string(s.Value(i))] = int32(i)
		}
	}
	return have
}

func (s *Strings) intern(number map[string]int32, text []byte) int32 {
	n, ok := number[string(text)]
	if !ok {
		n = int32(s.Len())
		s.addOne(text)
		number[string(text)] = n
	}
	return n
}

// cut is the texts between offsets, in one allocation.
func cut(data []byte, offsets []uint32) []string {
	all := string(data)
	out := make([]string, len(offsets)-1)
	for i := range out {
		out[i] = all[offsets[i]:offsets[i+1]]
	}
	return out
}

// Strings decodes column i of the query as it stands.
func (g *Group) Strings(i int) (*Strings, error) {
	s := &g.buf[i].strings
	s.reset(g.rows)
	err := g.pages(i, parquet.ByteArray, func(p parquet.Page) error {
		if uint64(len(s.data))+uint64(p.Size()) > math.MaxUint32 {
			return errors.New("more than 4 GiB of text")
		}
		values := p.Data()
		if p.Dictionary() != nil {
			dictionary, codes := p.Dictionary().Page().Data(), values.Int32()
			data, offsets := dictionary.ByteArray()
			return eachValue(p, len(codes), func(at int) {
				if at < 0 {
					s.addOne(nil)
					return
				}
				s.addOne(data[offsets[codes[at]]:offsets[codes[at]+1]])
			})
		}
		data, offsets := values.ByteArray()
		if p.NumNulls() == 0 {
			s.add(data, offsets)
			return nil
		}
		return eachValue(p, max(0, len(offsets)-1), func(at int) {
			if at < 0 {
				s.addOne(nil)
				return
			}
			s.addOne(data[offsets[at]:offsets[at+1]])
		})
	})
	return s, g.complete(i, s.Len(), err, func() {
		for s.Len() < g.rows {
			s.addOne(nil)
		}
	})
}

// Flags decodes column i of the query: 1 is true, 0 false, -1 null.
func (g *Group) Flags(i int) ([]int8, error) {
	out := slices.Grow(g.buf[i].flags[:0], g.rows)
	err := g.pages(i, parquet.Boolean, func(p parquet.Page) error {
		values := p.Data()
		bits := values.Boolean()
		if n := int(p.NumValues()); p.NumNulls() == 0 && n <= 8*len(bits) {
			for at := range n {
				out = append(out, int8(bits[at/8]>>(at%8)&1))
			}
			return nil
		}
		return eachValue(p, 8*len(bits), func(at int) {
			if at < 0 {
				out = append(out, -1)
				return
			}
			out = append(out, int8(bits[at/8]>>(at%8)&1))
		})
	})
	err = g.complete(i, len(out), err, func() {
		for len(out) < g.rows {
			out = append(out, -1)
		}
	})
	g.buf[i].flags = out
	return out, err
}

// Floats decodes column i of the query. Null is NaN.
func (g *Group) Floats(i int) ([]float64, error) {
	out := slices.Grow(g.buf[i].floats[:0], g.rows)
	err := g.pages(i, parquet.Double, func(p parquet.Page) error {
		if p.Dictionary() != nil {
			return errors.New("a number is stored in a dictionary")
		}
		page := p.Data()
		values := page.Double()
		return eachValue(p, len(values), func(at int) {
			if at < 0 {
				out = append(out, math.NaN())
				return
			}
			out = append(out, values[at])
		})
	})
	err = g.complete(i, len(out), err, func() {
		for len(out) < g.rows {
			out = append(out, math.NaN())
		}
	})
	g.buf[i].floats = out
	return out, err
}

// pages visits the pages of a column. A column that the object lacks has none.
func (g *Group) pages(i int, kind parquet.Kind, each func(parquet.Page) error) error {
	if g.leaves[i] < 0 {
		return nil
	}
	chunk := g.file.RowGroups()[g.index].ColumnChunks()[g.leaves[i]]
	if k := chunk.Type().Kind(); k != kind {
		return fmt.Errorf("it holds %v, want %v", k, kind)
	}
	pages := chunk.Pages()
	defer pages.Close()
	for {
		p, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		err = each(p)
		parquet.Release(p)
		if err != nil {
			return err
		}
	}
}

// eachValue calls value for every row of a page with the place of its value among those that are not null, -1 for null. A page
// stores none for a null row. There are at most have.
func eachValue(p parquet.Page, have int, value func(at int)) error {
	levels := p.DefinitionLevels()
	if p.NumNulls() == 0 {
		n := int(p.NumValues())
		if n > have {
			return errors.New("a page holds fewer values than it says")
		}
		for at := range n {
			value(at)
		}
		return nil
	}
	at := 0
	for _, level := range levels {
		if level == 0 {
			value(-1)
			continue
		}
		if at == have {
			return errors.New("a page holds fewer values than it says")
		}
		value(at)
		at++
	}
	return nil
}

// complete checks that a column has the rows of its group, and fills one that the object lacks with null.
func (g *Group) complete(i, rows int, err error, fill func()) error {
	switch {
	case err != nil:
		return fmt.Errorf("read parquet: row group %d: column %s: %w", g.index, g.columns[i], err)
	case g.leaves[i] < 0:
		fill()
	case rows != g.rows:
		return fmt.Errorf("read parquet: row group %d: column %s has %d rows of %d", g.index, g.columns[i], rows, g.rows)
	}
	return nil
}
