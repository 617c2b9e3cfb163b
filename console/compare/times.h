/* SPDX-License-Identifier: MIT */
/*
 * How long operations of each kind took in two runs. Of an instance the shortest of its ranks counts, from where the
 * GPU reached it to its end: that rank came last and waited for nobody. One thread.
 */
#ifndef CONSOLE_COMPARE_TIMES_H
#define CONSOLE_COMPARE_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "console/compare/side.h"

enum times_side { TIMES_A, TIMES_B, TIMES_SIDES };

#define TIMES_CHANCE   0.01 /* that any kind of operation is reported although both runs are alike */
#define TIMES_LEAST    0.05 /* share of the longer one, below which a difference is no news … */
#define TIMES_LEAST_MS 2.0  /* … nor below half of the 4 ms in which the GPU's progress is looked at */

/* One function, type and count on one communicator. */
struct times_kind {
	char *where;
	uint8_t function, dtype;
	uint64_t count;
	size_t instances[TIMES_SIDES]; /* whose time is known */
	double ms[TIMES_SIDES];        /* median */
	double chance;                 /* of a difference like this where there is none, among all kinds */
	bool differs;
};

struct times_instance;

/* Zeroed = empty. */
struct times {
	struct times_kind *kinds;
	size_t kind_count, kind_room;
	struct times_instance *instances; /* open addressing */
	size_t instance_count, instance_room;
};

/* 0 or -ENOMEM. Operations without GPU times are passed over. */
int times_add(struct times *times, enum times_side side, const struct side_line *line,
	      const struct rw_operation *operation);
/* After the last: fills in what is known of each kind. Holm's correction for many tests: S. Holm, "A simple
 * sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979), pages 65 to 70. 0 or
 * -ENOMEM. */
int times_judge(struct times *times);
void times_free(struct times *times);

#endif
