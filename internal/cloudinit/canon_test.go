//go:build e2e

package cloudinit

import (
	"fmt"
	"slices"
	"strings"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// canon is a text for each value, equal to that of the driver's canon for an equal value in Python.
func canon(v *pyyaml.Value) string {
	if v == nil {
		return "N"
	}
	switch v.Kind {
	case pyyaml.Null:
		return "N"
	case pyyaml.Bool:
		return v.Repr()[:1]
	case pyyaml.Int:
		return "i" + v.Int.String()
	case pyyaml.Float:
		return "f" + v.Repr()
	case pyyaml.Str:
		return fmt.Sprintf("s%x", v.Str)
	case pyyaml.Bytes:
		return fmt.Sprintf("b%x", v.Str)
	case pyyaml.Date, pyyaml.DateTime:
		return "d" + v.Repr()
	}
	var items []string
	for _, i := range v.Items {
		items = append(items, canon(i))
	}
	for _, e := range v.Entries {
		if v.Kind == pyyaml.Set {
			items = append(items, canon(e.Key))
		} else {
			items = append(items, canon(e.Key)+":"+canon(e.Value))
		}
	}
	brackets := map[pyyaml.Kind]string{pyyaml.List: "[]", pyyaml.Tuple: "()", pyyaml.Dict: "{}", pyyaml.Set: "<>"}[v.Kind]
	if v.Kind == pyyaml.Set {
		slices.Sort(items)
	}
	return brackets[:1] + strings.Join(items, ",") + brackets[1:]
}
