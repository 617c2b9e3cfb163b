/* SPDX-License-Identifier: MIT */
#include "sim/workload/job/mesh.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define EXPERTS (MESH_SET(MESH_EFSDP) | MESH_SET(MESH_EP))

static const struct {
	const char *name;
	enum mesh_dimension dimension;
} names[] = {
	{ "pp", MESH_PP }, { "dp_replicate", MESH_DP_REPLICATE }, { "ddp", MESH_DP_REPLICATE }, { "fsdp", MESH_FSDP },
	{ "cp", MESH_CP }, { "tp", MESH_TP },	{ "efsdp", MESH_EFSDP },       { "ep", MESH_EP },
};

/* Strides from the innermost dimension outwards; what replicates and pipelines spans the dense and the expert part. */
static void lay_out(struct mesh *mesh)
{
	int *size = mesh->sizes, *stride = mesh->strides;

	stride[MESH_TP] = stride[MESH_EP] = 1;
	stride[MESH_CP] = size[MESH_TP];
	stride[MESH_FSDP] = stride[MESH_CP] * size[MESH_CP];
	stride[MESH_EFSDP] = size[MESH_EP];
	stride[MESH_DP_REPLICATE] = stride[MESH_FSDP] * size[MESH_FSDP];
	stride[MESH_PP] = stride[MESH_DP_REPLICATE] * size[MESH_DP_REPLICATE];
}

static void clear(struct mesh *mesh)
{
	for (int i = 0; i < MESH_DIMENSIONS; i++)
		mesh->sizes[i] = 1;
}

void mesh_of_fsdp(struct mesh *mesh, int ranks)
{
	clear(mesh);
	mesh->sizes[MESH_FSDP] = ranks;
	mesh->sizes[MESH_EFSDP] = ranks;
	lay_out(mesh);
}

static int *size_named(struct mesh *mesh, const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(names[i].name, name))
			return &mesh->sizes[names[i].dimension];
	return NULL;
}

/* One "name=size"; moves *text behind it and its comma. */
static const char *read_dimension(struct mesh *mesh, const char **text)
{
	char name[16];
	int size, length;

	if (sscanf(*text, "%15[a-z_]=%d%n", name, &size, &length) != 2)
		return "it is not of the form name=size,name=size";
	int *known = size_named(mesh, name);
	if (!known)
		return "dimensions are pp, dp_replicate (or ddp), fsdp, cp, tp, efsdp, ep";
	if (*known != 1)
		return "a dimension is there twice";
	if (size < 1 || size > MESH_RANKS_MAX)
		return "sizes are from 1 to 64";
	*known = size;
	*text += length;
	if (**text == ',' && (*text)[1])
		++*text;
	else if (**text)
		return "it is not of the form name=size,name=size";
	return NULL;
}

/* The experts' dimensions cover the same ranks as fsdp, cp and tp do: one of them follows from the others. */
static const char *fit_experts(struct mesh *mesh)
{
	int *size = mesh->sizes, dense = size[MESH_FSDP] * size[MESH_CP] * size[MESH_TP];

	if (dense == 1 && size[MESH_EFSDP] > 1)
		dense = size[MESH_FSDP] = size[MESH_EFSDP] * size[MESH_EP];
	else if (dense == 1 && size[MESH_EP] > 1)
		dense = size[MESH_FSDP] = size[MESH_EP];
	if (dense % size[MESH_EP])
		return "ep does not divide fsdp * cp * tp";
	if (size[MESH_EFSDP] > 1 && size[MESH_EFSDP] * size[MESH_EP] != dense)
		return "efsdp * ep is not fsdp * cp * tp";
	size[MESH_EFSDP] = dense / size[MESH_EP];
	return NULL;
}

const char *mesh_parse(struct mesh *mesh, const char *text)
{
	const char *wrong = *text ? NULL : "it is empty";

	clear(mesh);
	while (!wrong && *text)
		wrong = read_dimension(mesh, &text);
	if (!wrong)
		wrong = fit_experts(mesh);
	if (!wrong && mesh_ranks(mesh) > MESH_RANKS_MAX)
		wrong = "it has more than 64 ranks";
	if (!wrong)
		lay_out(mesh);
	return wrong;
}

int mesh_ranks(const struct mesh *mesh)
{
	int ranks = 1;

	for (int i = MESH_PP; i <= MESH_TP && ranks <= MESH_RANKS_MAX; i++)
		ranks *= mesh->sizes[i];
	return ranks;
}

static int coordinate(const struct mesh *mesh, enum mesh_dimension dimension, int rank)
{
	return rank / mesh->strides[dimension] % mesh->sizes[dimension];
}

int mesh_members(const struct mesh *mesh, unsigned int dimensions, int rank, int *members)
{
	unsigned int dense = MESH_SHARD | MESH_SET(MESH_TP);
	unsigned int fixed = dimensions & EXPERTS ? ~dimensions & ~dense : ~dimensions & ~EXPERTS;
	int count = 0;

	for (int other = 0; other < mesh_ranks(mesh); other++) {
		bool same = true;

		for (int i = 0; i < MESH_DIMENSIONS; i++)
			same &= !(fixed & MESH_SET(i)) ||
				coordinate(mesh, i, other) == coordinate(mesh, i, rank);
		if (same)
			members[count++] = other;
	}
	return count;
}
