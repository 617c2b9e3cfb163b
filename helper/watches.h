/* SPDX-License-Identifier: MIT */
/* Which processes are watched, and for which clients. Each client's right to a process was proven behind its own pidfd,
 * before it got here; the kernel lets go of a process at exec and at its end. */
#ifndef HELPER_WATCHES_H
#define HELPER_WATCHES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/writer_process.h"
#include "ebpf/probes.h"

enum { WATCH_CLIENTS = 8 };

struct client;

struct watch {
	struct writer_process process;
	struct client *clients[WATCH_CLIENTS];
	unsigned client_count;
};

struct watches {
	struct probes *probes;
	struct watch *entries;
	size_t count, room;
};

struct watch *watches_find(struct watches *watches, pid_t pid); /* NULL: none */
bool watch_has(const struct watch *watch, const struct client *client);
/* Takes the process over, also on error. 0 or -errno (as probes_watch(); -EUSERS: it has as many watchers as one may).
 * The process was proven before; the caller proves it once more after this. */
int watches_add(struct watches *watches, struct writer_process *process, struct client *client, uint32_t owner);
/* false: it was not watched for this client. */
bool watches_remove(struct watches *watches, pid_t pid, struct client *client);
/* Of processes that the kernel has let go of, whoever watched them. `left` is called for each client of each. */
void watches_sweep(struct watches *watches, void (*left)(struct client *client));
void watches_close(struct watches *watches);

#endif
