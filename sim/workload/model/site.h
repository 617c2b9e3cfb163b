/* SPDX-License-Identifier: MIT */
/* Numbers for the calls of a step, so that no two of them carry the same values. */
#ifndef SIM_WORKLOAD_MODEL_SITE_H
#define SIM_WORKLOAD_MODEL_SITE_H

enum site_kind {
	SITE_FSDP,
	SITE_EXPERTS,
	SITE_DDP,
	SITE_TP_GATHER,
	SITE_TP_REDUCE,
	SITE_CP,
	SITE_TOKENS,
	SITE_ACTIVATION,
	SITE_SCALAR,
	SITE_GRAPH,
};

/* index: which layer, micro-batch or number of the kind. */
static inline int site_of(enum site_kind kind, int index)
{
	return kind * 1009 + index;
}

#endif
