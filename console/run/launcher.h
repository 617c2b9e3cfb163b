/* SPDX-License-Identifier: MIT */
/* Commands that start the job elsewhere (srun, mpirun, docker, …): `rankwatch run` in front of them would watch the
 * launcher. It belongs inside, in front of the program. Pure. */
#ifndef CONSOLE_RUN_LAUNCHER_H
#define CONSOLE_RUN_LAUNCHER_H

#include <stdbool.h>
#include <stdio.h>

/* Is argv[0], whatever its path, such a command? */
bool launcher_is(const char *command);
/* Prints the command line with `inserted` ("rankwatch run --") where it belongs, or how to do it where that is in a
 * script or cannot be known from the arguments. */
void launcher_print_advice(FILE *out, int argc, char *const *argv, const char *inserted);

#endif
