// Package examples holds the recipes that `kopshook new` writes: specs for what nodes often need, with their scripts
// in them.
package examples

import (
	"embed"
	"slices"
	"strings"
)

// recipes are recipes/NAME.yaml. Each begins with the line that names the schema of this clone for editors, then a comment
// whose first line is the summary.
//
//go:embed recipes/*.yaml
var recipes embed.FS

// Starter is the recipe to begin a spec of one's own with.
const Starter = "starter"

// Recipe is a recipe's name and what it is for, in a line.
type Recipe struct {
	Name    string `json:"name"`
	Summary string `json:"summary"`
}

// Names lists the recipes, sorted.
func Names() []string {
	entries, err := recipes.ReadDir("recipes")
	if err != nil {
		panic(err) // the folder is embedded
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(names)
	return names
}

// List lists the recipes, sorted by name.
func List() []Recipe {
	var list []Recipe
	for _, name := range Names() {
		text, _ := Read(name)
		line, _, _ := strings.Cut(text, "\n")
		list = append(list, Recipe{Name: name, Summary: strings.TrimPrefix(line, "# ")})
	}
	return list
}

// Read returns the text of a recipe without its line for editors; false if there is none of that name.
func Read(name string) (string, bool) {
	data, err := recipes.ReadFile("recipes/" + name + ".yaml")
	_, text, _ := strings.Cut(string(data), "\n")
	return text, err == nil
}
