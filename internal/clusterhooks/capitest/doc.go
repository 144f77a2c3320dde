// Package capitest proves kopshook's client of Runtime Extensions against the server and the types of Cluster API. It
// is a module of its own, so that Cluster API's modules are none of kopshook's.
package capitest
