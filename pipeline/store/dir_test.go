package store_test

import (
	"testing"

	"github.com/tracejury/tracejury/pipeline/store"
	"github.com/tracejury/tracejury/pipeline/store/storetest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openTempDir(tb testing.TB) store.Store {
	tb.Helper()
	s, err := store.Open(tb.Context(), "file://"+tb.TempDir(), store.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestDirContract(t *testing.T) { storetest.Run(t, openTempDir) }

func TestUnderContract(t *testing.T) {
	storetest.Run(t, func(tb testing.TB) store.Store { return store.Under(openTempDir(tb), "a sub/folder") })
}

func TestS3Contract(t *testing.T) { storetest.Run(t, store.OpenFake) }
