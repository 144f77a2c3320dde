package file

import (
	"context"
	"io"
	"runtime/metrics"
	"time"

	"kopshook.dev/kopshook/internal/report"
)

// growth is how many bytes the program's heap may grow by while Await waits. The largest file that is read into memory
// that way, an archive of 64 MiB, takes a third of it.
const growth = 512 << 20

// ReadAll is io.ReadAll that ends with ctx: standard input and FIFOs may never say a word.
func ReadAll(ctx context.Context, r io.Reader) ([]byte, error) {
	return Await(ctx, func() ([]byte, error) { return io.ReadAll(r) })
}

// Await runs do, which reads or writes and cannot be told of ctx, and returns at the latest when ctx ends; do may go on
// then. It also returns when the program's heap has grown by more than 512 MiB meanwhile: the clients of clouds read the body of
// an error without a bound (aws-sdk-go-v2/service/s3/deserializers.go, googleapi.CheckResponse), and kops' vfs takes
// no client of ours.
func Await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := do()
		done <- result{value, err}
	}()
	before, tick := heap(), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	var none T
	for {
		select {
		case r := <-done:
			return r.value, r.err
		case <-ctx.Done():
			return none, context.Cause(ctx)
		case <-tick.C:
			if heap() > before+growth {
				return none, report.Hint("it sends much more than it was asked for: look what answers at that address", "the answer is larger than %d MiB", growth>>20)
			}
		}
	}
}

// heap is how many bytes the objects on the heap take.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
