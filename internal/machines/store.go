package machines

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/util/pkg/vfs"

	"kopshook.dev/kopshook/instancegroups"
	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// ReadCluster reads a cluster from kops' state store, where it is the object NAME/config
// (pkg/client/simple/vfsclientset/cluster.go:174). store is as kops takes it: "s3://bucket/prefix".
func ReadCluster(ctx context.Context, store, name string) (*kops.Cluster, error) {
	if strings.Trim(name, "/.") != name || strings.Contains(name, "/") {
		return nil, fmt.Errorf("%q is not the name of a cluster", name)
	}
	p, err := vfs.NewVFSContext().BuildVfsPath(strings.TrimSuffix(store, "/") + "/" + name + "/config")
	if err != nil {
		return nil, report.Hint("write it as kops does: s3://bucket, gs://bucket, azureblob://container, or another of kops' stores", "state store %s: %w", store, err)
	}
	data, err := file.Await(ctx, func() ([]byte, error) { return p.ReadFile(ctx) }) // not every store looks at ctx
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, fs.ErrNotExist):
		return nil, report.Hint("run kops get clusters to see which there are", "state store %s holds no cluster %s", store, name)
	case err != nil:
		return nil, fmt.Errorf("state store %s: %w", store, err)
	}
	f, err := instancegroups.Parse(p.Path(), data)
	if err != nil {
		return nil, err
	}
	for _, c := range f.Clusters() {
		if c.Name == name {
			return c.Object, nil
		}
	}
	return nil, fmt.Errorf("%s holds no cluster %s", p.Path(), name)
}
