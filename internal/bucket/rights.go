package bucket

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Need is what machines of a role of kops read.
type Need struct {
	Address string // of an object or of a folder of archives, which ends with a slash; or a secret, as a spec names it
	Role    string // as kops' additionalPolicies call it: node, control-plane, apiserver, bastion
	Zone    string // one of the group's zones or subnets, which tells AWS' partition; may be empty
}

type statement struct {
	Effect   string
	Action   []string
	Resource []string
}

// Rights says in the words of each cloud what machines must be allowed, so that they can read what hooks need.
func Rights(needs []Need) string {
	allowed := map[string]map[string][]string{} // AWS: role, action, resources
	others := map[string]bool{}
	for _, n := range needs {
		if action, arn := onAWS(n); arn != "" {
			if allowed[n.Role] == nil {
				allowed[n.Role] = map[string][]string{}
			}
			if !slices.Contains(allowed[n.Role][action], arn) {
				allowed[n.Role][action] = append(allowed[n.Role][action], arn)
			}
		} else if text := elsewhere(n.Address); text != "" {
			others[text] = true
		}
	}
	var b strings.Builder
	if len(allowed) > 0 {
		b.WriteString("# in the Cluster: what machines must be allowed\nspec:\n  additionalPolicies:\n")
		for _, role := range []string{"control-plane", "apiserver", "node", "bastion"} {
			var statements []statement
			for _, action := range slices.Sorted(maps.Keys(allowed[role])) {
				arns := allowed[role][action]
				slices.Sort(arns)
				statements = append(statements, statement{"Allow", []string{action}, arns})
			}
			if len(statements) == 0 {
				continue
			}
			text, err := json.MarshalIndent(statements, "      ", "  ")
			if err != nil {
				panic(err) // strings can be marshalled
			}
			fmt.Fprintf(&b, "    %s: |\n      %s\n", role, text)
		}
	}
	b.WriteString(strings.Join(slices.Sorted(maps.Keys(others)), ""))
	return b.String()
}

// onAWS returns the action and the resource that a role must be allowed, "" where AWS does not have what is needed. A
// secret that a key of the user's own encrypts needs kms:Decrypt too, which the key's policy may give.
func onAWS(n Need) (action, arn string) {
	scheme, name, _ := strings.Cut(n.Address, ":")
	name, _, _ = strings.Cut(name, "#")
	aws := "arn:" + partition(n.Zone)
	isARN := strings.HasPrefix(name, "arn:")
	switch {
	case scheme == "s3":
		arn = aws + ":s3:::" + literally.Replace(strings.TrimPrefix(name, "//"))
		if strings.HasSuffix(arn, "/") {
			arn += "*"
		}
		return "s3:GetObject", arn
	case scheme == "aws-ssm" && isARN:
		return "ssm:GetParameter", name
	case scheme == "aws-ssm":
		return "ssm:GetParameter", aws + ":ssm:*:*:parameter/" + strings.TrimPrefix(name, "/")
	case scheme == "aws-secretsmanager" && isARN:
		return "secretsmanager:GetSecretValue", name
	case scheme == "aws-secretsmanager":
		return "secretsmanager:GetSecretValue", aws + ":secretsmanager:*:*:secret:" + name + "-??????" // which AWS appends
	}
	return "", ""
}

// literally writes text so that IAM sees no wildcard and no variable in it
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html).
var literally = strings.NewReplacer("*", "${*}", "?", "${?}", "$", "${$}")

// elsewhere says what must be allowed on the other clouds, "" where nothing must.
func elsewhere(address string) string {
	scheme, name, _ := strings.Cut(address, ":")
	name, _, _ = strings.Cut(strings.TrimPrefix(name, "//"), "#")
	first, rest, _ := strings.Cut(name, "/")
	second, _, _ := strings.Cut(rest, "/")
	switch scheme {
	case "gs":
		return fmt.Sprintf("The service accounts of the instance groups need roles/storage.objectViewer on gs://%s:\n"+
			"  gcloud storage buckets add-iam-policy-binding gs://%s --role=roles/storage.objectViewer --member=serviceAccount:ACCOUNT\n", first, first)
	case "azureblob":
		return fmt.Sprintf("The managed identities of the scale sets need Storage Blob Data Reader on container %s of %s:\n"+
			"  az role assignment create --role 'Storage Blob Data Reader' --assignee IDENTITY --scope \\\n"+
			"    \"$(az storage account show --name %s --query id -o tsv)/blobServices/default/containers/%s\"\n", second, first, first, second)
	case "gcp-secretmanager":
		project := ""
		if parts := strings.Split(name, "/"); len(parts) > 3 {
			name, project = parts[3], " --project="+parts[1]
		}
		return fmt.Sprintf("The service accounts of the instance groups need roles/secretmanager.secretAccessor on secret %s:\n"+
			"  gcloud secrets add-iam-policy-binding %s%s --role=roles/secretmanager.secretAccessor --member=serviceAccount:ACCOUNT\n", name, name, project)
	case "azure-keyvault":
		return fmt.Sprintf("The managed identities of the scale sets need Key Vault Secrets User on vault %s:\n"+
			"  az role assignment create --role 'Key Vault Secrets User' --assignee IDENTITY --scope \\\n"+
			"    \"$(az keyvault show --name %s --query id -o tsv)\"\n", first, first)
	}
	return ""
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
