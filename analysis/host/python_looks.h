/* SPDX-License-Identifier: MIT */
/* What looks at the Python of one process showed: the latest of them, and what those of some windows say together. */
#ifndef ANALYSIS_HOST_PYTHON_LOOKS_H
#define ANALYSIS_HOST_PYTHON_LOOKS_H

#include "analysis/analysis.h"
#include "analysis/numbers/intern.h"

enum { PYTHON_LOOKS = 16 };
/* What is told was seen so often at least, and in so much of the looks: one look is a moment. */
enum { PYTHON_LOOKS_LEAST = 2 };
#define PYTHON_LOOKS_SHARE 0.5

struct python_looks_place {
	intern_id function, file; /* function 0: not known */
	int32_t line;             /* 0 not known */
};

struct python_looks_thread {
	uint32_t tid;
	struct python_looks_place inner, own;
};

struct python_looks_one {
	uint64_t at_ns;
	uint32_t tid, holder;
	bool waits, collecting;
	uint32_t thread_count;
	struct python_looks_thread threads[ANALYSIS_PYTHON_THREADS];
};

struct python_looks {
	uint64_t count; /* ever; number i is at i % PYTHON_LOOKS */
	struct python_looks_one looks[PYTHON_LOOKS];
};

/* Of the thread that should enqueue. All zero: nothing is known. */
struct python_looks_answer {
	uint32_t looks;                  /* in the windows */
	uint32_t seen;                   /* of them: in this function … */
	struct python_looks_place place; /* … of the program, else of a library; its line in the latest of them … */
	struct python_looks_place inner; /* … from which it had called this one; function 0: none, or not always */
	/* of the looks: it waited for the interpreter's lock; 0: too seldom to be told … */
	uint32_t waits;
	/* … which this thread held in so many of them; holder 0: several by turns, in one … */
	uint32_t held, holder;
	struct python_looks_place holder_place; /* … function, the last time there; held 0: nothing is mostly so */
	uint32_t collecting;             /* of the looks: garbage was collected; 0: too seldom to be told */
};

/* *looks: made with the first; the owner's, for free(). 0 or -ENOMEM. */
int python_looks_add(struct python_looks **looks, struct intern *intern, const struct analysis_python *seen);

struct cause_window;
/* looks NULL: none yet. */
void python_looks_ask(const struct python_looks *looks, uint32_t tid, const struct cause_window *windows,
		      uint32_t count, struct python_looks_answer *answer);

#endif
