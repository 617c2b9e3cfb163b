/* SPDX-License-Identifier: MIT */
/*
 * Where the interpreter keeps what is read of it, by version, in bytes. 3.11: offsetof() of the headers that Debian's
 * python3.11-dev installs (Include/internal). 3.12: the same structures as its debug information describes them. From 3.13 on the
 * interpreter says itself where things are (_Py_DebugOffsets, Include/internal/pycore_debug_offsets.h), in a table whose own form
 * is that of the version. Of any other nothing is said.
 */
#ifndef COLLECTOR_SOURCES_PYTHON_LAYOUT_H
#define COLLECTOR_SOURCES_PYTHON_LAYOUT_H

#include "collector/sources/python_image.h"

#define PYTHON_LAYOUT_NONE UINT32_MAX

struct python_layout {
	uint32_t interpreters; /* in _PyRuntime: the first interpreter … */
	uint32_t runtime_gil;  /* … and the lock; NONE: each interpreter has one … */
	uint32_t gil_pointer;  /* … which this leads to, in the interpreter; NONE */
	uint32_t gil_holder, gil_locked;
	uint32_t next_interpreter, threads;
	uint32_t collecting; /* garbage is collected; NONE: not known where it says so */
	uint32_t next_thread, interpreter_of_thread, native_id;
	uint32_t cframe; /* of the thread, leads to the frame; NONE: the thread itself does */
	uint32_t frame;
	uint32_t code, previous, instruction, owner;
	uint32_t file, name, lines, first_line, instructions;
	uint32_t ascii_text, compact_text; /* where the characters of a str begin */
};

/* How many bytes of the lock hold what its waiters wait on (pthread_cond_t, pthread_mutex_t), with what is before. */
enum { PYTHON_LAYOUT_GIL = 208 };

/* 0, or -ENOTSUP: not known of this version or build. */
int python_layout_find(struct remote_memory *memory, const struct python_image *image, struct python_layout *layout);

#endif
