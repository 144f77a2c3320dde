package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"kopshook.dev/kopshook/internal/clusterhooks"
	"kopshook.dev/kopshook/internal/file"
	"kopshook.dev/kopshook/internal/report"
)

// execReport is a file of --report, open before anything runs: once kops ran it is too late to find that it cannot be
// written.
type execReport struct {
	name string
	file *os.File
	made string // where it lies, when it was not there before
}

// openReports opens all files of --report, or none. What they hold stays until writeReports.
func openReports(names []string) (reports []*execReport, err error) {
	defer func() {
		if err != nil {
			discardReports(reports)
		}
	}()
	for _, name := range names {
		if name == "-" {
			return reports, report.Hint("give the report a file", "--report -: standard output is for kops")
		}
		info, err := os.Stat(name)
		if err == nil && info.Mode().IsRegular() && (isStream(name, os.Stdout) || isStream(name, os.Stderr)) {
			return reports, report.Hint("give the report a file of its own", "--report: what kops and the hooks print goes to %s", name)
		}
		r := &execReport{name: name}
		if errors.Is(err, fs.ErrNotExist) {
			r.made = file.Real(name) // a link to it stays
		}
		for _, other := range reports {
			if i, err := other.file.Stat(); err == nil && info != nil && i.Mode().IsRegular() && os.SameFile(info, i) {
				return reports, report.Hint("give each report a file of its own", "--report: %s is given twice", name)
			}
		}
		if r.file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE, 0o666); err != nil {
			return reports, fileError(name, err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// discardReports leaves everything as it was before openReports.
func discardReports(reports []*execReport) {
	for _, r := range reports {
		r.file.Close()
		if r.made != "" {
			os.Remove(r.made)
		}
	}
}

// writeReports writes the report in the formats that the files' names ask for.
func writeReports(reports []*execReport, result *clusterhooks.Result) error {
	var errs []error
	for _, r := range reports {
		if err := r.write(result); err != nil {
			errs = append(errs, fileError(r.name, err))
		}
	}
	return errors.Join(errs...)
}

func (r *execReport) write(result *clusterhooks.Result) error {
	defer r.file.Close()
	format := clusterhooks.Text
	switch strings.ToLower(filepath.Ext(r.name)) {
	case ".json":
		format = clusterhooks.JSON
	case ".xml":
		format = clusterhooks.JUnit
	}
	info, err := r.file.Stat()
	if err == nil && info.Mode().IsRegular() { // a pipe cannot be cut
		err = r.file.Truncate(0)
	}
	if err == nil {
		err = result.Write(r.file, format)
	}
	if err == nil {
		err = r.file.Close()
	}
	return err
}
