/* SPDX-License-Identifier: MIT */
/*
 * The collector's end of the socket to rankwatchd, which has the BPF programs in its stead. One owner thread; the
 * callback runs inside helper_client_poll(), _watch() and _look(). None of them waits for the helper longer than it
 * says: one that is stopped, or gone, is let go, and asked again with the next process that is to be watched. One that
 * is slow is asked nothing else for 5 s, and then let go: where a machine has too few processors, it waits for one as
 * everybody does.
 */
#ifndef EBPF_HELPER_CLIENT_H
#define EBPF_HELPER_CLIENT_H

#include <stdint.h>
#include <sys/types.h>

#include "ebpf/probes.h"

struct helper_client;

/* path: of the socket, kept. Waits for at most 3 s, while the helper is started and loads its programs. 0; -ENOENT:
 * there is no helper; else -errno and a sentence in `why` (at least 256 bytes). */
int helper_client_open(struct helper_client **client, const char *path, probes_record *record, void *argument,
		       char *why);
void helper_client_close(struct helper_client *client); /* accepts NULL */

/* The pidfd stays the caller's. 0, or -errno with a sentence in `why` (RW_HELPER_WHY bytes, may stay ""): -EPERM: the
 * process is not this user's; -EAGAIN, -ETIMEDOUT: not answered yet, ask again. Waits for at most a second. */
int helper_client_watch(struct helper_client *client, pid_t pid, int pidfd, char *why);
void helper_client_unwatch(struct helper_client *client, pid_t pid);
/* Number of records, or -ENOTCONN: the helper has gone, and nothing is watched any more. Does not wait. */
int helper_client_poll(struct helper_client *client);
/* As probes_sample(); waits for at most 0.2 s. -EAGAIN: not answered yet, nor asked anew before it is. */
int helper_client_sample(struct helper_client *client, pid_t pid);
/* As probes_stack(). */
int helper_client_stack(struct helper_client *client, int32_t stack_id, char (*frames)[40], int room);
/* Since open, over all the helpers there have been. */
void helper_client_loss(struct helper_client *client, struct probes_loss *loss);
/* CPU time that the helper has spent on this client's questions. */
uint64_t helper_client_cost_ns(const struct helper_client *client);

#endif
