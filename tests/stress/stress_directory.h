/* SPDX-License-Identifier: MIT */
/* A directory in /dev/shm for one stress program. */
#ifndef TESTS_STRESS_STRESS_DIRECTORY_H
#define TESTS_STRESS_STRESS_DIRECTORY_H

#include "blackbox/writer.h"

/* Makes it; exits with 77 and says why where /dev/shm is no tmpfs. */
const char *stress_directory_make(void);
/* Removes it and the boxes in it. */
void stress_directory_remove(void);
/* The smallest box (1024 slots) in it; exits with 1 and says why when there is none. */
void stress_directory_create(struct box_writer *writer);

#endif
