/* SPDX-License-Identifier: MIT */
/* The options of a command as its argp table has them, with argp's own --help and --usage. */
#ifndef CONSOLE_CLI_OPTION_H
#define CONSOLE_CLI_OPTION_H

#include <argp.h>
#include <stdbool.h>

/* An option of which no more is to be said than where its value goes: a flag, a text, or, for ARGP_KEY_INIT, what the
 * first child parses into. */
struct option_field {
	int key;
	bool *flag;
	const char **text;
	void *child;
};

/* For a parser: takes the key when one of the fields has it. The last field is all 0. */
error_t option_take(const struct option_field *fields, int key, char *argument, struct argp_state *state);

/* A copy of an argument that no other user of the machine shall read in our command line, where it is overwritten.
 * Never freed. */
const char *option_hide(char *argument);

/* Calls visit for each option that people see, in the table's order, those of its children next,
 * --help and --usage last. */
void option_each(const struct argp *argp, void (*visit)(void *argument, const struct argp_option *option),
		 void *argument);

/* What may follow the options ("[DIRECTORY|FILE...]"): the command's own words, else those of a child; NULL:
 * nothing. */
const char *option_operands(const struct argp *argp);

/* The first argument that is a long option nobody knows, NULL when there is none. in_order: what follows the first
 * operand is not ours. */
const char *option_unknown(const struct argp *argp, int argc, char **argv, bool in_order);

/* The option that was probably meant by this argument ("--fidings=x"), NULL when none is near. */
const struct argp_option *option_nearest(const struct argp *argp, const char *argument);

#endif
