package boot

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
)

// NodeupScript stands for kops' nodeup.sh where that is not at hand: it does what the node notices of it
// (k8s.io/kops/pkg/model/resources/nodeup.go:45), without sysctls, proxies and downloads.
//
//go:embed standin/nodeup.sh
var NodeupScript []byte

// trustStandIn makes kops' nodeup.sh find nodeup downloaded already: the hash it compares is the stand-in's. Nothing
// else of the user data changes, but that compressed data comes back plain.
func trustStandIn(data []byte) ([]byte, error) {
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("user data: %w", err)
		}
		if data, err = io.ReadAll(r); err != nil {
			return nil, fmt.Errorf("user data: %w", err)
		}
	}
	sum := sha256.Sum256(standInNodeup)
	hash := regexp.MustCompile(`(?m)^(\s*NODEUP_HASH_(?:AMD64|ARM64)=)[0-9a-fA-F]*`)
	return hash.ReplaceAll(data, []byte("${1}"+hex.EncodeToString(sum[:]))), nil
}
