package lint

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/kops/pkg/apis/kops"

	"kopshook.dev/kopshook/internal/report"
)

// stores are the clouds of which a node brings what has such an address, as the machine itself: machines elsewhere are
// nobody there.
var stores = map[string]kops.CloudProviderID{
	"s3": kops.CloudProviderAWS, "aws-ssm": kops.CloudProviderAWS, "aws-secretsmanager": kops.CloudProviderAWS,
	"gs": kops.CloudProviderGCE, "gcp-secretmanager": kops.CloudProviderGCE,
	"azureblob": kops.CloudProviderAzure, "azure-keyvault": kops.CloudProviderAzure,
}

// CheckCloud looks for what a hook asks another cloud for than that of its machines; "" is a cloud that is not known.
func CheckCloud(h *Hook, cloud kops.CloudProviderID) []Finding {
	if cloud == "" || cloud == kops.CloudProviderMetal { // kops' metal is any machine: one of a cloud, maybe
		return nil
	}
	p := &hookPass{h: h}
	for i, f := range h.Files {
		if f.Secret != "" {
			p.checkStore(h.Pos(fmt.Sprintf("files[%d].secret", i)), cloud, fmt.Sprintf("hook %q: the secret of %q", h.Name, f.Path), f.Secret)
		} else {
			p.checkStore(h.Pos(fmt.Sprintf("files[%d].url", i)), cloud, fmt.Sprintf("hook %q: the url of %q", h.Name, f.Path), f.URLs...)
		}
	}
	if h.Archive && h.ArchiveURL != "" {
		p.checkStore(h.Doc.Pos("spec.archiveURL"), cloud, "archiveURL", h.ArchiveURL) // all hooks of the spec say the same
	}
	return p.found
}

// checkStore reports addresses of which none works in a cloud.
func (p *hookPass) checkStore(pos report.Position, cloud kops.CloudProviderID, what string, addresses ...string) {
	var others []string
	for _, a := range addresses {
		scheme, _, _ := strings.Cut(a, ":")
		store, ok := stores[scheme]
		if !ok || store == cloud {
			return
		}
		if name := cloudName(store); !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return
	}
	p.add("KH088", pos, "", func(f *Finding) {
		f.Message = fmt.Sprintf("%s is for machines of %s: those of %s cannot ask there", what, strings.Join(others, " or "), cloudName(cloud))
	})
}

// cloudName is what people call a cloud.
func cloudName(cloud kops.CloudProviderID) string {
	switch cloud {
	case kops.CloudProviderAWS:
		return "AWS"
	case kops.CloudProviderGCE:
		return "Google Cloud"
	case kops.CloudProviderAzure:
		return "Azure"
	}
	return string(cloud)
}
