package cloudinit

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Sixteen times as much takes about sixteen times as long to read; where each key is compared with all others, 256 times.
// It counts the processor's time of this thread alone, since other programs and tests run beside it.
func TestTimeToReadIsLinear(t *testing.T) {
	const few, times, limit = 300, 16, 4
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() time.Duration {
		var at unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
			t.Fatal(err)
		}
		return time.Duration(at.Nano())
	}
	for _, shape := range large {
		read := func(n int) time.Duration {
			parts := shape.parts(n)
			start := now()
			ReadParts(nil, "Node", parts, Options{InstanceData: map[string]string{"v1.region": "here"}})
			return now() - start
		}
		one, all := time.Hour, time.Hour
		for range 5 {
			one, all = min(one, read(few)), min(all, read(times*few))
			if all < limit*times*one {
				break
			}
		}
		if all >= limit*times*one {
			t.Errorf("%s: %d take %v, %d times as many take %v", shape.name, few, one, times, all)
		}
	}
}
