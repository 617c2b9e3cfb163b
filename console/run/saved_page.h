/* SPDX-License-Identifier: MIT */
/*
 * The page of a job that ended badly, `report.html` beside its saved black boxes. Made by `rankwatch report`, in a
 * process of its own with a deadline: a page that takes long, or a file system that does not answer, keeps nobody's
 * exit status for more than a second beyond it. SIGTERM ends that process, so that it removes what it has written so
 * far; then SIGKILL.
 */
#ifndef CONSOLE_RUN_SAVED_PAGE_H
#define CONSOLE_RUN_SAVED_PAGE_H

#include <limits.h>
#include <signal.h>

struct saved_page_request {
	const char *program;    /* rankwatch itself */
	const char *directory;  /* of the saved boxes */
	const char *kernel_log; /* as of `report`; NULL: its default */
	const sigset_t *mask;   /* signal mask for it */
	unsigned timeout_ms;
	int signal_fd; /* a signalfd(2) that has SIGCHLD too: any other signal there ends the work; -1: none */
};

/* path: where it is, once it is whole; "" else. 0; -ETIMEDOUT; -EINTR: a signal came; -EIO: `report` has failed; or
 * another -errno. One thread at a time. */
int saved_page_write(const struct saved_page_request *request, char path[PATH_MAX]);

#endif
