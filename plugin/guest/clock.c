/* SPDX-License-Identifier: MIT */
#include "plugin/guest/clock.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

static const uint64_t rest_most_ns = 100000000;

typedef int read_clock(clockid_t clock, struct timespec *now);

static _Atomic(read_clock *) current = clock_gettime; /* libc's, until the kernel's has been found */

/* vdso(7) has the names. Never unmapped, and libc keeps the same address itself. */
void clock_open(void)
{
	static const char *const names[] = { "__vdso_clock_gettime", "__kernel_clock_gettime" };
	void *library = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);
	read_clock *found = NULL;

	if (!library)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !found; i++)
		*(void **)&found = dlsym(library, names[i]);
	if (found)
		atomic_store_explicit(&current, found, memory_order_relaxed);
	dlclose(library);
}

uint64_t clock_ns(void)
{
	struct timespec now;

	atomic_load_explicit(&current, memory_order_relaxed)(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_rest(uint64_t ns)
{
	uint64_t begun = clock_ns();

	nanosleep(&(struct timespec){ .tv_nsec = (long)ns }, NULL);
	uint64_t took = clock_ns() - begun;
	return took < rest_most_ns ? took : rest_most_ns;
}
