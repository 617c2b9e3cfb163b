/* SPDX-License-Identifier: MIT */
/* What a command prints for a program: one JSON object a line. */
#ifndef CONSOLE_CLI_JSON_LINE_H
#define CONSOLE_CLI_JSON_LINE_H

#include <jansson.h>

/* On standard output, in ASCII. Takes the object; NULL, for which there was no memory, prints nothing. */
void json_line_print(json_t *line);

#endif
