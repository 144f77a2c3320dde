package cloudinit

import "fmt"

// Version of cloud-init, and of the Python 3 that runs it.
type Version struct{ Major, Minor, Python int }

// change is what came with a version of cloud-init, or of Python.
type change struct{ major, minor, python int }

// Versions behave alike but for these. Files are cloud-init's, as that version has them, or Python's.
var (
	// handlers/__init__.py:45, prefixes; a job of upstart is taken without a word before, and nothing comes of it
	upstartIsGone = change{major: 22, minor: 2}
	// handlers/shell_script_by_frequency.py
	scriptsByFrequency = change{major: 22, minor: 1}
	// handlers/jinja_template.py:111, render_jinja_payload_from_file; before, such a part may be a template of another kind
	jinjaMustSayJinja = change{major: 22, minor: 4}
	// safeyaml.py:168, dumps; before, a tuple is written with a tag that cloud-init does not read
	tuplesCanBeRead = change{major: 22, minor: 2}
	// stages.py, Init._write_network_config and update: the merged configuration is written as JSON, too
	configMustBeJSON = change{major: 23, minor: 3}
	// config/cc_write_files_deferred.py; before, defer: is a key without a meaning
	filesCanBeDeferred = change{major: 21, minor: 4}
	// util.py:2106, shellify; before, null is as wrong as a number
	nullIsNoCommand = change{major: 21, minor: 4}
	// util.py, write_file: new folders get the owner of the file, which must exist for that
	foldersHaveOwner = change{major: 23, minor: 1}
	// config/cc_write_files.py, read_url_or_decode: source:, and content: null is an empty file
	writeFilesHasSource = change{major: 24, minor: 3}
	// config/cc_write_files.py:112, write_files: the mode is set once more after the owner, if that has changed it
	modeAfterOwner = change{major: 25, minor: 3}

	// Lib/email/_policybase.py, Compat32.header_source_parse: a value may begin on the line behind its name
	pythonJoinsHeaders = change{python: 13}
	// Lib/email/message.py, get_payload: white space behind a transfer encoding does not matter
	pythonStripsEncoding = change{python: 13}
)

// has says whether a change is there.
func (v Version) has(c change) bool {
	return v.Python >= c.python && (v.Major > c.major || v.Major == c.major && v.Minor >= c.minor)
}

// complete fills in what is not known: today's version, and a Python of its time.
func (v Version) complete() Version {
	switch {
	case v == Version{}:
		return Debian13
	case v.Python == 0 && v.has(change{major: Debian13.Major, minor: Debian13.Minor}):
		v.Python = Debian13.Python
	case v.Python == 0:
		v.Python = Debian12.Python
	}
	return v
}

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
