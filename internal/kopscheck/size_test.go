package kopscheck

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"k8s.io/kops/pkg/apis/kops"
	bootconfig "k8s.io/kops/pkg/apis/nodeup"
	"k8s.io/kops/pkg/assets"
	"k8s.io/kops/pkg/model/resources"
	"k8s.io/kops/upup/pkg/fi"
	"k8s.io/kops/util/pkg/architectures"
	"k8s.io/kops/util/pkg/hashing"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/budget"
)

// authority is a certificate authority such as kops makes: RSA 2048, with the subject kubernetes-ca.
func authority(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: new(big.Int).Lsh(big.NewInt(1), 94), Subject: pkix.Name{CommonName: "kubernetes-ca"},
		NotBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2036, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// bootstrap is the script that kops writes for a group.
func bootstrap(t *testing.T, cloud kops.CloudProviderSpec, role kops.InstanceGroupRole, name, authorities string, proxy *kops.EgressProxySpec) []byte {
	t.Helper()
	cluster := &kops.Cluster{Spec: kops.ClusterSpec{CloudProvider: cloud}}
	cluster.Name = name
	cluster.Spec.Networking.EgressProxy = proxy
	ig := &kops.InstanceGroup{Spec: kops.InstanceGroupSpec{Role: role}}
	boot := &bootconfig.BootConfig{
		CloudProvider: cluster.GetCloudProvider(), ClusterName: name, InstanceGroupName: "nodes-" + name[:5], InstanceGroupRole: role,
		NodeupConfigHash: strings.Repeat("A", 43) + "=",
	}
	if role == kops.InstanceGroupRoleNode {
		boot.ConfigServer = &bootconfig.ConfigServerOptions{Servers: []string{"https://kops-controller.internal." + name + ":3988/"}, CACertificates: authorities}
	} else {
		base := "s3://state-store-of-" + name[:5] + "/" + name
		boot.ConfigBase = &base
	}
	hash := hashing.MustFromString(strings.Repeat("ab", 32))
	asset := func(arch string) *assets.MirroredAsset {
		return &assets.MirroredAsset{Hash: hash, Locations: []string{"https://artifacts.k8s.io/binaries/kops/1.36.2/linux/" + arch + "/nodeup"}}
	}
	s := &resources.NodeUpScript{BootConfig: boot, CloudProvider: string(cluster.GetCloudProvider()), NodeUpAssets: map[architectures.Architecture]*assets.MirroredAsset{
		architectures.ArchitectureAmd64: asset("amd64"), architectures.ArchitectureArm64: asset("arm64"),
	}}
	s.WithEnvironmentVariables(cluster, ig)
	s.WithProxyEnv(cluster)
	s.WithSysctls()
	res, err := s.Build()
	if err != nil {
		t.Fatal(err)
	}
	b, err := fi.ResourceAsBytes(res)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestEstimatesHoldAgainstKops measures kops' own script, and compares it with what the budget expects where it does
// not know it.
func TestEstimatesHoldAgainstKops(t *testing.T) {
	clouds := map[string]kops.CloudProviderSpec{
		"aws": {AWS: &kops.AWSSpec{}}, "gce": {GCE: &kops.GCESpec{}}, "azure": {Azure: &kops.AzureSpec{}},
		"hetzner": {Hetzner: &kops.HetznerSpec{}}, "openstack": {Openstack: &kops.OpenstackSpec{}},
	}
	proxy := &kops.EgressProxySpec{HTTPProxy: kops.HTTPProxy{Host: "proxy.corp.example.com", Port: 3128},
		ProxyExcludes: "127.0.0.1,localhost,api.k.example.com,k.example.com,100.64.0.1,172.20.0.0/16,169.254.169.254"}
	one := authority(t)
	hook := generator.Hook{Name: "a", Phase: generator.PreNodeup, Attempts: 1, Timeout: time.Minute,
		Scripts: []generator.Script{{Name: "script", Content: []byte("#!/bin/sh\ntrue\n")}}}
	size := func(t *testing.T, in budget.Input) *budget.Result {
		t.Helper()
		var err error
		if in.Parts, err = generator.Generate(in.Group, in.Runtime, in.Hooks); err != nil {
			t.Fatal(err)
		}
		r, err := budget.Check(in)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for cloud, spec := range clouds {
		for _, role := range []kops.InstanceGroupRole{kops.InstanceGroupRoleNode, kops.InstanceGroupRoleControlPlane, kops.InstanceGroupRoleAPIServer} {
			for _, name := range []string{"k.example.com", strings.Repeat("long.", 16) + "example.com"} {
				for _, p := range []*kops.EgressProxySpec{nil, proxy} {
					t.Run(fmt.Sprintf("%s %s %s proxy %v", cloud, role, name[:5], p != nil), func(t *testing.T) {
						in := budget.Input{Role: string(role), Proxy: p != nil, Runtime: "v1", Hooks: []generator.Hook{hook},
							Group: generator.InstanceGroup{Cluster: name, Name: "nodes", Role: string(role)}}
						estimated := size(t, in)
						in.Base = bootstrap(t, spec, role, name, one, p)
						exact := size(t, in)
						if exact.High < estimated.Low || exact.High > estimated.High {
							t.Errorf("%d bytes, estimated %d to %d", exact.High, estimated.Low, estimated.High)
						}
						in.Base, in.Group.Cluster = nil, ""
						if e := size(t, in); p == nil && (exact.High < e.Low || name[0] == 'k' && exact.High > e.High) {
							t.Errorf("%d bytes, estimated %d to %d without the cluster's name", exact.High, e.Low, e.High)
						}
					})
				}
			}
		}
	}
	// docs/size.md says how much a second authority takes
	worker := kops.InstanceGroupRoleNode
	more := len(bootstrap(t, clouds["aws"], worker, "k.example.com", one+authority(t), nil)) - len(bootstrap(t, clouds["aws"], worker, "k.example.com", one, nil))
	if more < 1100 || more > 1200 {
		t.Errorf("a second authority takes %d bytes", more)
	}
}
