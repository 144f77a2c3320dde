package addon

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"kopshook.dev/kopshook/generator"
	"kopshook.dev/kopshook/internal/hookspec"
	"kopshook.dev/kopshook/internal/report"
	"kopshook.dev/kopshook/internal/shell"
)

// maxConfigMap is what the values of a ConfigMap may have together, in bytes
// (k8s.io/kubernetes pkg/apis/core/validation/validation.go, ValidateConfigMap).
const maxConfigMap = 1 << 20

// sumsFile lists the other files of a hook, in the order in which its scripts run, as sha256sum(1) does. Its own
// checksum is the hook's: that of what runs, not of how often it is tried.
const sumsFile = "SHA256SUMS"

// hookFile is a file of a hook, under its key in the ConfigMap.
type hookFile struct {
	key     string
	content []byte
	field   string // of the hook, that it comes from
}

// hookFiles returns the files of a hook, SHA256SUMS first.
func hookFiles(h *generator.Hook) []hookFile {
	var files []hookFile
	for _, s := range h.Scripts {
		f := hookFile{"script." + s.Name, s.Content, "source"}
		if len(h.Scripts) == 1 && s.Name == "script" {
			f.key, f.field = "script", "script"
		}
		files = append(files, f)
	}
	if h.Verify != nil {
		files = append(files, hookFile{"verify", h.Verify, "verify"})
	}
	if len(h.Env) > 0 {
		files = append(files, hookFile{"env", envFile(h.Env), "env"})
	}
	var sums strings.Builder
	for _, f := range files {
		fmt.Fprintf(&sums, "%s  %s\n", sum(f.content), f.key)
	}
	return append([]hookFile{{sumsFile, []byte(sums.String()), ""}}, files...)
}

// envFile adds variables to a shell's arguments, which are those of env(1).
func envFile(env map[string]string) []byte {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&b, "set -- \"$@\" %s=%s\n", name, shell.Quote(env[name]))
	}
	return []byte(b.String())
}

// checkFiles reports files that no ConfigMap can hold.
func (b *builder) checkFiles(h *hookspec.Resolved, files []hookFile) {
	for _, f := range files {
		name := strings.TrimPrefix(f.key, "script.")
		field := f.field
		if field == "script" && h.Said.Source != nil {
			field = "source"
		}
		if len(validation.IsConfigMapKey(f.key)) > 0 {
			b.r.Errorf(h.Pos(field), h.FieldPath(field), "rename it: letters, digits, dots, dashes and underscores are fine, 246 of them at most",
				"the name of script %q cannot be a key of a ConfigMap", name)
		}
		if len(f.content) > maxConfigMap {
			what := fmt.Sprintf("%s of hook %q", name, h.Name)
			if f.field == "source" {
				what = fmt.Sprintf("script %q of hook %q", name, h.Name)
			}
			b.r.Errorf(h.Pos(field), h.FieldPath(field), "have the script download what is large, or bring it in an image",
				"%s has %s bytes, more than the %s that a ConfigMap holds", what, report.Thousands(len(f.content)), report.Thousands(maxConfigMap))
		}
	}
}

// configMaps spreads the files over as many ConfigMaps as they take, in order. They are named by what they hold and never
// change, so that a pod finds what its template speaks of, and `kubectl rollout undo` what that one spoke of; a kubelet
// does not watch them. Names cannot meet: all end with a hash, and with two more words where there are parts.
func (b *builder) configMaps(name, spec string, files []hookFile) []*corev1.ConfigMap {
	var out []*corev1.ConfigMap
	size := 0
	for _, f := range files {
		if len(out) == 0 || size+len(f.content) > maxConfigMap {
			part := name
			if len(out) > 0 {
				part = fmt.Sprintf("%s.part.%d", name, len(out)+1)
			}
			m := b.configMap(part, spec)
			m.Immutable = new(true)
			out = append(out, m)
			size = 0
		}
		put(out[len(out)-1], f.key, f.content)
		size += len(f.content)
	}
	return out
}

func (b *builder) configMap(name, spec string) *corev1.ConfigMap {
	return &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: b.meta(name, spec)}
}

// put adds a file: as text, that reviewers read, where it is text.
func put(c *corev1.ConfigMap, key string, content []byte) {
	if !isText(content) {
		if c.BinaryData == nil {
			c.BinaryData = map[string][]byte{}
		}
		c.BinaryData[key] = content
		return
	}
	if c.Data == nil {
		c.Data = map[string]string{}
	}
	c.Data[key] = string(content)
}

// isText says whether content comes out of every YAML parser as it went in: UTF-8 without characters that are not
// printable, or that YAML 1.1 takes for line breaks.
func isText(content []byte) bool {
	if !utf8.Valid(content) {
		return false
	}
	for _, r := range string(content) {
		switch {
		case r == '\n' || r == '\t':
		case r < 0x20, r >= 0x7f && r <= 0x9f, r == 0x2028, r == 0x2029, r == 0xfeff, r >= 0xfff0 && r <= 0xffff:
			return false
		}
	}
	return true
}
