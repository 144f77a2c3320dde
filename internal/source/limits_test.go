package source

import (
	"fmt"
	"strings"
	"testing"
)

// What is as large as a limit is taken, and one byte or file more is not.
func TestLimitsAreExact(t *testing.T) {
	filled := func(n int) string { return strings.Repeat("x", n) }
	small := small
	small.Bytes = 1 << 20
	limit := int64(8192) // of a tar: blocks of 512 bytes, two of them at its end
	for _, c := range []struct {
		name    string
		unpacks int64
		fits    bool
	}{{"all of it", limit, true}, {"one byte less", limit - 1, false}} {
		t.Run("unpacked "+c.name, func(t *testing.T) {
			b := tarOf(t, entry{"a", filled(int(limit) - 1536), 0})
			if int64(len(b)) != limit {
				t.Fatalf("the archive has %d bytes", len(b))
			}
			l := small
			l.Unpacked = c.unpacks
			if files, _, err := readArchive(t, "x.tar.gz", packed(t, b, "gz"), "", l); (err == nil) != c.fits || c.fits != (len(files) == 1) {
				t.Errorf("%d files, %v", len(files), err)
			}
		})
	}
	for _, n := range []int{4096, 4097} {
		t.Run(fmt.Sprintf("a file of %d bytes in a zip", n), func(t *testing.T) {
			l := small
			l.Bytes = 4096
			if _, _, err := readArchive(t, "x.zip", zipOf(t, entry{"a", filled(n), 0}), "", l); (err == nil) != (n == 4096) {
				t.Error(err)
			}
		})
		t.Run(fmt.Sprintf("files of %d bytes together", n), func(t *testing.T) {
			l := small
			l.Bytes = 4096
			b := zipOf(t, entry{"a", filled(2048), 0}, entry{"b", filled(n - 2048), 0})
			if _, _, err := readArchive(t, "x.zip", b, "", l); (err == nil) != (n == 4096) {
				t.Error(err)
			}
		})
	}
	for _, n := range []int{10, 11} {
		objects := map[string]string{"gpu/.hidden": "h", "gpu/sub/x": "x"}
		for i := range n {
			objects[fmt.Sprintf("gpu/%d", i)] = "x"
		}
		use := useBuckets(t, bucketServer(t, objects))
		for _, scheme := range []string{"s3", "gs"} {
			t.Run(fmt.Sprintf("%d objects of %s", n, scheme), func(t *testing.T) {
				if files, err := fetchNew(t, scheme+"://bucket/gpu", use); (err == nil) != (n == 10) || n == 10 && len(files) != 10 {
					t.Errorf("%d files, %v", len(files), err)
				}
			})
		}
	}
}
