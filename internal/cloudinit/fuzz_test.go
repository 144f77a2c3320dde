package cloudinit

import "testing"

// FuzzRead looks for messages that the model cannot bear. That it is right about them is what the differential test is
// for.
func FuzzRead(f *testing.F) {
	for _, c := range testCases {
		f.Add(Message([]byte("#!/bin/bash\n"), "Node", c.parts))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, v := range []Version{Debian11, versions[1]} {
			r := Read(data, Options{Version: v})
			if r.Config == nil || r.Effective == nil {
				t.Fatal("no configuration")
			}
		}
	})
}
