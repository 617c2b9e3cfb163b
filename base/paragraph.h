/* SPDX-License-Identifier: MIT */
/* Text broken at spaces to fit the terminal. */
#ifndef BASE_PARAGRAPH_H
#define BASE_PARAGRAPH_H

#include <stdbool.h>
#include <stdio.h>

/* Prints text, escaped as foreign text is, and a newline. `column`: where the cursor is; following lines start at
 * `indent`. A figure and its unit ("98 %") are one word. Words that are longer than a line stay whole: a path must be
 * copied, not cut. */
void paragraph_print(FILE *out, const char *text, int column, int indent, int width);

#endif
