package bucket

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Need is an archive's place and a role of kops that reads it.
type Need struct {
	URL  string
	Role string // as kops' additionalPolicies call it: node, control-plane, apiserver, bastion
	Zone string // one of the group's zones or subnets, which tells AWS' partition; may be empty
}

type statement struct {
	Effect   string
	Action   []string
	Resource []string
}

// Rights says in the words of each cloud what machines must be allowed, so that they can read what was pushed.
func Rights(needs []Need) string {
	var b strings.Builder
	byRole := map[string][]string{}
	others := map[string]bool{}
	for _, n := range needs {
		scheme, place, _ := strings.Cut(n.URL, "://")
		bucket, folder, _ := strings.Cut(place+"/", "/")
		switch scheme {
		case "s3":
			arn := "arn:" + partition(n.Zone) + ":s3:::" + bucket + "/" + folder + "*"
			if !slices.Contains(byRole[n.Role], arn) {
				byRole[n.Role] = append(byRole[n.Role], arn)
			}
		case "gs":
			others[fmt.Sprintf("The service accounts of the instance groups need roles/storage.objectViewer on gs://%s:\n"+
				"  gcloud storage buckets add-iam-policy-binding gs://%s --role=roles/storage.objectViewer --member=serviceAccount:ACCOUNT\n", bucket, bucket)] = true
		case "azureblob":
			container, _, _ := strings.Cut(folder, "/")
			others[fmt.Sprintf("The managed identities of the scale sets need Storage Blob Data Reader on container %s of %s:\n"+
				"  az role assignment create --role 'Storage Blob Data Reader' --assignee IDENTITY --scope \\\n"+
				"    \"$(az storage account show --name %s --query id -o tsv)/blobServices/default/containers/%s\"\n", container, bucket, bucket, container)] = true
		}
	}
	if len(byRole) > 0 {
		b.WriteString("# in the Cluster: what machines must be allowed\nspec:\n  additionalPolicies:\n")
		for _, role := range []string{"control-plane", "apiserver", "node", "bastion"} {
			arns := byRole[role]
			if len(arns) == 0 {
				continue
			}
			slices.Sort(arns)
			text, err := json.MarshalIndent([]statement{{"Allow", []string{"s3:GetObject"}, arns}}, "      ", "  ")
			if err != nil {
				panic(err) // strings can be marshalled
			}
			fmt.Fprintf(&b, "    %s: |\n      %s\n", role, text)
		}
	}
	texts := []string{}
	for text := range others {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	b.WriteString(strings.Join(texts, ""))
	return b.String()
}

// partition of AWS that a zone (us-gov-west-1a) or a region is in.
func partition(zone string) string {
	switch {
	case strings.HasPrefix(zone, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(zone, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}
