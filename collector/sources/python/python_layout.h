/* SPDX-License-Identifier: MIT */
/*
 * Where the interpreter keeps what is read of it, by version, in bytes. 3.11: offsetof() of the headers that Debian's
 * python3.11-dev installs (Include/internal). 3.12: the same structures as its debug information and its headers
 * describe them. From 3.13 on the interpreter says itself where things are (_Py_DebugOffsets,
 * Include/internal/pycore_debug_offsets.h), in a table whose own form is that of the version: known of 3.13 to 3.15. Of
 * any other nothing is said.
 */
#ifndef COLLECTOR_SOURCES_PYTHON_PYTHON_LAYOUT_H
#define COLLECTOR_SOURCES_PYTHON_PYTHON_LAYOUT_H

#include "collector/sources/python/python_image.h"

#define PYTHON_LAYOUT_NONE UINT32_MAX

struct python_layout {
	uint32_t interpreters; /* in _PyRuntime: the first interpreter … */
	uint32_t runtime_gil;  /* … and the lock; NONE: each interpreter has one … */
	uint32_t gil_pointer;  /* … which this leads to, in the interpreter; NONE */
	uint32_t gil_holder, gil_locked;
	uint32_t next_interpreter, threads;
	uint32_t collecting; /* 1 while garbage is collected */
	/* In the same state, of versions without a table: a pointer that always leads to the youngest generation. Where
	 * it does not, `collecting` is something else. NONE: the interpreter has said where the state is. */
	uint32_t youngest, generation;
	uint32_t next_thread, interpreter_of_thread, native_id;
	uint32_t cframe; /* of the thread, leads to the frame; NONE: the thread itself does */
	uint32_t frame;
	uint32_t frame_size; /* as much of it as is read: no frame has less */
	uint32_t code, previous, instruction, owner;
	uint32_t code_tag;   /* bits of the code object's address that are none of it */
	uint32_t file, name, lines, first_line, instructions;
	uint32_t ascii_text, compact_text; /* where the characters of a str begin */
};

/* How many bytes of the lock hold what its waiters wait on (pthread_cond_t, pthread_mutex_t), with what is before. */
enum { PYTHON_LAYOUT_GIL = 208 };
/* A frame_size is at most this. */
enum { PYTHON_LAYOUT_FRAME = 128 };

/* 0, or -ENOTSUP: not known of this version or build. */
int python_layout_find(struct remote_memory *memory, const struct python_image *image, struct python_layout *layout);

#endif
