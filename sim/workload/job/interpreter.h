/* SPDX-License-Identifier: MIT */
/*
 * The real Python as the process of a rank: rank.py, beside the workload, loads workload.so and calls workload_rank()
 * from its main thread. What a training loop does in Python between two steps is a function there, which C calls: it
 * needs the interpreter's lock for that, and gets it when the threads that rank.py has started let go of it.
 */
#ifndef SIM_WORKLOAD_JOB_INTERPRETER_H
#define SIM_WORKLOAD_JOB_INTERPRETER_H

#include <stdbool.h>
#include <stddef.h>

/* Is there a python3, and what it loads? If not, -errno and what is missing. */
int interpreter_check(char *reason, size_t size);
/* Replaces this process by python3 with the same arguments. Returns only with -errno. */
int interpreter_become(char **argv);
/* The calling thread runs its lines of Python; `crowded`: while the other threads compute in Python, too. */
void interpreter_run_lines(bool crowded);

/* For rank.py. `lines` runs what interpreter_run_lines() asks for; the status is that of the rank. */
int workload_rank(int argc, char **argv, void (*lines)(int crowded));

#endif
