/* SPDX-License-Identifier: MIT */
/* Arguments of options, for their parsers. */
#ifndef SIM_WORKLOAD_JOB_ARGUMENT_H
#define SIM_WORKLOAD_JOB_ARGUMENT_H

#include <argp.h>

/* A number within [low, high]; otherwise it ends the program with a message. */
long argument_number(const char *text, long low, long high, const struct argp_state *state);

#endif
