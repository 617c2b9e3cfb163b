/* SPDX-License-Identifier: MIT */
#include "console/cli/unfinished.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
enum { ENDINGS = sizeof(ending) / sizeof(*ending) };

static char guarded[PATH_MAX]; /* what a signal removes; "" nothing */

static void remove_and_end(int number)
{
	if (guarded[0])
		unlink(guarded);
	signal(number, SIG_DFL);
	raise(number);
}

/* Only while there is something to remove; what was ignored (nohup) stays so. */
static void heed_signals(bool heed)
{
	for (size_t i = 0; i < ENDINGS; i++) {
		struct sigaction action;

		sigaction(ending[i], NULL, &action);
		if (action.sa_handler == SIG_IGN)
			continue;
		action = (struct sigaction){ .sa_handler = heed ? remove_and_end : SIG_DFL };
		sigaction(ending[i], &action, NULL);
	}
}

static void block_signals(sigset_t *before)
{
	sigset_t held;

	sigemptyset(&held);
	for (size_t i = 0; i < ENDINGS; i++)
		sigaddset(&held, ending[i]);
	pthread_sigmask(SIG_BLOCK, &held, before);
}

static void guard(const char *path)
{
	size_t length = strlen(path);

	if (length >= sizeof(guarded))
		return;
	memcpy(guarded, path, length + 1);
	heed_signals(true);
}

void unfinished_guard(const char *path)
{
	sigset_t before;

	block_signals(&before);
	guard(path);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int unfinished_make(char *path)
{
	sigset_t before;
	int fd;

	block_signals(&before);
	fd = mkostemp(path, O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	if (fd >= 0)
		guard(path);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return fd;
}

void unfinished_release(void)
{
	sigset_t before;

	block_signals(&before);
	guarded[0] = '\0';
	heed_signals(false);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
