/* SPDX-License-Identifier: MIT */
/*
 * To be preloaded: allocation number FAIL_AT of the process fails, counted from 1, and with FAIL_ON=1 all behind it.
 * FAIL_TOLD: a file that is made when it has. Each process counts for itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *old, size_t size);

static unsigned long fail_at; /* 0: never */
static bool fail_on;
static const char *told;
static atomic_ulong calls;

/* What the loader allocates for the libraries before this one is not counted. */
__attribute__((constructor)) static void read_environment(void)
{
	const char *at = getenv("FAIL_AT"), *on = getenv("FAIL_ON");

	fail_on = on && *on == '1';
	told = getenv("FAIL_TOLD");
	fail_at = at ? strtoul(at, NULL, 10) : 0;
}

static bool fails(void)
{
	if (!fail_at)
		return false;

	unsigned long number = atomic_fetch_add(&calls, 1) + 1;

	if (number < fail_at || (number > fail_at && !fail_on))
		return false;
	if (number == fail_at && told) {
		int fd = open(told, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

		if (fd >= 0)
			close(fd);
	}
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : __libc_realloc(old, size);
}
