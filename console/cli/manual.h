/* SPDX-License-Identifier: MIT */
/* Manual pages, made from the same tables as --help, so that neither can know an option that the other does not. */
#ifndef CONSOLE_CLI_MANUAL_H
#define CONSOLE_CLI_MANUAL_H

#include <stdio.h>

#include "console/cli/command.h"

/* rankwatch-NAME(1) in troff's man macros; command NULL: rankwatch(1), the overview. */
void manual_print(FILE *out, const struct command *command);

#endif
