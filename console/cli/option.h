/* SPDX-License-Identifier: MIT */
/* The options of a command as its argp table has them, with argp's own --help and --usage. */
#ifndef CONSOLE_CLI_OPTION_H
#define CONSOLE_CLI_OPTION_H

#include <argp.h>
#include <stdbool.h>

/* Calls visit for each option that people see, in the table's order, those of its children next,
 * --help and --usage last. */
void option_each(const struct argp *argp, void (*visit)(void *argument, const struct argp_option *option),
		 void *argument);

/* What may follow the options ("[DIRECTORY|FILE...]"): the command's own words, else those of a child; NULL: nothing. */
const char *option_operands(const struct argp *argp);

/* The first argument that is a long option nobody knows, NULL when there is none. in_order: what follows the first
 * operand is not ours. */
const char *option_unknown(const struct argp *argp, int argc, char **argv, bool in_order);

/* The option that was probably meant by this argument ("--fidings=x"), NULL when none is near. */
const struct argp_option *option_nearest(const struct argp *argp, const char *argument);

#endif
