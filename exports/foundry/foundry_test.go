package foundry

import (
	"testing"

	"github.com/tracejury/tracejury/exports/exporttest"
)

func TestTarget(t *testing.T) { exporttest.Run(t, Target{}) }
