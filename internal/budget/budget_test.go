package budget

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/cloudinit"
	"kopshook.dev/kopshook/internal/report"
)

// text is n bytes that compress to about an eighth.
func text(n int) []byte {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "echo line number %d of a script that says much the same\n", i)
	}
	return []byte(b.String()[:n-1] + "\n")
}

// noise is n bytes that do not compress.
func noise(n int) []byte {
	b := make([]byte, n)
	state := uint32(1)
	for i := range b {
		state = state*1664525 + 1013904223
		b[i] = byte(state >> 24)
	}
	return b
}

// line is a script of n bytes on one line: what it takes in YAML grows as it does.
func line(n int) []byte {
	return []byte("#!/bin/sh\n#" + strings.Repeat("x", n-12) + "\n")
}

func hook(name string, script []byte, files ...generator.File) generator.Hook {
	return generator.Hook{Name: name, Phase: generator.PreNodeup, Scripts: []generator.Script{{Name: "script", Content: script}},
		Timeout: 600e9, Attempts: 1, Files: files}
}

func input(hooks ...generator.Hook) Input {
	return Input{
		Cloud: kops.CloudProviderAWS, Role: "Node",
		Group: generator.InstanceGroup{Cluster: "c.example.com", Name: "nodes", Role: "Node"}, Runtime: "v1", Hooks: hooks,
	}
}

var node = scriptOf("Node", "c.example.com", false)

func check(t *testing.T, in Input) *Result {
	t.Helper()
	var err error
	if in.Parts, err = generator.Generate(in.Group, in.Runtime, in.Hooks); err != nil {
		t.Fatal(err)
	}
	r, err := Check(in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSizesAreThoseOfTheMessage(t *testing.T) {
	in := input(hook("a", text(500)), hook("b", text(3000)))
	in.Theirs = []generator.UserData{{Name: "mine.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\ntrue\n"}}
	parts, err := generator.Generate(in.Group, in.Runtime, in.Hooks)
	if err != nil {
		t.Fatal(err)
	}
	var all []cloudinit.Part
	for _, p := range append(in.Theirs, parts...) {
		all = append(all, cloudinit.Part(p))
	}
	in.Base = text(5031)
	r := check(t, in)
	if want := len(cloudinit.Message(in.Base, "Node", all)); r.Low != want || r.High != want || !r.Exact {
		t.Errorf("%d to %d, want %d", r.Low, r.High, want)
	}
	sum := 0
	for _, it := range r.Items {
		sum += it.Bytes
	}
	plain := in
	plain.Plain = true
	p := check(t, plain)
	if want := len(cloudinit.TextMessage(in.Base, "Node", all)); p.Low != want || p.High != want {
		t.Errorf("with plain line ends: %d to %d, want %d", p.Low, p.High, want)
	}
	if got, want := p.Items[1].Bytes, r.Items[1].Bytes-7; got != want { // a part has seven lines of framing
		t.Errorf("with plain line ends %s has %d bytes, want %d", p.Items[1].Name, got, want)
	}
	// what is left is the head and the tail of the message
	if rest := r.High - sum; rest < 50 || rest > 120 {
		t.Errorf("items are %d of %d bytes", sum, r.High)
	}
	in.Base = nil
	r = check(t, in)
	if r.Exact || r.High-r.Low != node.high-node.low {
		t.Errorf("estimated: %d to %d", r.Low, r.High)
	}
	in.Base, in.Hooks, in.Theirs = text(5031), nil, nil
	if r := check(t, in); r.High != len(in.Base) || r.Items[0].Bytes != len(in.Base) {
		t.Errorf("kops' script alone is sent as it is: %+v", r)
	}
	in.Base = nil
	in.Role, in.Group.Role = "Bastion", "Bastion"
	in.Hooks = []generator.Hook{{Name: "a", Phase: generator.Boot, EveryBoot: true, Scripts: []generator.Script{{Name: "script", Content: []byte("#!/bin/sh\n")}}}}
	if r := check(t, in); !r.Exact || r.High > 1500 {
		t.Errorf("a bastion has no script of kops': %+v", r)
	}
}

func TestCompressedSizesComeTrue(t *testing.T) {
	in := input(hook("a", text(500)), hook("b", text(3000)), hook("c", noise(8000)))
	r := check(t, in)
	var names []string
	for _, it := range r.Items {
		if it.Compressed > 0 {
			names = append(names, it.Hook)
		}
	}
	if diff := cmp.Diff([]string{"a", "b"}, names); diff != "" {
		t.Fatal(diff)
	}
	in.Hooks = compressed(in.Hooks, names)
	small := check(t, in)
	for i, it := range r.Items {
		want := it.Bytes
		if it.Compressed > 0 {
			want = it.Compressed
		}
		if small.Items[i].Bytes != want {
			t.Errorf("%s: %d bytes, want %d", it.Name, small.Items[i].Bytes, want)
		}
		if small.Items[i].Compressed != 0 {
			t.Errorf("%s could be compressed twice", it.Name)
		}
	}
}

func TestVerdicts(t *testing.T) {
	// what is beside the script of hook a
	rest := check(t, input(hook("a", line(1000)))).Low - 1000 - node.low
	room := 16384 - rest
	for name, c := range map[string]struct {
		cloud kops.CloudProviderID
		bytes int
		proxy bool
		base  []byte
		want  Verdict
	}{
		"far below":                                    {"aws", 1000, false, nil, Fits},
		"below the highest estimate":                   {"aws", room - node.high - 100, false, nil, Fits},
		"above the highest estimate":                   {"aws", room - node.high + 100, false, nil, MayNotFit},
		"at the limit by the highest estimate":         {"aws", room - node.high, false, nil, Fits},
		"a byte above it":                              {"aws", room - node.high + 1, false, nil, MayNotFit},
		"at the limit by the lowest estimate":          {"aws", room - node.low, false, nil, MayNotFit},
		"a byte above that":                            {"aws", room - node.low + 1, false, nil, TooLarge},
		"above the lowest estimate":                    {"aws", room - node.low + 200, false, nil, TooLarge},
		"a proxy takes more":                           {"aws", room - node.high - 100, true, nil, MayNotFit},
		"exactly the limit":                            {"aws", 0, false, line(16384 - check(t, exactly(hook("a", line(1000)))).High + 1), Fits},
		"a byte more":                                  {"aws", 0, false, line(16384 - check(t, exactly(hook("a", line(1000)))).High + 2), TooLarge},
		"other clouds take more":                       {"hetzner", 12000, false, nil, Fits},
		"but not everything":                           {"hetzner", 40000, false, nil, TooLarge},
		"of a cloud that is not known, AWS is assumed": {"", 12000, false, nil, MayNotFit},
		"but Google Cloud may be meant":                {"", 200_000, false, nil, MayNotFit},
		"no cloud takes this":                          {"", 300_000, false, nil, TooLarge},
		"OpenStack counts base64":                      {"openstack", 48_000, false, nil, TooLarge},
		"Azure may count base64":                       {"azure", 48_000, false, nil, MayNotFit},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(hook("a", line(max(c.bytes, 1000))))
			in.Cloud, in.Proxy, in.Base = c.cloud, c.proxy, c.base
			r := check(t, in)
			if r.Verdict != c.want {
				t.Errorf("%s: %d to %d of %d", r.Verdict, r.Low, r.High, r.Limit.Bytes)
			}
			if (r.Remedy == nil) != (r.Verdict == Fits) {
				t.Errorf("remedy %+v", r.Remedy)
			}
			message, hint := r.Message("nodes")
			if (message == "") != (r.Verdict == Fits) || (hint == "") != (r.Verdict == Fits) {
				t.Errorf("message %q, hint %q", message, hint)
			}
			if strings.Contains(hint, "give the Cluster too") != (c.cloud == "" && message != "") {
				t.Errorf("hint %q of cloud %q", hint, c.cloud)
			}
			if heads := r.Table()[0]; strings.Contains(heads, "compressed") != slices.ContainsFunc(r.Items, func(it Item) bool { return it.Compressed > 0 }) {
				t.Errorf("the table begins with %q", heads)
			}
		})
	}
}

func exactly(hooks ...generator.Hook) Input {
	in := input(hooks...)
	in.Base = []byte("\n")
	return in
}

func TestRemedies(t *testing.T) {
	model := generator.File{Path: "/opt/model", Mode: 0o644, Owner: "root:root", Content: noise(9000)}
	small := generator.File{Path: "/etc/small", Mode: 0o644, Owner: "root:root", Content: noise(100)}
	many := func(n int) (hooks []generator.Hook) {
		for i := range n {
			hooks = append(hooks, hook(fmt.Sprintf("hook%02d", i), text(500)))
		}
		return hooks
	}
	for name, c := range map[string]struct {
		hooks    []generator.Hook
		compress []string
		archive  bool
		move     []string
		bucket   bool
	}{
		"the one hook that saves enough": {[]generator.Hook{hook("a", text(1000)), hook("b", text(5000)), hook("c", text(500))}, []string{"b"}, false, nil, false},
		"two when one is not enough":     {[]generator.Hook{hook("a", text(4000)), hook("b", text(4500)), hook("c", text(800))}, []string{"b", "a"}, false, nil, false},
		"equal ones by name":             {[]generator.Hook{hook("b", text(3000)), hook("a", text(3000))}, []string{"a"}, false, nil, false},
		"what does not compress moves":   {[]generator.Hook{hook("a", text(3000), model, small)}, nil, true, []string{"/opt/model"}, false},
		"what is left goes to a bucket":  {[]generator.Hook{hook("a", noise(9000), small)}, nil, true, nil, true},
		"many small ones are packed":     {many(14), nil, true, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := check(t, input(c.hooks...))
			if r.Remedy == nil {
				t.Fatalf("it fits: %d", r.High)
			}
			var move []string
			for _, m := range r.Remedy.Move {
				move = append(move, m.Path)
			}
			if diff := cmp.Diff(c.compress, r.Remedy.Compress); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.move, move); diff != "" {
				t.Error(diff)
			}
			if r.Remedy.Archive != c.archive {
				t.Errorf("archive %v", r.Remedy.Archive)
			}
			if r.Remedy.Bucket != c.bucket || c.bucket && r.Remedy.Writable() {
				t.Errorf("bucket %v, writable %v", r.Remedy.Bucket, r.Remedy.Writable())
			}
			if !r.Remedy.Suffices || r.Remedy.High > r.Limit.Bytes {
				t.Errorf("suffices %v with %d", r.Remedy.Suffices, r.Remedy.High)
			}
			// a smaller set does not do
			if n := len(r.Remedy.Compress); n > 0 && len(r.Remedy.Move) == 0 {
				for drop := range r.Remedy.Compress {
					less := append(append([]string{}, r.Remedy.Compress[:drop]...), r.Remedy.Compress[drop+1:]...)
					in := input(c.hooks...)
					in.Hooks = compressed(in.Hooks, append(less, "none"))
					if got := check(t, in); got.Verdict == Fits {
						t.Errorf("%v alone does", less)
					}
				}
			}
		})
	}
}

func TestTableAndMessage(t *testing.T) {
	in := input(hook("nvidia-driver", text(9000)), hook("efa", text(2000)))
	in.Base = text(5031)
	in.Theirs = []generator.UserData{{Name: "mine.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\ntrue\n"}}
	r := check(t, in)
	message, hint := r.Message("gpu")
	got := []string{message, hint}
	for _, line := range r.Table() {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	size := func(name string) string {
		for _, it := range r.Items {
			if it.Hook == name || it.Name == name {
				if it.Compressed > 0 {
					return report.Thousands(it.Bytes) + " " + report.Thousands(it.Compressed)
				}
				return report.Thousands(it.Bytes)
			}
		}
		return "?"
	}
	want := []string{
		fmt.Sprintf("instance group \"gpu\": %s bytes of user data do not fit: AWS takes 16,384", report.Thousands(r.High)),
		fmt.Sprintf("compress: true for nvidia-driver (`kopshook fit -w` writes it) makes it %s bytes", report.Thousands(r.Remedy.High)),
		"part bytes compressed",
		"nvidia-driver " + size("nvidia-driver"),
		"nodeup.sh, of kops " + size("nodeup.sh"),
		"efa " + size("efa"),
		"kopshook-001-runtime.sh " + size("kopshook-001-runtime.sh"),
		"kopshook-000-gate.sh " + size("kopshook-000-gate.sh"),
		"mine.sh " + size("mine.sh"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCloudOf(t *testing.T) {
	ig := func(image string, change func(*kops.InstanceGroupSpec)) *kops.InstanceGroup {
		g := &kops.InstanceGroup{Spec: kops.InstanceGroupSpec{Image: image}}
		if change != nil {
			change(&g.Spec)
		}
		return g
	}
	hetzner := &kops.Cluster{Spec: kops.ClusterSpec{CloudProvider: kops.CloudProviderSpec{Hetzner: &kops.HetznerSpec{}}}}
	price := "0.1"
	for name, c := range map[string]struct {
		ig      *kops.InstanceGroup
		cluster *kops.Cluster
		want    kops.CloudProviderID
	}{
		"the cluster says":        {ig("ami-0123", nil), hetzner, kops.CloudProviderHetzner},
		"an AMI":                  {ig("ami-0123", nil), nil, kops.CloudProviderAWS},
		"an account's image":      {ig("099720109477/ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-20250516", nil), nil, kops.CloudProviderAWS},
		"an SSM parameter":        {ig("ssm:/aws/service/x", nil), nil, kops.CloudProviderAWS},
		"a field that AWS has":    {ig("", func(s *kops.InstanceGroupSpec) { s.MaxPrice = &price }), nil, kops.CloudProviderAWS},
		"an image of Google's":    {ig("ubuntu-os-cloud/ubuntu-2404-noble-amd64-v20250516", nil), nil, kops.CloudProviderGCE},
		"an image of Azure's":     {ig("Canonical:ubuntu-24_04-lts:server-gen1:24.04.202505160", nil), nil, kops.CloudProviderAzure},
		"an image without a tell": {ig("ubuntu-24.04", nil), nil, ""},
		"nothing":                 {nil, nil, ""},
	} {
		if got := CloudOf(c.ig, c.cluster); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
