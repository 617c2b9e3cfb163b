/* SPDX-License-Identifier: MIT */
/* Ranks that run something else than the others: NCCL, CUDA driver, rankwatch, or NCCL variables that must agree. */
#ifndef ANALYSIS_VERSIONS_H
#define ANALYSIS_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

struct analysis;

#define VERSIONS_SETTLE_NS 2000000000u /* after the last process has come */

/* What one process runs, from its box. */
struct versions {
	uint32_t nccl, cuda, rankwatch; /* as in the box; 0 not known */
	bool interposed;
	char *variables;                /* NCCL_…=VALUE\0…, malloc'ed, ends in an empty one; NULL none */
};

/* Who had come when it was looked at last. */
struct versions_watch {
	uint32_t processes, ranks;
	uint64_t since_ns;
	bool compared;
};

/* 0 or -ENOMEM. */
int versions_read(struct versions *versions, const struct rw_box_header *box);
/* All but the variables; a box can say it late. */
void versions_read_builds(struct versions *versions, const struct rw_box_header *box);
void versions_free(struct versions *versions);
/* One finding for all differences; compares when processes have come and no other came for VERSIONS_SETTLE_NS. */
void versions_tick(struct analysis *analysis, uint64_t now_ns);

#endif
