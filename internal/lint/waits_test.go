package lint

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHooksThatTakeLongerThanSomebodyWaits: who waits, and for how long, is in the manifests; kops' command waits always.
func TestHooksThatTakeLongerThanSomebodyWaits(t *testing.T) {
	const scaled, pool = "  clusterAutoscaler: {enabled: true%s}\n", "  warmPool: {enableLifecycleHook: true}\n"
	kops := "KH092 the kubelet of \"nodes\" may wait %s for hooks, most of it for a, and kops rolling-update gives up after 15m (--validation-timeout)"
	autoscaler := "KH091 the kubelet of \"nodes\" may wait %s for hooks, most of it for a, and cluster-autoscaler deletes a machine that is not a node and asks for another after %s (spec.clusterAutoscaler.maxNodeProvisionTime)"
	warm := "KH085 nodeup of \"nodes\" may wait %s for hooks, most of it for a, and the warm pool terminates a machine that is not ready and launches another after 10m (spec.warmPool.lifecycleHookTimeout)"
	for _, c := range []struct {
		name, cluster, group string
		phase                string
		attempts             int
		timeout              string
		want                 []string
	}{
		{"as long as all wait", fmt.Sprintf(scaled, ""), "", "pre-nodeup", 1, "15m", nil},
		{"a second longer", fmt.Sprintf(scaled, ""), "", "pre-kubelet", 1, "901s", []string{fmt.Sprintf(autoscaler, "15m1s", "15m"), fmt.Sprintf(kops, "15m1s")}},
		{"nothing waits for it", fmt.Sprintf(scaled, ""), "", "post-nodeup", 1, "1h", nil},
		{"no autoscaler", "", "", "pre-nodeup", 2, "10m", []string{fmt.Sprintf(kops, "20m10s")}},
		{"an autoscaler that is off", strings.Replace(fmt.Sprintf(scaled, ""), "true", "false", 1), "", "pre-nodeup", 2, "10m", []string{fmt.Sprintf(kops, "20m10s")}},
		{"an autoscaler that waits longer", fmt.Sprintf(scaled, ", maxNodeProvisionTime: 21m"), "", "pre-nodeup", 2, "10m", []string{fmt.Sprintf(kops, "20m10s")}},
		{"an autoscaler that waits less", fmt.Sprintf(scaled, ", maxNodeProvisionTime: 5m"), "", "pre-nodeup", 1, "10m", []string{fmt.Sprintf(autoscaler, "10m", "5m")}},
		{"a group that is not scaled", fmt.Sprintf(scaled, ""), "  autoscale: false\n", "pre-nodeup", 2, "10m", []string{fmt.Sprintf(kops, "20m10s")}},
		{"a group of a fixed size", fmt.Sprintf(scaled, ""), "fixed", "pre-nodeup", 2, "10m", []string{fmt.Sprintf(kops, "20m10s")}},
		{"a group that may grow", fmt.Sprintf(scaled, ""), "", "pre-nodeup", 2, "10m", []string{fmt.Sprintf(autoscaler, "20m10s", "15m"), fmt.Sprintf(kops, "20m10s")}},
		{"a warm pool", "", pool, "pre-nodeup", 1, "601s", []string{fmt.Sprintf(warm, "10m1s")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster := "apiVersion: kops.k8s.io/v1alpha2\nkind: Cluster\nmetadata: {name: main.example.com}\nspec:\n  cloudProvider: aws\n" + c.cluster + "---\n"
			text := groupWith(ubuntu, strings.TrimPrefix(c.group, "fixed"))
			if c.group == "fixed" {
				text = strings.Replace(text, "maxSize: 2", "maxSize: 1", 1)
			}
			group := strings.Replace(text, "metadata:\n", "metadata:\n  labels: {kops.k8s.io/cluster: main.example.com}\n", 1)
			hook := "---\n" + hookOf(c.phase, []string{"exec /opt/x"}, fmt.Sprintf("attempts: %d", c.attempts), "timeout: "+c.timeout, "retryDelay: 10s")
			var got []string
			for _, f := range lintExample(t, cluster+group+hook) {
				got = append(got, f.Code+" "+f.Message)
			}
			slices.Sort(got)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
