/* SPDX-License-Identifier: MIT */
/* What the terminal behind a descriptor can do. */
#ifndef CONSOLE_CLI_TERMINAL_H
#define CONSOLE_CLI_TERMINAL_H

#include <stdbool.h>

/* Columns: the terminal's own, else COLUMNS, else 80; between 40 and 120. */
int terminal_width(int fd);
/* The same for text that is broken on terminals only: 0 where the descriptor leads elsewhere. */
int terminal_break_width(int fd);
/* A terminal that is not "dumb", and NO_COLOR is not set (https://no-color.org: set and not empty). */
bool terminal_has_colour(int fd);

#endif
