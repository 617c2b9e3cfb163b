/* SPDX-License-Identifier: MIT */
#include "console/run/child_end.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>

#include "base/clock.h"
#include "console/run/job.h"

int child_end_await(int pidfd, int signal_fd, unsigned timeout_ms)
{
	uint64_t now_ns = clock_monotonic_ns(), end_ns = now_ns + timeout_ms * UINT64_C(1000000);

	for (; now_ns < end_ns; now_ns = clock_monotonic_ns()) {
		struct pollfd waits[] = { { .fd = pidfd, .events = POLLIN }, { .fd = signal_fd, .events = POLLIN } };

		if (poll(waits, 2, (int)((end_ns - now_ns) / 1000000) + 1) < 0 && errno != EINTR)
			return -errno;
		if (waits[0].revents)
			return 0;
		if (waits[1].revents && job_asked_to_end(signal_fd))
			return -EINTR;
	}
	return -ETIMEDOUT;
}
