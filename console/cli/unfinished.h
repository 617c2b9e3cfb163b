/* SPDX-License-Identifier: MIT */
/*
 * A file that a command is writing: while it is guarded SIGINT, SIGTERM and SIGHUP remove it before they end the
 * process, unless they were ignored (nohup). One at a time in a process.
 */
#ifndef CONSOLE_CLI_UNFINISHED_H
#define CONSOLE_CLI_UNFINISHED_H

/* Guards the file of that name, which need not be there yet. path: copied; one that is too long is not guarded. */
void unfinished_guard(const char *path);
/* Makes a file as mkostemp(3) does, close-on-exec and of mode 0600, and guards it: no signal comes in between. Returns
 * its descriptor or -errno; then nothing is guarded. */
int unfinished_make(char *path);
/* It has its own name by now, or has been removed: signals end the process as usual. */
void unfinished_release(void);

#endif
