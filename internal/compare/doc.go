// Package compare holds docs/compare.md to its word: every test that it names exists and runs.
package compare
