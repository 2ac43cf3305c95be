package pipeline

import "github.com/tracejury/tracejury/pipeline/archive"

// onePerLoss joins what two stages say of one loss. Where compressed bytes are missing, the archive knows why, and the decoder
// knows from where on a document could not be read because of it: that is one piece, with the decoder's place and the
// archive's reason.
func onePerLoss(problems, faults []archive.Problem) []archive.Problem {
	all := faults
	for _, p := range problems {
		if p.Length > 0 {
			all = append(all, p)
		}
	}
	byEnd := map[int64]int{}
	for i, p := range all {
		byEnd[p.Offset+p.Length] = i
	}
	for _, p := range problems {
		if p.Length > 0 {
			continue
		}
		if i, ok := byEnd[p.Offset]; ok {
			all[i].Reason, all[i].DetectedFormat = p.Reason, p.DetectedFormat
			continue
		}
		all = append(all, p)
	}
	return all
}
