//go:build e2e

package e2e

import (
	"testing"

	"k8s.io/kops/pkg/apis/kops"
)

func mutate(t testing.TB, parts []kops.UserData) []kops.UserData { return parts }
