package pipeline

import (
	"fmt"
	"log/slog"
	"os"
	"path"
	"syscall"

	"github.com/tracejury/tracejury/pipeline/store"
)

// unpacked is about what an object takes in memory. An object that needs more than there is room for is read alone.
func unpacked(obj store.Object) int64 { return atLeast(obj, 8) + 64<<10 }

// atLeast is the size of an object unpacked, if what is compressed grows by a factor.
func atLeast(obj store.Object, factor int64) int64 {
	switch path.Ext(obj.Key) {
	case ".json", ".ndjson", ".jsonl", ".txt", ".log", ".binpb", ".pb", ".proto":
		return obj.Size
	}
	return factor * obj.Size
}

// forecast is what an ingest of some objects is about to take.
type forecast struct {
	stored int64 // bytes to read
	plain  int64 // about, unpacked
	least  int64 // local disk that it needs, if what is compressed grows by no more than three
	disk   int64 // local disk that it may need
}

// forecastOf guesses from sizes and names. 10 GB of OTLP JSON at 512 MiB of memory took up to 10.1 GB of local disk: all records
// lie there once, and the tables beside the records that are not merged yet.
func forecastOf(inputs []input, memory int64) (f forecast) {
	for _, in := range inputs {
		f.stored += in.obj.Size
		f.plain += atLeast(in.obj, 8)
		f.least += atLeast(in.obj, 3)
	}
	f.least = max(f.least-memory/2, 0)
	f.disk = max(f.plain+f.plain/4-memory/4, 0)
	return f
}

// checkSpace refuses to begin what the disk of dir cannot hold: hours later is too late to learn of it.
func checkSpace(dir string, f forecast, log *slog.Logger) error {
	free, err := freeBytes(dir)
	if err != nil {
		log.Debug("the free space is not known", "directory", dir, "error", err.Error())
		return nil
	}
	const hint = "make room, set ingest.spill_dir to a larger disk, raise --memory, or read part of it with --since"
	if free < f.least {
		return &ExitError{Code: ExitService, Err: fmt.Errorf("%s has %s free, and grouping %s of archive needs about %s there", dir, sizeText(free), sizeText(f.stored), sizeText(f.disk)), Hint: hint}
	}
	if free < f.disk {
		log.Warn("local disk may not suffice: "+hint, "directory", dir, "free", sizeText(free), "needed", sizeText(f.disk))
	}
	return nil
}

// freeBytes is what an ordinary user may still write to the file system of dir.
func freeBytes(dir string) (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: dir, Err: err}
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // their types differ between systems
}

// sizeText is a number of bytes for a person.
func sizeText(n int64) string {
	const units = "KMGTP"
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, i := float64(n)/1000, 0
	for v >= 999.5 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %cB", v, units[i])
	}
	return fmt.Sprintf("%.0f %cB", v, units[i])
}
