package lint

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
)

func TestStoresOfOtherClouds(t *testing.T) {
	const sum = ", sha256: 5f1d31f4ae0a5b8a1c8f9f0e7ad7a4a1e2d14d3b6d1b5f3a0c2b9e8d7c6b5a49"
	secret, url := `hook "a": the secret of "/etc/x" is for machines of `, `hook "a": the url of "/etc/x" is for machines of `
	for _, test := range []struct {
		file, spec, hook string
		cloud            kops.CloudProviderID
		want             string
		effect           Effect
	}{
		{file: "secret: gcp-secretmanager:a", cloud: kops.CloudProviderAWS, want: "KH088 12:15 " + secret + "Google Cloud: those of AWS cannot ask there", effect: HookFails},
		{file: "secret: azure-keyvault:vault/a", cloud: kops.CloudProviderAWS, want: "KH088 12:15 " + secret + "Azure: those of AWS cannot ask there", effect: HookFails},
		{file: "secret: aws-ssm:a", cloud: kops.CloudProviderGCE, want: "KH088 12:15 " + secret + "AWS: those of Google Cloud cannot ask there", effect: HookFails},
		{file: "secret: aws-secretsmanager:a", cloud: kops.CloudProviderHetzner, want: "KH088 12:15 " + secret + "AWS: those of hetzner cannot ask there", effect: HookFails},
		{file: "secret: aws-ssm:a", cloud: kops.CloudProviderGCE, hook: "onFailure: continue", want: "KH088 12:15 " + secret + "AWS: those of Google Cloud cannot ask there"},
		{file: "secret: aws-ssm:a", cloud: kops.CloudProviderGCE, hook: "phase: post-kubelet", want: "KH088 12:15 " + secret + "AWS: those of Google Cloud cannot ask there"},
		{file: "secret: aws-ssm:a", cloud: kops.CloudProviderAWS},
		{file: "secret: gcp-secretmanager:a", cloud: kops.CloudProviderGCE},
		{file: "secret: azure-keyvault:vault/a", cloud: kops.CloudProviderAzure},
		{file: "secret: aws-ssm:a", cloud: ""},
		{file: "secret: aws-ssm:a", cloud: kops.CloudProviderMetal},
		{file: "url: gs://bucket/x" + sum, cloud: kops.CloudProviderAWS, want: "KH088 12:12 " + url + "Google Cloud: those of AWS cannot ask there", effect: HookFails},
		{file: "url: [gs://bucket/x, azureblob://account/box/x]" + sum, cloud: kops.CloudProviderAWS, want: "KH088 12:7 " + url + "Google Cloud or Azure: those of AWS cannot ask there", effect: HookFails},
		{file: "url: [gs://bucket/x, s3://bucket/x]" + sum, cloud: kops.CloudProviderAWS},
		{file: "url: [gs://bucket/x, https://x.example.com/x]" + sum, cloud: kops.CloudProviderAWS},
		{file: "url: http://x.example.com/x" + sum, cloud: kops.CloudProviderGCE},
		{file: "content: gs", cloud: kops.CloudProviderAWS},
		{file: "content: x", spec: "archive: true, archiveURL: gs://bucket/x", cloud: kops.CloudProviderAWS, want: "KH088 5:35 archiveURL is for machines of Google Cloud: those of AWS cannot ask there", effect: HookFails},
		{file: "content: x", spec: "archive: true, archiveURL: gs://bucket/x", cloud: kops.CloudProviderGCE},
		{file: "content: x", spec: "archive: true, archiveURL: https://x.example.com/x", cloud: kops.CloudProviderGCE},
	} {
		spec := "selector: {}"
		if test.spec != "" {
			spec = test.spec + ", selector: {}"
		}
		hook := "attempts: 1"
		if test.hook != "" {
			hook = test.hook
		}
		text := fmt.Sprintf("apiVersion: kopshook.dev/v1alpha1\nkind: InstanceGroupHooks\nmetadata:\n  name: a\nspec: {%s,\n  hooks: [{\n    name: a,\n    %s,\n    script: \"#!/bin/sh\",\n    files: [{\n      path: /etc/x,\n      %s}]}]}\n", spec, hook, test.file)
		var r report.Report
		docs := hookspec.Decode("a.yaml", []byte(text), &r)
		if r.HasErrors() {
			t.Fatalf("%s: %v", text, r.Findings)
		}
		got, effect := "", NoEffect
		for _, h := range docs[0].Resolve(hookspec.Group{}) {
			for _, f := range CheckCloud(&Hook{Resolved: &h}, test.cloud) {
				got, effect = fmt.Sprintf("%s %d:%d %s", f.Code, f.Line, f.Col, f.Message), f.Effect
			}
		}
		if diff := cmp.Diff([]any{test.want, test.effect}, []any{got, effect}); diff != "" {
			t.Errorf("%s, %s, %s: %s", test.file, test.spec, test.cloud, diff)
		}
	}
}
