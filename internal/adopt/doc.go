// Package adopt takes over user data that somebody wrote by hand: scripts, boothooks and cloud-config become a hook spec
// that does the same in the same order, as far as hooks can, and Compare holds what the nodes see then against what they
// see today, both by the model of cloud-init.
//
// What the model says of today's user data decides, not what its parts look like.
//
//	today                                            then
//	boothooks, bootcmd                               phase boot
//	ExecStartPre= of nodeup that bootcmd writes      phase pre-nodeup, on every boot
//	ExecStopPost= of nodeup that bootcmd writes      phase post-nodeup, on every boot
//	write_files                                      files of hooks of phase pre-nodeup, before all others
//	scripts that sort before nodeup.sh               phase pre-nodeup, one attempt, onFailure: continue
//	scripts that sort after nodeup.sh, and runcmd    phase post-nodeup, one attempt
//	all other keys of cloud-config                   cloudConfig
//	what no node gets                                hooks with enabled: false, and why
//
// A part is taken over whole or stays whole.
package adopt
