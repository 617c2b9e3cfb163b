/* SPDX-License-Identifier: MIT */
/*
 * Whose rights count when a process is looked at. What root reads of a process of a user's, and reports to that user,
 * must be what the user could have read himself, at that very moment: a check before does not hold, since a process can
 * exec a set-user-id program in between. So the kernel decides: the reading thread takes the user's uid and gid for it
 * and lays down what would overrule him. Each thread has its own.
 */
#ifndef COLLECTOR_SOURCES_PROCESS_OWNER_RIGHTS_H
#define COLLECTOR_SOURCES_PROCESS_OWNER_RIGHTS_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on this thread looks at processes of uid, gid. Changes nothing by itself. */
void owner_rights_choose(uid_t uid, gid_t gid);
/* This thread's own rights count again. */
void owner_rights_choose_own(void);

/* Takes the rights that were chosen; false: they cannot be taken, and nothing is to be read. A thread that has no more
 * than the owner, or looks at root's processes as root, keeps what it has. Not nested. */
bool owner_rights_take(void);
void owner_rights_give_back(void);

#endif
