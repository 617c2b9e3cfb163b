/* SPDX-License-Identifier: MIT */
/*
 * Where a process has its Python interpreter, and which version it is: from the process's memory alone. The executable
 * or libpython is found by its name in /proc/PID/maps, its symbols _PyRuntime and Py_Version (public since Python 3.11:
 * Include/pylifecycle.h) by the ELF headers and the GNU hash table that the loader has mapped. No file is opened: their
 * names are the job's.
 */
#ifndef COLLECTOR_SOURCES_PYTHON_PYTHON_IMAGE_H
#define COLLECTOR_SOURCES_PYTHON_PYTHON_IMAGE_H

#include "collector/sources/python/remote_memory.h"

struct python_image {
	uint64_t runtime;  /* address of _PyRuntime */
	uint32_t version;  /* Py_Version: 0x030b02f0 is 3.11.2 final; before 3.11 0x030a0000 without the rest */
};

/* The next line of /proc/PID/maps, terminated, cut where it does not fit; false: no more. */
typedef bool python_image_line(void *argument, char *line, size_t room);

/* 0, or -ENOENT: none is seen there. */
int python_image_find(struct remote_memory *memory, python_image_line *next, void *argument,
		      struct python_image *image);

#endif
