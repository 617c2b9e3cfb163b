/* SPDX-License-Identifier: MIT */
/* Completion of commands and options for shells, made from the same tables as --help. */
#ifndef CONSOLE_CLI_COMPLETION_H
#define CONSOLE_CLI_COMPLETION_H

#include <stdio.h>

/* Prints the script for "bash", "zsh" or "fish"; -EINVAL for another shell. */
int completion_print(FILE *out, const char *shell);

#endif
