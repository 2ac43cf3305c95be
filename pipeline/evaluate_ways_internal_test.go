package pipeline

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/tracejury/tracejury/judge/model"
)

// Several commands that find out about judges at the same time forget nothing of what the others found out.
func TestRememberWay_Writers(t *testing.T) {
	dir := t.TempDir()
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := rememberWay(context.Background(), dir, fmt.Sprint("bedrock:m-", w, "-", i), model.Capability{Mode: model.ModeForcedTool, Temperature: true}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	known, _, _, err := readWays(context.Background(), dir)
	if err != nil || len(known) != writers*each || known["bedrock:m-3-9"] != (way{Mode: model.ModeForcedTool, Temperature: true}) {
		t.Errorf("%d of %d are remembered: %v, %v", len(known), writers*each, known, err)
	}
}
