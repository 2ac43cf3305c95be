package transcript

import (
	"strings"
	"unicode"
)

// What counts as a quotation.
const (
	quoteRunes = 40 // characters in a row, or
	quoteWords = 8  // words in a row
)

// Why an explanation is withheld.
const WithheldQuotation = "quotation"

// MaxExplanation is the number of characters that an explanation may have.
const MaxExplanation = 300

// Explanation makes a judge's text fit to be stored: masked first, withheld where it quotes what the judge was shown,
// and cut to MaxExplanation characters last. withheld is "" or the reason.
func Explanation(text, plain string, mask func(string) string) (shown, withheld string) {
	text = masker{mask}.text(text)
	if Quotes(text, plain) {
		return "", WithheldQuotation
	}
	return clipRunes(strings.TrimSpace(text), MaxExplanation), ""
}

// Quotes says whether an explanation repeats the transcript: 40 characters or 8 words in a row, whatever the case, the
// white space and, for words, the punctuation. It takes time linear in both and memory linear in the explanation.
func Quotes(explanation, transcript string) bool {
	if a := normalRunes(explanation); len(a) >= quoteRunes && sharesRun(a, normalRunes(transcript), quoteRunes) {
		return true
	}
	a := words(explanation)
	return len(a) >= quoteWords && sharesRun(a, words(transcript), quoteWords)
}

// sharesRun says whether a and b share a run of n elements: Rabin-Karp with the runs of a as index.
func sharesRun[E rune | string](a, b []E, n int) bool {
	if len(a) < n || len(b) < n {
		return false
	}
	const base = 1_000_003
	lead := uint64(1) // base^(n-1): weight of the element that leaves
	for range n - 1 {
		lead *= base
	}
	runs := make(map[uint64][]int, len(a)-n+1)
	each(a, n, base, lead, func(sum uint64, at int) bool {
		runs[sum] = append(runs[sum], at)
		return true
	})
	return !each(b, n, base, lead, func(sum uint64, at int) bool {
		found := runs[sum]
		for _, from := range found[:min(len(found), 8)] { // equal sums of different runs are rare; equal runs need one look
			if equal(a[from:from+n], b[at:at+n]) {
				return false
			}
		}
		return true
	})
}

// each calls visit with the rolling hash of every run of n elements until visit says false.
func each[E rune | string](s []E, n int, base, lead uint64, visit func(sum uint64, at int) bool) bool {
	var sum uint64
	for i := range s {
		if i >= n {
			sum -= lead * value(s[i-n])
		}
		sum = sum*base + value(s[i])
		if i >= n-1 && !visit(sum, i-n+1) {
			return false
		}
	}
	return true
}

func value[E rune | string](e E) uint64 {
	h := uint64(14695981039346656037) // FNV-1a: short words, no need for more
	for _, r := range string(e) {
		h = (h ^ uint64(r)) * 1099511628211
	}
	return h
}

func equal[E rune | string](a, b []E) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// normalRunes is s in lower case with white space collapsed.
func normalRunes(s string) []rune {
	out := make([]rune, 0, len(s))
	space := true
	for _, r := range s {
		if unicode.IsSpace(r) {
			if !space {
				out = append(out, ' ')
			}
			space = true
			continue
		}
		space = false
		out = append(out, unicode.ToLower(r))
	}
	return out
}

func words(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
