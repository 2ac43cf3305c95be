package mcptools

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// harmless are the variables that every command is given: without them few start, and none holds a secret.
var harmless = []string{"HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER", "SYSTEMROOT", "TEMP", "APPDATA", "USERPROFILE"}

// grace is how long a command may take to end once its input has.
const grace = 2 * time.Second

// Stdio starts a command, lists the tools of the server that it is, and ends it.
func Stdio(ctx context.Context, command []string, opts Options) (Listing, error) {
	if len(command) == 0 {
		return Listing{}, errors.New("list tools: the command is empty")
	}
	fail := func(err error) (Listing, error) {
		return Listing{}, fmt.Errorf("list tools of the command %s: %w", command[0], err)
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(opts.Timeout, defaultTimeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // the user names the command
	cmd.WaitDelay = grace
	cmd.Env = environment(opts.Env)
	said := new(tail)
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return fail(err)
	}
	// Not a pipe of cmd: Wait would close it under the reader.
	out, into := io.Pipe()
	cmd.Stdout = into
	if err := cmd.Start(); err != nil {
		return fail(err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		_ = into.Close() // a pipe in memory: closing tells the reader and cannot fail
		ended <- err
	}()
	left := newBudget(cmp.Or(opts.MaxBytes, defaultBytes))
	l, err := list(ctx, &mcp.IOTransport{Reader: reader{out, left}, Writer: in}, left)
	_ = out.Close() // whoever still writes is told, and ends
	_ = in.Close()
	kill := time.AfterFunc(grace, cancel)
	exit := <-ended
	kill.Stop()
	if err != nil {
		return fail(errors.Join(err, exitError(exit, ctx), said.err()))
	}
	return l, nil
}

// exitError says how a command ended that should not have ended yet.
func exitError(err error, ctx context.Context) error {
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("the command ended: %w", err)
}

func environment(more []string) []string {
	var env []string
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(harmless, strings.ToUpper(name)) || slices.Contains(more, name) {
			env = append(env, kv)
		}
	}
	return env
}

// tail keeps the end of what a command writes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const maxTail = 2000

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxTail):]...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

// err is what the command said, as an error; nil when it said nothing.
func (t *tail) err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := bytes.TrimSpace(bytes.ToValidUTF8(t.text, nil)); len(text) > 0 {
		return fmt.Errorf("it said: %s", text)
	}
	return nil
}

// Words splits a command line at blanks; single and double quotes and a backslash keep what they hold together, as in a shell, and
// nothing else means anything: no variable, no pipe, no pattern.
func Words(line string) ([]string, error) {
	var out []string
	var word strings.Builder
	open, inWord, escaped := rune(0), false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && open != '\'':
			escaped, inWord = true, true
		case open != 0 && r == open:
			open = 0
		case open != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			open, inWord = r, true
		case r == ' ' || r == '\t' || r == '\n':
			if inWord {
				out = append(out, word.String())
				word.Reset()
				inWord = false
			}
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if open != 0 || escaped {
		return nil, fmt.Errorf("command %q: a quote is not closed", line)
	}
	if inWord {
		out = append(out, word.String())
	}
	return out, nil
}
