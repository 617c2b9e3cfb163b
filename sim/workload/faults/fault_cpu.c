/* SPDX-License-Identifier: MIT */
/* Faults that leave the training thread without a CPU, or keep it on one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/workload/faults/cgroup.h"
#include "sim/workload/faults/fault.h"
#include "sim/workload/faults/hog.h"

/* The least quota that there is, so that it is spread as evenly as can be. */
enum { QUOTA_US = 1000, RANK_PERIOD_US = 20000, HOST_PERIOD_US = 10000 };

/* The others make room, so that the hogs take the CPU from this rank alone. */
static void hog_cpu(struct fault *fault, int step)
{
	if (step == fault->options->fault_step)
		hog_share_cpu(fault->mine ? fault->options->hogs : 0);
}

static int check_quota(char *reason, size_t size)
{
	return cgroup_check("cpu", reason, size);
}

static void tidy_quota(void)
{
	cgroup_tidy("cpu");
}

/* Only the calling thread: in the stand-in other threads of the process are its GPU, which no quota slows down. */
static void limit_cpu(pid_t owner, unsigned int period_us)
{
	struct cgroup group;
	int err = cgroup_make(&group, "cpu", owner, true);

	if (!err)
		err = cgroup_limit_cpu(&group, QUOTA_US, period_us);
	if (!err)
		err = cgroup_enter(&group);
	if (err) {
		fprintf(stderr, "workload: quota: %s: %s\n", group.path, strerror(-err));
		exit(1);
	}
}

static void limit_rank(struct fault *fault, int step)
{
	if (fault_begins(fault, step))
		limit_cpu(getpid(), RANK_PERIOD_US);
}

/* All ranks of a launcher that have this fault share one quota: those of one host. */
static void limit_host(struct fault *fault, int step)
{
	if (fault_begins(fault, step))
		limit_cpu(getppid(), HOST_PERIOD_US);
}

static void spin(struct fault *fault, int step)
{
	if (!fault_begins(fault, step))
		return;
	for (volatile unsigned int turn = 0;; turn++)
		;
}

const struct fault_kind fault_cpu_kinds[] = {
	{ .name = "hog", .harms = true, .between_steps = hog_cpu,
	  .doc = "other processes crowd its main thread's CPU" },
	{ .name = "quota", .harms = true, .check = check_quota, .tidy = tidy_quota, .between_steps = limit_rank,
	  .doc = "its main thread may use a twentieth of a CPU (cgroup quota)" },
	{ .name = "quota-host", .harms = true, .whole_host = true, .check = check_quota, .tidy = tidy_quota,
	  .between_steps = limit_host,
	  .doc = "the main threads of all ranks of its host share a tenth of a CPU (--hosts)" },
	{ .name = "spin", .harms = true, .between_steps = spin, .doc = "its main thread computes for ever" },
	{ 0 },
};
