/* SPDX-License-Identifier: MIT */
/*
 * The threads of a Python interpreter in another process, and which of them holds the interpreter's lock (GIL), read
 * from its own structures while it runs. It is never stopped, so what is read may be torn: whoever reads believes only
 * what two reads in a row say alike (python_view_agree()). Every pointer is followed only to an object whose type says
 * what it is.
 */
#ifndef COLLECTOR_SOURCES_PYTHON_PYTHON_VIEW_H
#define COLLECTOR_SOURCES_PYTHON_PYTHON_VIEW_H

#include "collector/sources/python/python_image.h"

enum { PYTHON_VIEW_THREADS = 32, PYTHON_VIEW_FUNCTION = 64, PYTHON_VIEW_FILE = 96, PYTHON_VIEW_READS = 40000 };

/* Text is UTF-8, longer names lose their end, longer paths their beginning. */
struct python_place {
	char function[PYTHON_VIEW_FUNCTION]; /* "Trainer.save"; "" not known */
	char file[PYTHON_VIEW_FILE];
	int32_t line; /* 0 not known */
};

struct python_thread {
	uint32_t tid;              /* as the process's own pid namespace numbers it */
	uint64_t frame;            /* what two reads are compared by: address of its innermost frame … */
	uint64_t instruction;      /* … and where in it */
	struct python_place inner; /* the innermost function */
	/* the innermost that is not of Python's own library or installed packages; "": none */
	struct python_place own;
};

struct python_view {
	uint32_t version; /* as in struct python_image */
	uint32_t thread_count;
	uint32_t holder; /* tid of the thread that has the lock; 0: nobody, or not known */
	bool collecting; /* garbage; false: not, or several interpreters */
	uint64_t gil;    /* address of the lock; 0: several interpreters, or not known */
	struct python_thread threads[PYTHON_VIEW_THREADS];
};

/* At most PYTHON_VIEW_THREADS of its threads, `tid` among them where it is one. 0, -ENOENT: no interpreter is seen or
 * it has not begun, -ENOTSUP: its version or build is not known (see view->version), -EAGAIN: what was read is not
 * sound. */
int python_view_read(struct remote_memory *memory, const struct python_image *image, uint32_t tid,
		     struct python_view *view);
/* Keeps of `view` what `again`, read a moment later, says too: threads that are elsewhere by now lose their places. */
void python_view_agree(struct python_view *view, const struct python_view *again);
const struct python_thread *python_view_thread(const struct python_view *view, uint32_t tid); /* NULL: not there */

#endif
