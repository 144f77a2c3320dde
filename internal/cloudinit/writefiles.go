package cloudinit

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"kopshook.dev/kopshook/internal/cloudinit/pyyaml"
)

// writeFiles makes the files of write_files, those that say defer or those that do not
// (cloudinit/config/cc_write_files.py:163). The first entry that fails drops all behind it.
func (r *reader) writeFiles(deferred bool) {
	v := r.config("write_files")
	if v == nil || !r.Version.has(filesCanBeDeferred) && (deferred || !v.Truth()) {
		return
	}
	what, stage := "write_files", Init
	if deferred {
		what, stage = "write_files_deferred", Final
	}
	stop := &r.filesStop[0]
	if deferred {
		stop = &r.filesStop[1]
	}
	entries, err := r.filesOf(v, deferred)
	if err != nil {
		*stop = true
		if !deferred { // the second module fails in the same way
			r.lose(Loss{Kind: LostEntry, Name: r.nameOf(v.Part), Path: "write_files", What: "all of write_files", Why: err.Error(), At: r.locate(v)})
		}
		return
	}
	if r.fs == nil {
		r.fs = newFiles()
	}
	for i, e := range entries {
		lost := r.entryLoss(e)
		file, content, err := r.writeFile(e)
		if err == nil && file == nil {
			lost.Why = "it has no path"
			if e.Get("path").Truth() {
				lost.Why = "it has no content that could be loaded"
			}
			r.lose(lost)
			continue
		}
		if file != nil {
			r.result.Runs = append(r.result.Runs, Run{Stage: stage, What: what, Name: file.Path, Content: content, File: file, At: r.locate(e)})
		}
		if err == nil {
			continue
		}
		*stop = true
		lost.Why = err.Error() + ", and an entry that fails stops write_files"
		if lacks := (*noAccount)(nil); errors.As(err, &lacks) {
			lost.User, lost.Group = lacks.user, lacks.group
		}
		r.lose(lost)
		for _, e := range entries[i+1:] {
			l := r.entryLoss(e)
			l.By, l.Why = lost.At, fmt.Sprintf("the entry %s before it fails, and write_files stops there", lost.What)
			r.lose(l)
		}
		return
	}
}

// entryLoss begins to tell of an entry that is lost.
func (r *reader) entryLoss(e *pyyaml.Value) Loss {
	l := Loss{Kind: LostEntry, Name: r.nameOf(e.Part), Path: "write_files", What: "an entry without a path", At: r.locate(e)}
	if i, ok := r.entryNumber(e); ok {
		l.Path = fmt.Sprintf("write_files[%d]", i)
	}
	if p := e.Get("path"); p.IsString() && p.Str != "" {
		l.What = p.Str
	}
	return l
}

// entryNumber is the place of an entry in write_files, the first one of what an alias has put there several times.
func (r *reader) entryNumber(e *pyyaml.Value) (int, bool) {
	if r.entryNumbers == nil {
		r.entryNumbers = map[*pyyaml.Value]int{}
		for i, item := range slices.Backward(r.config("write_files").Items) {
			r.entryNumbers[item] = i
		}
	}
	i, ok := r.entryNumbers[e]
	return i, ok
}

// filesOf returns the entries that are deferred, or those that are not.
func (r *reader) filesOf(v *pyyaml.Value, deferred bool) ([]*pyyaml.Value, error) {
	items, err := iterate(v)
	if err != nil {
		return nil, fmt.Errorf("it is %s, no list", v.Kind.Noun())
	}
	if !r.Version.has(filesCanBeDeferred) {
		return items, nil
	}
	var entries []*pyyaml.Value
	for _, e := range items {
		d, err := option(e, "defer")
		if err != nil {
			return nil, err
		}
		if d == deferred {
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// option is util.get_cfg_option_bool (cloudinit/util.py:504).
func option(v *pyyaml.Value, key string) (bool, error) {
	switch {
	case v.IsDict():
		o := v.Get(key)
		if o == nil || !o.Truth() {
			return false, nil
		}
		switch strings.ToLower(pyyaml.Strip(o.String())) {
		case "true", "1", "on", "yes":
			return true, nil
		}
		return o.Kind == pyyaml.Bool, nil
	case v.IsString() && !strings.Contains(v.Str, key):
		return false, nil
	case v.IsSequence() && !slices.ContainsFunc(v.Items, func(i *pyyaml.Value) bool { return pyyaml.Equal(i, str(key)) }),
		v.Kind == pyyaml.Set && !v.Has(str(key)):
		return false, nil
	}
	return false, fmt.Errorf("an entry is %s, no mapping", v.Kind.Noun())
}

// writeFile does what one entry says. It returns a nil file where cloud-init skips the entry with a warning, and both a
// file and an error where the file is there but what follows it fails.
func (r *reader) writeFile(e *pyyaml.Value) (*File, string, error) {
	if !e.IsDict() {
		return nil, "", fmt.Errorf("it is %s, no mapping", e.Kind.Noun())
	}
	p := e.Get("path")
	if !p.Truth() {
		return nil, "", nil
	}
	if !p.IsString() && p.Kind != pyyaml.Bytes {
		return nil, "", fmt.Errorf("its path is %s", p.Kind.Noun())
	}
	f := &File{Path: absolute(p.Str)}
	content, skip, err := r.fileContent(e, f)
	if err != nil || skip {
		return nil, "", err
	}
	owner := e.Get("owner")
	if !e.Has(str("owner")) {
		owner = str("root:root")
	}
	if f.User, f.Group, err = userGroup(owner); err != nil {
		return nil, "", err
	}
	permitted, err := permissions(e.Get("permissions"))
	if err != nil {
		return nil, "", err
	}
	var modeErr error
	if f.Mode, modeErr = mode(permitted); modeErr != nil {
		f.Mode = 0
	}
	if f.Append, err = option(e, "append"); err != nil {
		return nil, "", err
	}
	made, err := r.fs.parents(f.Path)
	if err != nil {
		return nil, "", err
	}
	if made && r.Version.has(foldersHaveOwner) {
		// newer versions give the folders that they make to the owner, too
		if err := r.accounts.check(f); err != nil {
			return nil, "", err
		}
	}
	// the folders are there by now
	switch c := e.Get("content"); {
	case c != nil && !c.IsString() && c.Kind != pyyaml.Bytes && !(c.Kind == pyyaml.Null && r.Version.has(writeFilesHasSource)):
		return nil, "", fmt.Errorf("its content is %s", c.Kind.Noun())
	case !utf8.ValidString(content) && !contentIsBytes(e):
		return nil, "", fmt.Errorf("its content cannot be written as UTF-8")
	}
	asked := f.Mode
	if f.Mode, err = r.fs.write(f.Path, asked); err != nil {
		return nil, "", err
	}
	if modeErr != nil {
		return nil, "", modeErr // it is there, but nothing is told of it
	}
	f.Mode &= 0o7777
	if err := r.accounts.check(f); err != nil {
		f.User, f.Group = "", "" // it is there, and root's
		return f, content, err
	}
	if asked == 0 || !r.Version.has(modeAfterOwner) { // chmod takes 0 for nothing to do
		r.takeSetuid(e, f)
	}
	return f, content, nil
}

// takeSetuid takes the setuid bit of a file whose owner is set after its mode, and the setgid bit if its group may run it:
// so the kernel does.
func (r *reader) takeSetuid(e *pyyaml.Value, f *File) {
	if f.User == "" && f.Group == "" {
		return
	}
	lost := f.Mode & 0o4000
	if f.Mode&0o010 != 0 {
		lost |= f.Mode & 0o2000
	}
	if lost == 0 {
		return
	}
	f.Mode &^= lost
	r.fs.written[path.Clean(f.Path)] = f.Mode
	l := r.entryLoss(e)
	l.Kind, l.What = Changed, fmt.Sprintf("the mode of %s", f.Path)
	l.Why = fmt.Sprintf("its owner is set after its mode, which becomes %04o", f.Mode)
	r.lose(l)
}

// absolute is os.path.abspath for a process that runs in /.
func absolute(p string) string {
	clean := path.Clean("/" + p)
	if strings.HasPrefix(p, "//") && !strings.HasPrefix(p, "///") {
		return "/" + clean
	}
	return clean
}

func contentIsBytes(e *pyyaml.Value) bool {
	steps, _ := decoding(e.Get("encoding"))
	c := e.Get("content")
	return len(steps) > 0 || c != nil && c.Kind == pyyaml.Bytes
}

// fileContent returns the bytes of a file. skip: there are none, and the entry is passed over.
func (r *reader) fileContent(e *pyyaml.Value, f *File) (content string, skip bool, err error) {
	c := e.Get("content")
	none := c == nil || c.Kind == pyyaml.Null
	if r.Version.has(writeFilesHasSource) {
		if f.URL, err = sourceURL(e); err != nil {
			return "", false, err
		}
		if none {
			return "", f.URL != "" && r.OfflineSources, nil
		}
	}
	if c == nil {
		c = str("")
	}
	steps, err := decoding(e.Get("encoding"))
	if err != nil {
		return "", false, err
	}
	if !c.IsString() && c.Kind != pyyaml.Bytes {
		if len(steps) > 0 {
			return "", false, fmt.Errorf("its content is %s", c.Kind.Noun())
		}
		return "", false, nil // writing it fails
	}
	content, err = decode(c, steps)
	return content, false, err
}

// decode undoes an encoding.
func decode(c *pyyaml.Value, steps []string) (string, error) {
	content := c.Str
	for _, step := range steps {
		switch step {
		case "base64":
			b, ok := pyyaml.DecodeBase64(content)
			if c.IsString() && !isASCII(content) || !ok {
				return "", fmt.Errorf("its content is not base64")
			}
			content = string(b)
		case "gzip":
			if c.IsString() && len(steps) == 1 && !utf8.ValidString(content) {
				return "", fmt.Errorf("its content is not compressed by gzip")
			}
			var err error
			if content, err = Gunzip(content); err != nil {
				return "", fmt.Errorf("its content is not compressed by gzip: %v", err)
			}
		}
	}
	return content, nil
}

// sourceURL returns where the entry's source: is, "" without one.
func sourceURL(e *pyyaml.Value) (string, error) {
	s := e.Get("source")
	if s == nil || s.Kind == pyyaml.Null {
		return "", nil
	}
	if !s.IsDict() {
		return "", fmt.Errorf("its source is %s", s.Kind.Noun())
	}
	if uri := s.Get("uri"); uri.Truth() {
		return uri.String(), nil
	}
	return "", nil
}

// decoding returns how an encoding is undone (cloudinit/config/cc_write_files.py:138). Unknown ones are plain text.
func decoding(v *pyyaml.Value) ([]string, error) {
	if !v.Truth() {
		return nil, nil
	}
	if !v.IsString() && v.Kind != pyyaml.Bytes {
		return nil, fmt.Errorf("its encoding is %s", v.Kind.Noun())
	}
	if !v.IsString() {
		return nil, nil
	}
	switch pyyaml.Strip(pyLower(v.Str)) {
	case "gz", "gzip":
		return []string{"gzip"}, nil
	case "gz+base64", "gzip+base64", "gz+b64", "gzip+b64":
		return []string{"base64", "gzip"}, nil
	case "b64", "base64":
		return []string{"base64"}, nil
	}
	return nil, nil
}

// userGroup splits "user:group" (cloudinit/util.py:392). Empty means that it is left as it is.
func userGroup(v *pyyaml.Value) (user, group string, err error) {
	if !v.Truth() {
		return "", "", nil
	}
	if !v.IsString() {
		return "", "", fmt.Errorf("its owner is %s", v.Kind.Noun())
	}
	known := func(s string) string {
		s = pyyaml.Strip(s)
		if s == "-1" || strings.EqualFold(s, "none") {
			return ""
		}
		return s
	}
	user, group, _ = strings.Cut(v.Str, ":")
	return known(user), known(group), nil
}

// permissions reads the mode of a file (cloudinit/config/cc_write_files.py:186): a string is octal, a number is what it is,
// and what is neither is 0644.
func permissions(v *pyyaml.Value) (*big.Int, error) {
	fallback := big.NewInt(0o644)
	if v == nil {
		return fallback, nil
	}
	switch v.Kind {
	case pyyaml.Null:
		return fallback, nil
	case pyyaml.Bool:
		if v.Bool {
			return big.NewInt(1), nil
		}
		return new(big.Int), nil
	case pyyaml.Float:
		if math.IsInf(v.Float, 0) {
			return nil, fmt.Errorf("its permissions are infinite")
		}
		if math.IsNaN(v.Float) {
			return fallback, nil
		}
		n, _ := big.NewFloat(v.Float).Int(nil)
		return n, nil
	case pyyaml.Int:
		return v.Int, nil
	}
	if n, ok := pyyaml.PythonInt(v.String(), 8); ok {
		return n, nil
	}
	return fallback, nil
}

// mode is what chmod makes of a number: its lowest bits. Numbers that are no C int are refused.
func mode(permitted *big.Int) (uint32, error) {
	n := permitted.Int64()
	if !permitted.IsInt64() || n > math.MaxInt32 || n < math.MinInt32 {
		return 0, fmt.Errorf("its permissions are no number that chmod takes")
	}
	if n != 0 && n&0o7777 == 0 {
		return 0o10000, nil // no bits, but not nothing
	}
	return uint32(n) & 0o7777, nil
}

// KnownEncoding says whether an encoding of write_files is one that cloud-init undoes, or says that there is none.
func KnownEncoding(name string) bool {
	steps, _ := decoding(str(name))
	return len(steps) > 0 || pyyaml.Strip(pyLower(name)) == "text/plain"
}
