// Standin is two Terraform providers, by the name it is started under, so that the HCL of docs/terraform.md runs as it
// stands there: terraform-provider-external runs programs as the real one does, and terraform-provider-kops has a
// resource with additional_user_data blocks, and makes nothing.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	rschema "github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

func main() {
	name := strings.TrimPrefix(filepath.Base(os.Args[0]), "terraform-provider-")
	err := providerserver.Serve(context.Background(), func() provider.Provider { return &standIn{name} },
		providerserver.ServeOpts{Address: "example.com/standin/" + name})
	if err != nil {
		log.Fatal(err)
	}
}

type standIn struct{ name string }

func (p *standIn) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = p.name
}
func (p *standIn) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}
func (p *standIn) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (p *standIn) DataSources(context.Context) []func() datasource.DataSource {
	if p.name != "external" {
		return nil
	}
	return []func() datasource.DataSource{func() datasource.DataSource { return external{} }}
}

func (p *standIn) Resources(context.Context) []func() resource.Resource {
	if p.name != "kops" {
		return nil
	}
	return []func() resource.Resource{func() resource.Resource { return instanceGroup{} }}
}

// external runs a program with the query as JSON on its standard input, and takes a JSON object of strings from its
// standard output when it exits with 0. Standard error is shown only when it does not.
type external struct{}

func (external) Metadata(_ context.Context, _ datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = "external"
}

func (external) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"program":     schema.ListAttribute{ElementType: types.StringType, Required: true},
		"working_dir": schema.StringAttribute{Optional: true},
		"query":       schema.MapAttribute{ElementType: types.StringType, Optional: true},
		"result":      schema.MapAttribute{ElementType: types.StringType, Computed: true},
		"id":          schema.StringAttribute{Computed: true},
	}}
}

type externalState struct {
	Program    []string                `tfsdk:"program"`
	WorkingDir types.String            `tfsdk:"working_dir"`
	Query      map[string]types.String `tfsdk:"query"`
	Result     map[string]string       `tfsdk:"result"`
	ID         types.String            `tfsdk:"id"`
}

func (external) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var state externalState
	var program []string
	var workingDir types.String
	var values map[string]types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("program"), &program)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("working_dir"), &workingDir)...)
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root("query"), &values)...)
	if resp.Diagnostics.HasError() {
		return
	}
	state = externalState{Program: program, WorkingDir: workingDir, Query: values, ID: types.StringValue("-")}
	query := map[string]string{}
	for key, value := range values {
		if !value.IsNull() { // the real one leaves keys without a value out
			query[key] = value.ValueString()
		}
	}
	stdin, err := json.Marshal(query)
	if err != nil {
		resp.Diagnostics.AddError("query", err.Error())
		return
	}
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Dir = workingDir.ValueString()
	cmd.Stdin = bytes.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("program"), "the program failed",
			fmt.Sprintf("%s: %s\n%s", cmd.Path, err, stderr.String()))
		return
	}
	if err := json.Unmarshal(out, &state.Result); err != nil {
		resp.Diagnostics.AddAttributeError(path.Root("program"), "the result is no JSON object of strings", err.Error())
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

type instanceGroup struct{}

func (instanceGroup) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "kops_instance_group"
}

func (instanceGroup) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	text := rschema.StringAttribute{Required: true}
	resp.Schema = rschema.Schema{
		Attributes: map[string]rschema.Attribute{"cluster_name": text, "name": text, "role": text},
		Blocks: map[string]rschema.Block{"additional_user_data": rschema.ListNestedBlock{
			NestedObject: rschema.NestedBlockObject{Attributes: map[string]rschema.Attribute{"name": text, "type": text, "content": text}},
		}},
	}
}

func (instanceGroup) Create(_ context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	resp.State.Raw = req.Plan.Raw
}
func (instanceGroup) Update(_ context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	resp.State.Raw = req.Plan.Raw
}
func (instanceGroup) Read(context.Context, resource.ReadRequest, *resource.ReadResponse)       {}
func (instanceGroup) Delete(context.Context, resource.DeleteRequest, *resource.DeleteResponse) {}
