/* SPDX-License-Identifier: MIT */
/* What each process runs: NCCL, CUDA driver, rankwatch, and the NCCL variables that are set. */
#ifndef ANALYSIS_KNOWN_VERSIONS_H
#define ANALYSIS_KNOWN_VERSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <rankwatch/blackbox.h>

/* What one process runs, from its box. */
struct versions {
	uint32_t nccl, cuda, rankwatch; /* as in the box; 0 not known */
	bool interposed;
	char *variables;                /* NCCL_…=VALUE\0…, malloc'ed, ends in an empty one; NULL none */
};

/* 0 or -ENOMEM. */
int versions_read(struct versions *versions, const struct rw_box_header *box);
/* All but the variables; a box can say it late. */
void versions_read_builds(struct versions *versions, const struct rw_box_header *box);
void versions_free(struct versions *versions);

#endif
