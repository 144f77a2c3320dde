package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// document is as much of SPDX 2.3 as a list of modules takes.
type document struct {
	Version      string         `json:"spdxVersion"`
	License      string         `json:"dataLicense"`
	ID           string         `json:"SPDXID"`
	Name         string         `json:"name"`
	Namespace    string         `json:"documentNamespace"`
	Creation     creation       `json:"creationInfo"`
	Packages     []spdxPackage  `json:"packages"`
	Relationship []relationship `json:"relationships"`
}

type creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

type spdxPackage struct {
	ID        string      `json:"SPDXID"`
	Name      string      `json:"name"`
	Version   string      `json:"versionInfo"`
	Location  string      `json:"downloadLocation"`
	Analyzed  bool        `json:"filesAnalyzed"`
	Checksums []checksum  `json:"checksums,omitempty"`
	Refs      []reference `json:"externalRefs"`
}

type checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

type reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

type relationship struct {
	From string `json:"spdxElementId"`
	Type string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// contentsList lists what a program is made of: the modules that its linker wrote into it, and Go.
func contentsList(name string, c commit, info *debug.BuildInfo, program []byte) ([]byte, error) {
	sum := sha256.Sum256(program)
	hexSum := hex.EncodeToString(sum[:])
	d := document{
		Version: "SPDX-2.3", License: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Namespace: "https://kopshook.dev/spdx/" + name + "-" + hexSum,
		Creation:  creation{c.time.Format(time.RFC3339), []string{"Tool: kopshook-release-" + c.tag}},
	}
	add := func(module, version string) *spdxPackage {
		d.Packages = append(d.Packages, spdxPackage{
			ID: fmt.Sprintf("SPDXRef-Package-%d", len(d.Packages)), Name: module, Version: version, Location: "NOASSERTION",
			Refs: []reference{{"PACKAGE-MANAGER", "purl", purl(module, version)}},
		})
		return &d.Packages[len(d.Packages)-1]
	}
	main := add(info.Main.Path, c.tag)
	main.Checksums = []checksum{{"SHA256", hexSum}}
	d.Relationship = []relationship{{d.ID, "DESCRIBES", main.ID}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		d.Relationship = append(d.Relationship, relationship{"SPDXRef-Package-0", "DEPENDS_ON", add(m.Path, m.Version).ID})
	}
	std := add("stdlib", strings.TrimPrefix(info.GoVersion, "go"))
	d.Relationship = append(d.Relationship, relationship{"SPDXRef-Package-0", "DEPENDS_ON", std.ID})
	data, err := json.MarshalIndent(d, "", "  ")
	return append(data, '\n'), err
}

// purl is a module's package URL, as scanners of vulnerabilities look it up. A "+" of a version is escaped.
func purl(module, version string) string {
	return "pkg:golang/" + strings.ToLower(module) + "@" + strings.ReplaceAll(version, "+", "%2B")
}
