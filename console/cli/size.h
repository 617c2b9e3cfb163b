/* SPDX-License-Identifier: MIT */
/* Amounts as people write them on a command line. */
#ifndef CONSOLE_CLI_SIZE_H
#define CONSOLE_CLI_SIZE_H

#include <stdint.h>

/* "500M", "2G", "4096"; units of 1024. 0 or -EINVAL. */
int size_parse(const char *text, uint64_t *bytes);
/* "90", "15m", "12h", "7d" to seconds. 0 or -EINVAL. */
int age_parse(const char *text, uint64_t *seconds);
/* "3.2 MiB"; returns text. */
const char *size_text(char text[24], uint64_t bytes);

#endif
