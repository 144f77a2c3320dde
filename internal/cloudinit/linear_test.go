package cloudinit

import (
	"testing"
	"time"
)

// Eight times as much takes about eight times as long to read, and not sixty-four times. What else the machine does
// only adds time, so the shortest of several tries counts.
func TestTimeToReadIsLinear(t *testing.T) {
	const few, times, limit = 600, 8, 3
	for _, shape := range large {
		t.Run(shape.name, func(t *testing.T) {
			read := func(n int) time.Duration {
				parts := shape.parts(n)
				start := time.Now()
				ReadParts(nil, "Node", parts, Options{InstanceData: map[string]string{"v1.region": "here"}})
				return time.Since(start)
			}
			one, all := time.Hour, time.Hour
			for try := range 20 {
				one, all = min(one, read(few)), min(all, read(few*times))
				if try >= 2 && all < limit*times*one {
					return
				}
			}
			t.Errorf("%d take %v, %d times as many take %v", few, one, times, all)
		})
	}
}
