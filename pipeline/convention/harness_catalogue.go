package convention

import (
	"html"
	"strings"
)

// skillsElement reads the first <available_skills> element that text holds with an entry in it; an element without entries is
// a catalogue too, an empty one. Entries hold name, description and location elements, or carry their name as an attribute.
func skillsElement(text string) ([]CatalogueSkill, bool) {
	found := false
	for {
		_, inner, rest, closed, ok := openElement(text, "available_skills")
		if !ok {
			return nil, found
		}
		// Prose that mentions the tag is no catalogue.
		found = found || closed
		if skills := skillEntries(inner); len(skills) > 0 {
			return skills, true
		}
		text = rest
	}
}

func skillEntries(text string) []CatalogueSkill {
	var skills []CatalogueSkill
	for {
		head, inner, rest, _, ok := openElement(text, "skill")
		if !ok {
			return skills
		}
		s := CatalogueSkill{Name: child(inner, "name"), Description: child(inner, "description"), Location: child(inner, "location")}
		if s.Name == "" {
			s.Name = xmlAttribute(head, "name")
			if s.Description == "" && !strings.Contains(inner, "<") {
				s.Description = strings.TrimSpace(html.UnescapeString(inner))
			}
		}
		if s.Name != "" {
			skills = append(skills, s)
		}
		text = rest
	}
}

// element is the content of the first element called name, and the text behind it. An element that is cut off before its end
// goes to the end of text.
func element(text, name string) (inner, rest string, ok bool) {
	_, inner, rest, _, ok = openElement(text, name)
	return inner, rest, ok
}

func openElement(text, name string) (head, inner, rest string, closed, ok bool) {
	at := text
	for {
		i := strings.Index(at, "<"+name)
		if i < 0 {
			return "", "", "", false, false
		}
		at = at[i+1+len(name):]
		if at == "" || at[0] == '>' || at[0] == ' ' || at[0] == '\n' || at[0] == '\r' || at[0] == '\t' {
			break
		}
	}
	head, at, ok = strings.Cut(at, ">")
	if !ok {
		return "", "", "", false, false
	}
	inner, rest, closed = strings.Cut(at, "</"+name+">")
	return head, inner, rest, closed, true
}

func child(text, name string) string {
	inner, _, ok := element(text, name)
	if !ok {
		return ""
	}
	return strings.TrimSpace(html.UnescapeString(inner))
}

func xmlAttribute(head, name string) string {
	_, rest, ok := strings.Cut(head, name+`="`)
	if !ok {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return html.UnescapeString(value)
}
