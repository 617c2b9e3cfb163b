/* SPDX-License-Identifier: MIT */
/* Where clients come in: a process without rights that accepts them, asks the kernel who they are, gives each a
 * doorman, and hands the other end to the helper. */
#ifndef HELPER_GATE_H
#define HELPER_GATE_H

#include <sys/types.h>

enum { GATE_USERS_MOST = 16 /* connections of one user at a time */, GATE_MOST = 256 };

/* What the helper gets with each socket. */
struct gate_guest {
	uid_t uid; /* of whoever connected, as the kernel says */
	pid_t pid;
};

/* Forks it. `listener` is the gate's then. Returns the socket that guests come through, closed when the gate ends; or
 * -errno. */
int gate_start(int listener);
/* The next guest's socket, which does not block; -EAGAIN: nobody there; -EPIPE: the gate has ended. */
int gate_take(int gate, struct gate_guest *guest);

#endif
