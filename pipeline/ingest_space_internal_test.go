package pipeline

import (
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/tracejury/tracejury/pipeline/store"
)

func TestSpaceIsCheckedFirst(t *testing.T) {
	log := &strings.Builder{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	dir := t.TempDir()
	if err := checkSpace(dir, forecast{}, logger); err != nil || log.Len() > 0 {
		t.Fatalf("nothing to hold: %v %s", err, log)
	}
	if err := checkSpace(dir, forecast{stored: 1 << 60, disk: math.MaxInt64}, logger); err != nil || !strings.Contains(log.String(), "may not suffice") {
		t.Errorf("perhaps too much: %v, log %q", err, log)
	}
	err := checkSpace(dir, forecast{stored: 1 << 60, least: 1 << 62, disk: math.MaxInt64}, logger)
	var exit *ExitError
	if !errors.As(err, &exit) || exit.Code != ExitService || !strings.Contains(exit.Hint, "spill_dir") || !strings.Contains(err.Error(), dir) {
		t.Errorf("surely too much: %v", err)
	}
}

func TestForecastGrowsWithWhatIsCompressed(t *testing.T) {
	in := func(key string, size int64) input { return input{obj: store.Object{Key: key, Size: size}} }
	f := forecastOf([]input{in("a.json", 1000), in("b.json.gz", 1000)}, 800)
	if want := (forecast{stored: 2000, plain: 9000, least: 3600, disk: 11050}); f != want {
		t.Errorf("got %+v, want %+v", f, want)
	}
	if f := forecastOf([]input{in("a.json", 1000)}, 1<<30); f.least != 0 || f.disk != 0 {
		t.Errorf("what fits into memory needs %d to %d of disk", f.least, f.disk)
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 999: "999 bytes", 1000: "1.0 KB", 9_949: "9.9 KB", 9_960: "10 KB", 999_499: "999 KB", 999_500: "1.0 MB", 12_345_678_901: "12 GB", math.MaxInt64: "9223 PB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
