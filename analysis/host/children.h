/* SPDX-License-Identifier: MIT */
/* What the child processes of a rank used lately, and whether the rank makes progress by them: it may wait for one that
 * compiles, unpacks or reads for it. Where it comes from: docs/host-evidence.md, "Processes that a rank waits for". */
#ifndef ANALYSIS_HOST_CHILDREN_H
#define ANALYSIS_HOST_CHILDREN_H

#include "analysis/analysis.h"
#include "analysis/numbers/intern.h"

enum { CHILDREN_KEPT = 8, CHILDREN_TEXT = 160 };
#define CHILDREN_SOURCE "children" /* of the piece of evidence */

/* The child processes make progress when all of them together use this share of a CPU, … */
#define CHILDREN_CPU   0.05
#define CHILDREN_BYTES 262144 /* … read and write so many bytes a second, … */
#define CHILDREN_DISK  0.5    /* … or one of them is in an uninterruptible wait for this share of the time */

struct children_piece {
	uint64_t from_ns, at_ns, cpu_ns, bytes; /* as in struct analysis_children */
	bool in_disk;
	struct {
		int32_t pid;
		intern_id name;
		bool is_child, in_disk;
		uint64_t cpu_ns, bytes;
	} busiest;
};

struct children {
	uint64_t count; /* ever; number i is at i % CHILDREN_KEPT */
	struct children_piece pieces[CHILDREN_KEPT];
};

/* *children: made with the first; the owner's, for free(). 0 or -ENOMEM. */
int children_add(struct children **children, struct intern *intern, const struct analysis_children *seen);
/* Did they make progress between the two times? False where nothing was read. children NULL: none yet. */
bool children_get_on(const struct children *children, uint64_t from_ns, uint64_t to_ns);
/* For what they did then, where they got on: "its child 4711 "cc1plus" uses 98 % of a CPU". */
void children_describe(const struct children *children, const struct intern *intern, uint64_t from_ns, uint64_t to_ns,
		       char *text, size_t room);

#endif
