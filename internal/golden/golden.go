// Package golden says whether tests write their golden files anew. There is one way to have that: make golden.
package golden

import "os"

// Update says whether tests write golden files, and what else is made by tests, instead of comparing them.
func Update() bool { return os.Getenv("KOPSHOOK_UPDATE_GOLDEN") != "" }
