/* SPDX-License-Identifier: MIT */
/* In place of what the kernel says of locks and processes: who of the job is alive. */
#ifndef TESTS_STRESS_DAY_LIFE_H
#define TESTS_STRESS_DAY_LIFE_H

#include "day_job.h"

/* Whose boxes are asked about; it must live as long. */
void day_life_of(const struct day_job *job);

#endif
