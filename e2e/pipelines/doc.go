// Package pipelines holds the tests of kopshook where its users have it: in kustomize, kpt, Terraform, on GitHub and
// GitLab, in pre-commit, and as a release. What has to build another program first is behind the tag e2e, and
// `make e2e-pipelines` runs it; neither root nor a network besides Go's modules is needed.
package pipelines
