package instancegroups

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
)

// Keys that stand beside a merge key ("<<: *base") and also in what that brings are no duplicates, though yaml.v2's
// strict decoder says so. kops' decoder is not strict, and sets all keys in the order of the file
// (go.yaml.in/yaml/v2 decode.go, decodeS.mapping): so a key behind the merge key wins as YAML says, and one before it
// loses against YAML's rules.

// onlyMerged says whether all that is wrong with a document is keys that stand beside a merge key. Else it returns what
// is, in yaml.v2's words.
func onlyMerged(src []byte, strict error) error {
	if !bytes.Contains(src, []byte("<<")) || !strings.Contains(strict.Error(), " already set in map") {
		return strict
	}
	doc, err := parseYAML(whole(src))
	if err != nil || doc.tree == nil {
		return strict
	}
	var found []string
	checkKeys(doc.tree, &found)
	if len(found) > 0 {
		return errors.New("yaml: unmarshal errors:\n" + strings.Join(found, "\n"))
	}
	return nil
}

const beforeMerge = " is replaced by the merge key behind it"

// checkKeys finds keys that are there twice, and those that a merge key behind them replaces.
func checkKeys(n *yaml.Node, found *[]string) {
	if n.Kind == yaml.MappingNode {
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if seen[key.Value] {
				*found = append(*found, fmt.Sprintf("  line %d: key %q already set in map", key.Line, key.Value))
			}
			seen[key.Value] = true
			if key.ShortTag() != "!!merge" {
				continue
			}
			for _, merged := range mergedKeys(n.Content[i+1]) {
				if seen[merged] {
					*found = append(*found, fmt.Sprintf("  line %d: key %q%s", key.Line, merged, beforeMerge))
				}
			}
		}
	}
	for _, c := range n.Content { // not what aliases stand for: that is written elsewhere
		checkKeys(c, found)
	}
}

// mergedKeys returns the keys that the value of a merge key brings.
func mergedKeys(n *yaml.Node) []string {
	var keys []string
	switch n = resolve(n); n.Kind {
	case yaml.SequenceNode:
		for _, c := range n.Content {
			keys = append(keys, mergedKeys(c)...)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].ShortTag() == "!!merge" {
				keys = append(keys, mergedKeys(n.Content[i+1])...)
				continue
			}
			keys = append(keys, n.Content[i].Value)
		}
	}
	return keys
}
