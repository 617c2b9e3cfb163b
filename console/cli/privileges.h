/* SPDX-License-Identifier: MIT */
/* What rankwatch may do beyond its caller is never lent to what it loads and runs. */
#ifndef CONSOLE_CLI_PRIVILEGES_H
#define CONSOLE_CLI_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

/* Was this process given more than its caller has, by capabilities or a set-user-id bit of the program's file? Then the
 * loader has removed LD_LIBRARY_PATH and its like from the environment, too. A transition of a security module without
 * more rights is not meant. */
bool privileges_of_file(void);

/*
 * Gives up for good: every capability in every set, what another uid or gid than the real ones would allow, and any
 * gain through exec (no_new_privs). Where the real uid is root's and `file` could have been changed by somebody else
 * (it, its target, or a directory above either is another user's, or may be written by all), the process becomes that
 * user: what they put there runs with no more than they have. file: a path; NULL or a name without a slash: the loader
 * finds it where root's own environment says. 0, or -errno: then nothing foreign may be touched. One thread.
 */
int privileges_drop(const char *file);
/* Whose code a file is for root: 0 root's own, else the uid as which it may be run; *gid goes with it. */
uid_t privileges_owner_of(const char *file, gid_t *gid);

#endif
