// Package generator turns hooks and an instance group into ordered parts of user data.
//
// It is pure: no I/O, no clock, no randomness, no map order. The same input gives the same bytes on every machine and
// with every later release, because those bytes decide whether kops replaces machines.
package generator
