// SPDX-License-Identifier: MIT
/*
 * Preloaded where instructions are counted for a test: a clock that goes on by a microsecond with each read and by what
 * the program sleeps. What the plugin leaves out, or does again, because something took long then no longer depends on
 * how busy the machine is. Under valgrind only, which has no vDSO: elsewhere the plugin reads the kernel's clock.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { READ_NS = 1000, US_NS = 1000, SECOND_NS = 1000000000 };

static _Atomic uint64_t now_ns = UINT64_C(1767225600) * SECOND_NS;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	uint64_t ns = atomic_fetch_add(&now_ns, READ_NS);

	(void)clock;
	now->tv_sec = (time_t)(ns / SECOND_NS);
	now->tv_nsec = (long)(ns % SECOND_NS);
	return 0;
}

/* Others get the time all the same. */
int usleep(useconds_t us)
{
	atomic_fetch_add(&now_ns, (uint64_t)us * US_NS);
	return nanosleep(&(struct timespec){ .tv_nsec = (long)us * US_NS }, NULL);
}
