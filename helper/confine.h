/* SPDX-License-Identifier: MIT */
/*
 * What the processes of rankwatchd give up for good: the rights of root, and the system calls that each has no use for.
 * A call that is not on a process's list fails with EPERM.
 */
#ifndef HELPER_CONFINE_H
#define HELPER_CONFINE_H

#include <stdbool.h>

enum { CONFINE_DESCRIPTION = 192 };

enum confine_calls {
	CONFINE_HELPER,	 /* bpf(2) on what is loaded already, files for reading (of /proc), packets */
	CONFINE_GATE,	 /* accepts, forks, waits */
	CONFINE_DOORMAN, /* passes packets on */
};

/* Root becomes nobody (uid and gid 65534). Every capability goes but CAP_BPF and CAP_PERFMON, where keep_bpf; none can
 * come back, by no program either (no_new_privs); others than root may not look at the process. 0 or -errno. */
int confine_rights(bool keep_bpf);
/* 0 or -errno. After confine_rights(). A process may call it a second time, with a narrower list. */
int confine_calls(enum confine_calls calls);
/* Whether the loaded programs can be attached, given whom to watch and asked to look without any capability: with
 * -EPERM not before Linux 5.19. Tried by `attempt`, which gets `argument` and returns 0 when it could, else -errno, in
 * a child process. 0; what it returned, or why it could not be tried; -ECHILD: it crashed. */
int confine_fits(int (*attempt)(void *argument), void *argument);
/* What became of the capabilities, from what confine_fits() returned: "no capability is left", or that two stay and
 * why. */
void confine_describe(int unfit, char text[CONFINE_DESCRIPTION]);

#endif
