/* SPDX-License-Identifier: MIT */
/* doctor's try on the real kernel, and on kernels that answer as others do. Needs root and BPF; without them it says so
 * and exits with 77. */
#include "ebpf/trial.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/ebpf/before_6_1.h"

static int failures;

static void check(bool holds, const char *what)
{
	failures += !holds;
	if (!holds)
		printf("  FAILED: %s\n", what);
}

static void check_seen(void)
{
	struct trial trial;
	char why[TRIAL_WHY];

	puts("a wait, who ended it and a file are seen, though the iterator knows no limit");
	int err = trial_run(&trial, NULL, why);
	printf("  %d %s: wait %d waker %d file %d, %.2f of %.2f ms, lost %lu\n", err, why, trial.wait, trial.waker, trial.file,
	       trial.reported_ms, trial.true_ms, trial.lost);

	check(!err, "it can be tried");
	check(trial.wait && trial.waker && trial.file, "all of it is seen");
	check(trial.reported_ms <= trial.true_ms + 1 && trial.reported_ms > trial.true_ms - 15, "the time is the child's");
	check(!trial.lost, "nothing is lost");
	check(iterators_refused >= 1 && iterators_made >= 1, "the limit was refused, and it was tried without");
}

static void check_refused(void)
{
	struct trial trial;
	char why[TRIAL_WHY];

	puts("where the iterator is refused nothing is said to be seen");
	refuses_iterators = EACCES;
	int err = trial_run(&trial, NULL, why);

	printf("  %d %s\n", err, why);
	check(err == -EACCES && strstr(why, "cannot be watched"), "it says that a process cannot be watched");
	check(!trial.wait && !trial.waker && !trial.file, "nothing is seen");
	refuses_iterators = 0;
}

int main(void)
{
	struct trial trial;
	char why[TRIAL_WHY];

	setvbuf(stdout, NULL, _IOLBF, 0);
	int err = trial_run(&trial, NULL, why);

	if (err == -EPERM || err == -EOPNOTSUPP) {
		printf("SKIPPED all of it: %s\n", why);
		return 77;
	}
	check_seen();
	check_refused();
	printf("%d failures\n", failures);
	return failures != 0;
}
