/* SPDX-License-Identifier: MIT */
/* Processes with other rights than the test's own. */
#ifndef TESTS_UNIT_COLLECTOR_OTHER_USER_H
#define TESTS_UNIT_COLLECTOR_OTHER_USER_H

#include <sys/types.h>

enum { OTHER_USER = 4242 };

/* Starts a process that takes these uids (and the real one as gids), is ready when this returns, and does nothing until
 * it is killed. Needs root. */
pid_t other_user_start(uid_t real, uid_t effective);
/* An ordinary process of the test's own user that nobody may look at (not dumpable). */
pid_t other_user_start_hidden(void);
/* SIGKILL, and reaped. */
void other_user_end(pid_t pid);

#endif
