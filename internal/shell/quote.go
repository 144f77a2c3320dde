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

// File is the name of a file as a word of a command, which takes none for an option.
func File(name string) string {
	if strings.HasPrefix(name, "-") && name != "-" {
		name = "./" + name
	}
	return Word(name)
}
