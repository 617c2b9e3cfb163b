/* SPDX-License-Identifier: MIT */
/*
 * The process between one client and the helper. Whoever connects may hand over any descriptor, and to close a file of
 * a FUSE file system, or a socket that lingers, can take for ever: here it holds up nobody but that client. Only whole
 * requests go on, and of descriptors pidfds only.
 */
#ifndef HELPER_DOORMAN_H
#define HELPER_DOORMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* Passes packets between the two until one of them goes, then ends the process. Both do not block. why: NULL, or why
 * this client is refused: it gets an answer, and the process ends. */
_Noreturn void doorman_run(int client, int helper, const char *why);

/* Whether a packet of this many bytes is a request that goes on; fd: the descriptor that came with it, -1: none. */
bool doorman_lets_in(const void *packet, size_t size, int fd);
/* The descriptor of a received message; -1: none. `bad`: there were several, or something else. */
int doorman_descriptor(struct msghdr *message, bool *bad);

#endif
