package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func tempDir(t testing.TB, opts Options) *dirStore {
	t.Helper()
	s, err := Open(t.Context(), t.TempDir(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return s.(*dirStore)
}

func listKeys(t testing.TB, s Store, opts ListOptions) (keys []string) {
	t.Helper()
	for o, err := range s.List(t.Context(), "", opts) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

// TestHelperProcess is no test: it is what other tests run as another process.
func TestHelperProcess(t *testing.T) {
	root := os.Getenv("STORE_TEST_ROOT")
	if root == "" {
		t.Skip("only run by other tests")
	}
	s, err := Open(t.Context(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	switch os.Getenv("STORE_TEST_DO") {
	case "count":
		for range 25 {
			for {
				b, o, err := s.Get(t.Context(), "counter", "")
				if err != nil {
					t.Fatal(err)
				}
				n, _ := strconv.Atoi(string(b))
				_, err = s.PutIfMatch(t.Context(), "counter", strings.NewReader(strconv.Itoa(n+1)), o.ETag, PutOptions{})
				if err == nil {
					break
				}
				if !errors.Is(err, ErrChanged) {
					t.Fatal(err)
				}
			}
		}
	case "hang": // in the middle of a body
		_, err := s.Put(t.Context(), "k", hangingBody{strings.NewReader("half")}, PutOptions{})
		t.Fatal(err)
	}
}

type hangingBody struct{ io.ReadSeeker }

func (b hangingBody) Read(p []byte) (int, error) {
	n, err := b.ReadSeeker.Read(p)
	if err == io.EOF {
		fmt.Println("hanging")
		select {}
	}
	return n, err
}

func helperProcess(t *testing.T, root, do string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestHelperProcess$", "-test.v")
	cmd.Env = append(os.Environ(), "STORE_TEST_ROOT="+root, "STORE_TEST_DO="+do)
	return cmd
}

func TestDirAcrossProcesses(t *testing.T) {
	d := tempDir(t, Options{})
	putString(t, d, "counter", "0")
	const processes = 4
	var cmds []*exec.Cmd
	for range processes {
		cmd := helperProcess(t, d.root, "count")
		cmd.Stdout, cmd.Stderr = new(bytes.Buffer), os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, cmd.Stdout)
		}
	}
	if b, _, err := d.Get(t.Context(), "counter", ""); err != nil || string(b) != strconv.Itoa(25*processes) {
		t.Errorf("counter is %s, %v; want %d", b, err, 25*processes)
	}
}

func TestDirSurvivesKilledWriter(t *testing.T) {
	d := tempDir(t, Options{})
	putString(t, d, "k", "before")
	cmd := helperProcess(t, d.root, "hang")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for buf := make([]byte, 4096); ; {
		n, err := out.Read(buf)
		if bytes.Contains(buf[:n], []byte("hanging")) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	temps := func() int {
		entries, err := os.ReadDir(d.lock.tempDir())
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	putString(t, d, "other", "x")
	if temps() != 1 {
		t.Errorf("%d temporary files: that of a living writer must stay", temps())
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if b, _, err := d.Get(t.Context(), "k", ""); err != nil || string(b) != "before" {
		t.Errorf("after the crash: %q, %v", b, err)
	}
	if keys := listKeys(t, d, ListOptions{}); !slices.Equal(keys, []string{"k", "other"}) {
		t.Errorf("listed %q", keys)
	}
	putString(t, d, "other", "y") // nobody holds the lock, and the leftover goes
	if temps() != 0 {
		t.Errorf("%d temporary files are left", temps())
	}
}

func TestDirListFollowsLinksButNotInCircles(t *testing.T) {
	d := tempDir(t, Options{})
	outside := t.TempDir()
	for path, body := range map[string]string{
		filepath.Join(d.root, "day/a"): "a", filepath.Join(outside, "deep/b"): "b", filepath.Join(outside, "file"): "c",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"day/up": "..", "day/self": ".", "self": "self", "nowhere": "none", "linked": outside, "one": filepath.Join(outside, "file"),
	} {
		if err := os.Symlink(target, filepath.Join(d.root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(d.root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []string{"day/a", "linked/deep/b", "linked/file", "one"}
	if got := listKeys(t, d, ListOptions{}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, key := range []string{"pipe", "self", "nowhere", "day"} {
		if _, err := d.Stat(t.Context(), key); err == nil {
			t.Errorf("Stat(%s) succeeded", key)
		}
	}
	if _, err := os.Stat(d.lock.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading left something behind: %v", err)
	}
}

func TestDirNewRoot(t *testing.T) {
	root := filepath.Join(t.TempDir(), "not", "yet")
	s, err := Open(t.Context(), root, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := listKeys(t, s, ListOptions{}); got != nil {
		t.Errorf("listed %q", got)
	}
	if err := s.Delete(t.Context(), "a/b"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading created the root: %v", err)
	}
	putString(t, s, "a/b", "x")
	if err := s.Delete(t.Context(), "a/b"); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(root)
	if err != nil || len(entries) != 1 || entries[0].Name() != reservedPrefix {
		t.Errorf("left %v, %v", entries, err)
	}
}

// TestDirSeesWritesInPlace changes files as no store would: within one tick of the clock, keeping size and time.
func TestDirSeesWritesInPlace(t *testing.T) {
	d := tempDir(t, Options{})
	path := filepath.Join(d.root, "k")
	old := time.Now().Add(-time.Hour)
	for round := range 20 {
		body := fmt.Sprintf("body %02d", round)
		if err := os.WriteFile(path, []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil { // the inode's own time betrays it
			t.Fatal(err)
		}
		o, err := d.Stat(t.Context(), "k")
		if err != nil || o.ETag != tagOf([]byte(body)) {
			t.Fatalf("round %d: %+v, %v", round, o, err)
		}
		if b, err := d.GetRange(t.Context(), "k", 5, 2, o.ETag); err != nil || string(b) != body[5:] {
			t.Errorf("round %d: %q, %v", round, b, err)
		}
	}
}

func TestDirReaderSeesTruncation(t *testing.T) {
	d := tempDir(t, Options{})
	putString(t, d, "k", strings.Repeat("x", 1000))
	r, _, err := d.Open(t.Context(), "k", "")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	if err := os.Truncate(filepath.Join(d.root, "k"), 10); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); !errors.Is(err, ErrChanged) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

type brokenBody struct {
	io.ReadSeeker
	err error
}

func (b brokenBody) Read(p []byte) (int, error) {
	if n, err := b.ReadSeeker.Read(p); err == nil {
		return n, nil
	}
	return 0, b.err
}

func TestPutOfBrokenBody(t *testing.T) {
	d := tempDir(t, Options{})
	broken := errors.New("broken")
	_, err := d.Put(t.Context(), "a/k", brokenBody{strings.NewReader("half"), broken}, PutOptions{})
	if !errors.Is(err, broken) || listKeys(t, d, ListOptions{}) != nil {
		t.Errorf("got %v, left %q", err, listKeys(t, d, ListOptions{}))
	}
	if entries, err := os.ReadDir(d.lock.tempDir()); err != nil || len(entries) != 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestDirErrors(t *testing.T) {
	d := tempDir(t, Options{MaxObjectBytes: 10})
	putString(t, d, "dir/k", strings.Repeat("x", 11))
	if _, _, err := d.Get(t.Context(), "dir/k", ""); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Get: %v", err)
	}
	if _, err := d.GetRange(t.Context(), "dir/k", 0, 100, ""); !errors.Is(err, ErrTooLarge) {
		t.Errorf("GetRange: %v", err)
	}
	if b, err := d.GetRange(t.Context(), "dir/k", 5, 1<<40, ""); err != nil || len(b) != 6 {
		t.Errorf("GetRange: %d bytes, %v", len(b), err)
	}
	for _, key := range []string{"dir", "dir/k/x"} {
		_, err := d.Put(t.Context(), key, strings.NewReader("x"), PutOptions{})
		if e, ok := errors.AsType[*Error](err); !ok || e.Hint == "" || errors.Is(err, ErrExist) || strings.Count(err.Error(), d.root) != 1 {
			t.Errorf("Put(%s): %v, want a hint and the path once", key, err)
		}
	}
	if err := d.Delete(t.Context(), "dir"); err != nil || len(listKeys(t, d, ListOptions{})) != 1 {
		t.Errorf("Delete of a folder: %v", err)
	}
	if os.Getuid() == 0 {
		t.Skip("the user of this test may read and write everything")
	}
	if err := os.Chmod(filepath.Join(d.root, "dir/k"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := d.Stat(t.Context(), "dir/k")
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrDenied) || e.Hint == "" {
		t.Errorf("Stat: %v", err)
	}
}

func TestDirOnTwoFileSystems(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "store-test")
	if err != nil {
		t.Skip("no second file system: ", err)
	}
	defer os.RemoveAll(other) //nolint:errcheck // a test's leftovers
	d := tempDir(t, Options{})
	if err := os.Symlink(other, filepath.Join(d.root, "far")); err != nil {
		t.Fatal(err)
	}
	_, err = d.Put(t.Context(), "far/k", strings.NewReader("x"), PutOptions{})
	if err == nil {
		t.Skip("/dev/shm is the file system of the temporary directory")
	}
	if e, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, syscall.EXDEV) || e.Hint == "" {
		t.Errorf("got %v", err)
	}
}

func TestDirLockWaitsAndGivesUp(t *testing.T) {
	d := tempDir(t, Options{})
	other := newDirLock(d.root) // another store on the same root
	unlock, err := other.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.Put(ctx, "k", strings.NewReader("x"), PutOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v while another holds the lock", err)
	}
	unlock()
	putString(t, d, "k", "x")
}
