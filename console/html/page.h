/* SPDX-License-Identifier: MIT */
/* The document around the data: console/html/report.html with its style and script, as the build put them together
 * (embed.py), and the data as JSON in the middle. */
#ifndef CONSOLE_HTML_PAGE_H
#define CONSOLE_HTML_PAGE_H

#include <stdio.h>

#include <jansson.h>

/* Every text in `data` is escaped here, as text of somebody else is everywhere. 0 or -ENOMEM; errors of the file:
 * ferror(out). */
int page_write(FILE *out, json_t *data);

#endif
