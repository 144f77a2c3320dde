package instancegroups_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"
	"k8s.io/kops/pkg/kopscodecs"

	"kopshook.dev/kopshook/instancegroups"
)

const baseSpec = "x: &base\n  role: Node\n  image: old\n  machineType: a.large\n"

func TestKeysBesideMergeKeysAreReadAsKopsDoes(t *testing.T) {
	for name, in := range map[string]string{
		"a key behind a merge key":  baseSpec + strings.Replace(group, "  role: Node\n%s", "  <<: *base\n  image: new\n", 1),
		"two mappings in one merge": baseSpec + "y: &more {image: more}\n" + strings.Replace(group, "  role: Node\n%s", "  <<: [*more, *base]\n", 1),
		"a part with another name": strings.Replace(group, "%s", "  additionalUserData:\n  - &p\n    name: p.sh\n    type: text/x-shellscript\n"+
			"    content: |\n      #!/bin/sh\n      echo something that is longer than sixty-four bytes, to be taken out\n  - <<: *p\n    name: q.sh\n", 1),
	} {
		t.Run(name, func(t *testing.T) {
			obj, _, err := kopscodecs.Decode([]byte(in), nil)
			if err != nil {
				t.Fatal(err)
			}
			g := parse(t, in).Groups()[0]
			if diff := cmp.Diff(obj.(*kops.InstanceGroup).Spec, g.Object.Spec); diff != "" {
				t.Errorf("kops' reading and ours (-kops +ours)\n%s", diff)
			}
		})
	}
}

func TestGroupsWithMergeKeysAreEdited(t *testing.T) {
	in := baseSpec + strings.Replace(group, "  role: Node\n%s", "  <<: *base\n  image: new\n", 1)
	f := parse(t, in)
	f.Groups()[0].SetUserData([]kops.UserData{{Name: "kopshook-a.sh", Type: "text/x-shellscript", Content: "#!/bin/sh\n"}})
	out, err := f.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	obj, _, err := kopscodecs.Decode(out, nil)
	if err != nil {
		t.Fatal(err)
	}
	spec := obj.(*kops.InstanceGroup).Spec
	if spec.Image != "new" || len(spec.AdditionalUserData) != 1 {
		t.Errorf("kops reads image %q and %d parts of\n%s", spec.Image, len(spec.AdditionalUserData), out)
	}
}

func TestKeysThatAreThereTwiceAreRefusedBesideMergeKeysToo(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"a duplicate":                          {"  <<: *base\n  image: new\n  image: newer\n", `ig.yaml:12: the key "image" is there twice`},
		"a duplicate elsewhere":                {"  <<: *base\n  image: new\n  nodeLabels: {a: b, a: c}\n", `ig.yaml:12: the key "a" is there twice`},
		"a key that the merge key takes away":  {"  image: new\n  <<: *base\n", `ig.yaml:11: kops takes the key "image" from this merge key, not what stands before it`},
		"a duplicate in a mapping without one": {"  role: Node\n  role: Node\n", `ig.yaml:11: the key "role" is there twice`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := instancegroups.Parse("ig.yaml", []byte(baseSpec+strings.Replace(group, "  role: Node\n%s", c.spec, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
