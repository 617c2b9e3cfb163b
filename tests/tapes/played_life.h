/* SPDX-License-Identifier: MIT */
/* What a program that plays a job says of its processes, in place of the kernel; played_life.c asks. */
#ifndef TESTS_TAPES_PLAYED_LIFE_H
#define TESTS_TAPES_PLAYED_LIFE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Who holds the lock of the box with that inode; 0: nobody any more. */
pid_t played_writer(uint64_t inode);
/* As wait(2) has it; -1: it lives, or nobody knows. */
int played_exit_status(pid_t pid);

/* Reports the end of each process whose lock nobody holds any more, as its pidfd would, once. Was there one? */
bool played_life_report_ends(void);

#endif
