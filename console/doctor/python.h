/* SPDX-License-Identifier: MIT */
/* Where the Python that a training command uses keeps its packages. */
#ifndef CONSOLE_DOCTOR_PYTHON_H
#define CONSOLE_DOCTOR_PYTHON_H

#include <stddef.h>

#include "console/doctor/check.h"

/* The interpreter of the context's command (python itself, or the first line of a script such as torchrun), else the
 * first python3 in PATH. "" when there is none. */
void python_interpreter(const struct check_context *context, char *path, size_t size);
/* Its sys.path, one directory a line; asks the interpreter, which imports nothing for that. "" when it does not answer.
 */
void python_packages(const struct check_context *context, char *directories, size_t size);

#endif
