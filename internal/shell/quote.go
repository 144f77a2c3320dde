package shell

import "strings"

// Quote returns s as one word for a POSIX shell.
func Quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Word is Quote, but for what means itself without quotes.
func Word(s string) string {
	odd := func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,", r)
	}
	if s == "" || strings.ContainsFunc(s, odd) {
		return Quote(s)
	}
	return s
}
