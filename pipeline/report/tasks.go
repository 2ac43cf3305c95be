package report

// Tasks is what a run on the tasks of a suite says: two arms beside each other. It stands in place of rates, which would be of both arms.
type Tasks struct {
	About   string // suite, agent model and skills
	Reading string // the one sentence
	Head    []string
	Rows    [][]string // the first cell of each names a group
	Notes   []string
}

// tasks takes over the two arms, and leaves out what would mix them.
func (v *view) tasks(m *Model) {
	t := m.Tasks
	if t == nil {
		return
	}
	clean := &Tasks{About: phrase(t.About), Reading: phrase(t.Reading), Head: t.Head}
	for _, r := range t.Rows {
		row := make([]string, len(r))
		for i, c := range r {
			row[i] = phrase(c)
		}
		clean.Rows = append(clean.Rows, row)
	}
	for _, n := range t.Notes {
		clean.Notes = append(clean.Notes, phrase(n))
	}
	v.Tasks = clean
	v.Criteria, v.Columns, v.Services, v.Sessions, v.SessionsLeft, v.NothingApplied = nil, nil, nil, nil, 0, 0
}

func (d *mdWriter) tasks(t *Tasks) {
	d.f("%s\n\n", code(t.About))
	head := []string{""}
	for _, h := range t.Head[1:] {
		head = append(head, h+">")
	}
	d.header(head...)
	for _, r := range t.Rows {
		row := []string{code(r[0])}
		for _, c := range r[1:] {
			row = append(row, words(c))
		}
		d.row(row...)
	}
	d.f("\n")
	for _, n := range t.Notes {
		d.f("%s\n\n", code(n))
	}
}
