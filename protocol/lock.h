/* SPDX-License-Identifier: MIT */
/* Exactly one collector per node, user and job: an flock on a file beside the job's black boxes. It ends with its
 * holder, however that one ends. Where there is no place for black boxes the job may be running all the same. */
#ifndef PROTOCOL_LOCK_H
#define PROTOCOL_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "blackbox/place.h"

#define LOCK_NAME "collector.lock"

struct lock {
	int fd;
	bool beside_boxes; /* else beside the socket */
	char path[BOX_PLACE_PATH + BOX_JOB_COMPONENT + 32];
};

/* Takes the lock in the first place that can be made or used (owned by us, closed to others): beside the boxes, or,
 * when none of their directories can be used, beside the socket. runtime_directory: NULL = there is none. 0; -EBUSY
 * when another process holds it (its pid in *holder, 0 not known); another -errno when no place is usable (path: the
 * last one tried). */
int lock_take(struct lock *lock, char (*places)[BOX_PLACE_PATH], int count, const char *runtime_directory,
	      const char *job, pid_t *holder);
/* Takes the file away, and the directory of boxes if nothing else is in it. Accepts a lock that was not taken. */
void lock_release(struct lock *lock);

#endif
