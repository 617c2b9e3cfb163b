/* SPDX-License-Identifier: MIT */
/*
 * How the ranks of a job are laid out, as TorchTitan does it (distributed/parallel_dims.py), outermost dimension first:
 * pp, dp_replicate, fsdp, cp, tp; and, over the same ranks, for the experts of a mixture: pp, dp_replicate, efsdp, ep.
 */
#ifndef SIM_WORKLOAD_JOB_MESH_H
#define SIM_WORKLOAD_JOB_MESH_H

enum { MESH_RANKS_MAX = 64 };

enum mesh_dimension {
	MESH_PP,
	MESH_DP_REPLICATE,
	MESH_FSDP,
	MESH_CP,
	MESH_TP,
	MESH_EFSDP,
	MESH_EP,
	MESH_DIMENSIONS
};

/* Set of dimensions. */
#define MESH_SET(dimension) (1u << (dimension))
/* TorchTitan shards parameters over the ranks that share the data, and those of one context. */
#define MESH_SHARD (MESH_SET(MESH_FSDP) | MESH_SET(MESH_CP))
#define MESH_LOSS  (MESH_SET(MESH_DP_REPLICATE) | MESH_SHARD)
#define MESH_WORLD (MESH_LOSS | MESH_SET(MESH_PP) | MESH_SET(MESH_TP))

struct mesh {
	int sizes[MESH_DIMENSIONS], strides[MESH_DIMENSIONS]; /* in ranks; a dimension that is not used has size 1 */
};

/* "fsdp=N". */
void mesh_of_fsdp(struct mesh *mesh, int ranks);
/*
 * From text like "pp=2,fsdp=2,tp=2". Order does not matter; `ddp` is dp_replicate; `ep` must divide fsdp * cp * tp;
 * `efsdp` may stand in place of fsdp. Returns NULL or, when the text is no mesh, what is wrong with it.
 */
const char *mesh_parse(struct mesh *mesh, const char *text);
int mesh_ranks(const struct mesh *mesh);
/* The ranks that differ from `rank` in these dimensions at most, ascending. `members` has room for MESH_RANKS_MAX.
 * Returns their number. Dimensions of the experts go with others of them, and pp and dp_replicate, only. */
int mesh_members(const struct mesh *mesh, unsigned int dimensions, int rank, int *members);

#endif
