package agentcore

import (
	"testing"

	"github.com/tracejury/tracejury/exports/exporttest"
)

func TestTarget(t *testing.T) { exporttest.Run(t, Target{}) }

func TestTarget_Golden(t *testing.T) {
	exporttest.Golden(t, "small", exporttest.Small(), Target{})
	exporttest.Golden(t, "weighted", exporttest.Weighted(), Target{})
}
