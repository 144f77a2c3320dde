package report

import (
	"testing"
	"time"
)

func TestDurationsAreWrittenShort(t *testing.T) {
	for want, d := range map[string]time.Duration{"20m": 20 * time.Minute, "1h": time.Hour, "1h30m": 90 * time.Minute, "1m30s": 90 * time.Second, "0s": 0, "10s": 10 * time.Second, "1h0m5s": time.Hour + 5*time.Second} {
		if got := Duration(d); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
