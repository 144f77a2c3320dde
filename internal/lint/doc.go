// Package lint finds what is wrong with the user data of instance groups and with hooks, before any machine boots.
//
// It asks the model of cloud-init what the node will see, and looks at commands, units and files besides. Every rule has
// a stable code and a page in docs/rules.
package lint
