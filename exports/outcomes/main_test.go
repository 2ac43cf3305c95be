package outcomes

import (
	"testing"

	"go.uber.org/goleak"
)

// A push leaves nothing running behind, however it ended.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
