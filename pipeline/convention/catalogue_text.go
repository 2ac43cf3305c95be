package convention

import "strings"

// CatalogueIn finds a catalogue of skills in an instruction: an <available_skills> element, or a Markdown list under a
// heading "Available skills". found is true for a catalogue that is there and empty. Only text that a harness wrote may be
// asked: a user can write such a list too.
func CatalogueIn(text string) (skills []CatalogueSkill, found bool) {
	if skills, found = skillsElement(text); found {
		return skills, found
	}
	return skillsMarkdown(text)
}

// skillsMarkdown reads "- name: description (file: path)" or "- **name**: description" below a heading, wrapped lines and a
// "Read `path`" line included, up to the next heading.
func skillsMarkdown(text string) (skills []CatalogueSkill, found bool) {
	for rest := text; ; {
		i := indexFold(rest, "available skills")
		if i < 0 {
			return nil, found
		}
		lineStart := strings.LastIndexByte(rest[:i], '\n') + 1
		line, after, _ := strings.Cut(rest[lineStart:], "\n")
		rest = after
		if !isHeading(line) {
			continue
		}
		found = true
		if skills = listEntries(after); len(skills) > 0 {
			return skills, true
		}
	}
}

func indexFold(s, lower string) int { return strings.Index(strings.ToLower(s), lower) }

// isHeading says whether a line is "### Available skills" or "**Available Skills:**" and nothing else.
func isHeading(line string) bool {
	l := strings.TrimSpace(line)
	marked := strings.HasPrefix(l, "#") || strings.HasPrefix(l, "**")
	return marked && strings.EqualFold(strings.Trim(l, "#* :"), "available skills")
}

func listEntries(text string) []CatalogueSkill {
	var out []CatalogueSkill
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, "\n")
		l := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(l, "#"), strings.HasPrefix(l, "**"), strings.HasPrefix(l, "<"):
			return out
		case strings.HasPrefix(line, "- "), strings.HasPrefix(line, "* "):
			if s, ok := listEntry(strings.TrimSpace(line[2:])); ok {
				out = append(out, s)
			}
		case l == "":
		case len(out) == 0: // an introduction before the list
		case strings.Contains(l, "SKILL.md") && strings.Contains(l, "`"):
			if path, ok := between(l, "`", "`"); ok {
				out[len(out)-1].Location = path
			}
		case line[0] == ' ' || line[0] == '\t':
			last := &out[len(out)-1]
			last.Description = strings.TrimSpace(last.Description + " " + l)
			last.Description, last.Location = cutFile(last.Description, last.Location)
		default:
			return out
		}
	}
	return out
}

func listEntry(l string) (CatalogueSkill, bool) {
	var s CatalogueSkill
	l, s.Location = cutFile(l, "")
	name, description, ok := strings.Cut(l, ": ")
	if !ok {
		name = strings.TrimSuffix(l, ":")
	}
	s.Name = strings.Trim(strings.TrimSpace(name), "*`")
	s.Description = strings.TrimSpace(description)
	return s, s.Name != "" && !strings.ContainsAny(s.Name, " \t")
}

// cutFile takes a trailing "(file: path)" off.
func cutFile(l, was string) (rest, path string) {
	i := strings.LastIndex(l, "(file: ")
	if i < 0 || !strings.HasSuffix(l, ")") {
		return l, was
	}
	return strings.TrimSpace(l[:i]), l[i+len("(file: ") : len(l)-1]
}
