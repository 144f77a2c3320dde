//go:build e2e

package e2e

import (
	"strings"
	"testing"
)

// Issue case 12: a hook cannot hold back a unit of early boot: that makes an ordering cycle, which systemd breaks by
// leaving a unit out, and no unit fails.
func TestUnitsOfEarlyBootAreRefused(t *testing.T) {
	for _, unit := range []string{"sysinit.target", "basic.target", "cloud-init.service", "cloud-final.service", "systemd-udevd.service", "dbus.service"} {
		_, err := planParts(spec("early", "- {name: early, before: ["+unit+"], script: \"#!/bin/sh\\ntrue\"}"))
		if err == nil || !strings.Contains(err.Error(), unit) {
			t.Errorf("before: [%s] is taken: %v", unit, err)
		}
	}
}
