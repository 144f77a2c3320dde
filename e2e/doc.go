// Package e2e boots nodes and looks at what happened. Its tests need root and the programs that install.sh installs;
// they are behind the build tag e2e, and make e2e runs them.
package e2e
