/* SPDX-License-Identifier: MIT */
/* From an instruction of a code object to its line: co_linetable of Python 3.11 and newer, as CPython
 * describes it in Objects/locations.md. */
#ifndef COLLECTOR_SOURCES_PYTHON_PYTHON_LINES_H
#define COLLECTOR_SOURCES_PYTHON_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* unit: number of the two-byte instruction unit. 0: the table does not say. */
int32_t python_lines_find(const uint8_t *table, size_t size, int32_t first_line, uint32_t unit);

#endif
