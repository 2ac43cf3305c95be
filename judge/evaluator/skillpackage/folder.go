package skillpackage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tracejury/tracejury/judge/evaluator"
)

// Limits of a skill's folder.
const (
	maxSkillFile = 1 << 20
	maxFiles     = 60
	maxFileBytes = 128 << 10
	maxDepth     = 6
)

// FromFolder reads the SKILL.md of a folder, its frontmatter as manifest and the rest as instructions, and the text files
// beside it. Links and special files are not followed.
func FromFolder(folder fs.FS, task string) (evaluator.SkillPackage, error) {
	name, err := skillFile(folder)
	if err != nil {
		return evaluator.SkillPackage{}, err
	}
	text, err := readText(folder, name, maxSkillFile)
	if err != nil {
		return evaluator.SkillPackage{}, err
	}
	p := evaluator.SkillPackage{Task: task}
	p.Manifest, p.Body = SplitSkill(text)
	p.Name = manifestName(p.Manifest)
	if p.Files, err = beside(folder, name); err != nil {
		return evaluator.SkillPackage{}, err
	}
	return p, nil
}

func skillFile(folder fs.FS) (string, error) {
	entries, err := fs.ReadDir(folder, ".")
	if err != nil {
		return "", fmt.Errorf("read skill folder: %w", err)
	}
	for _, e := range entries {
		if strings.EqualFold(e.Name(), "SKILL.md") && e.Type().IsRegular() {
			return e.Name(), nil
		}
	}
	return "", fmt.Errorf("read skill folder: there is no SKILL.md in it: %w", fs.ErrNotExist)
}

var errNoText = errors.New("is no text")

func readText(folder fs.FS, name string, most int64) (string, error) {
	f, err := folder.Open(name)
	if err != nil {
		return "", fmt.Errorf("read skill file: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read skill file %s: %w", name, err)
	case int64(len(b)) > most:
		return "", fmt.Errorf("read skill file %s: more than %d bytes", name, most)
	case !utf8.Valid(b) || slices.Contains(b, 0):
		return "", fmt.Errorf("read skill file %s: %w", name, errNoText)
	}
	return string(b), nil
}

// beside reads the other files in the order of their paths. What is no text, or too long, is named only.
func beside(folder fs.FS, skill string) ([]evaluator.SkillFile, error) {
	var out []evaluator.SkillFile
	err := fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			if name != "." && (strings.HasPrefix(d.Name(), ".git") || strings.Count(name, "/") >= maxDepth) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || name == skill:
			return nil
		case len(out) == maxFiles:
			return fs.SkipAll
		}
		text, err := readText(folder, name, maxFileBytes)
		if err != nil {
			text = "(not shown: no text, or more than 128 KiB)"
		}
		out = append(out, evaluator.SkillFile{Path: path.Clean(name), Text: text})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read skill folder: %w", err)
	}
	return out, nil
}

// SplitSkill parts the text of a SKILL.md into its frontmatter, without the fences, and its instructions. A text that only
// begins with a rule, or whose frontmatter never ends, is all instructions.
func SplitSkill(text string) (manifest, body string) {
	t := strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	rest, ok := strings.CutPrefix(strings.TrimLeft(t, "\n"), "---\n")
	if !ok {
		return "", strings.TrimSpace(t)
	}
	for at := 0; at <= len(rest); {
		end := strings.IndexByte(rest[at:], '\n')
		line := rest[at:]
		if end >= 0 {
			line = rest[at : at+end]
		}
		if strings.TrimRight(line, " \t") == "---" {
			manifest = strings.TrimSpace(rest[:at])
			if manifestName(manifest) == "" && !strings.Contains("\n"+manifest, "\ndescription:") {
				return "", strings.TrimSpace(t)
			}
			return manifest, strings.TrimSpace(rest[min(len(rest), at+len(line)+1):])
		}
		if end < 0 {
			break
		}
		at += end + 1
	}
	return "", strings.TrimSpace(t)
}

// manifestName is the name that a manifest declares.
func manifestName(manifest string) string {
	for line := range strings.SplitSeq(manifest, "\n") {
		if v, ok := strings.CutPrefix(line, "name:"); ok {
			return strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return ""
}

// SkillText is the SKILL.md of a folder, whole, and the name that its frontmatter declares, "" if none.
func SkillText(folder fs.FS) (name, text string, err error) {
	file, err := skillFile(folder)
	if err != nil {
		return "", "", err
	}
	if text, err = readText(folder, file, maxSkillFile); err != nil {
		return "", "", err
	}
	manifest, _ := SplitSkill(text)
	return manifestName(manifest), text, nil
}
