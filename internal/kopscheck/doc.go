// Package kopscheck holds tests that compare kopshook with kops' own code. The kops packages that they call weigh 60 MB
// and start slowly, so they are linked into this one test program only.
package kopscheck
