/* SPDX-License-Identifier: MIT */
#include "identity/identity.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "identity/decimal.h"
#include "identity/watchdog.h"

struct source {
	identity_get *get;
	void *argument;
};

static const char *value_of(const struct source *source, const char *name)
{
	const char *value = source->get(source->argument, name);

	return value && *value ? value : NULL;
}

/* A whole non-negative number that fits, or -1. */
static int32_t number(const char *text)
{
	uint64_t value;
	const char *end = text ? decimal_whole(text, INT32_MAX, &value) : NULL;

	return end && !*end ? (int32_t)value : -1;
}

struct place {
	const char *rank, *size;
};

static void read_world(struct identity *identity, const struct source *source, int32_t largest_comm)
{
	static const struct place places[] = {
		{ "RANKWATCH_RANK", "WORLD_SIZE" },
		{ "RANK", "WORLD_SIZE" },
		{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE" },
		{ "PMIX_RANK", "PMIX_SIZE" },
		{ "PMI_RANK", "PMI_SIZE" },
		{ "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE" },
		{ "FLUX_TASK_RANK", "FLUX_JOB_SIZE" },
		{ "SLURM_PROCID", "SLURM_NTASKS" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		int32_t rank = number(value_of(source, places[i].rank));
		int32_t size = number(value_of(source, places[i].size));

		/* Under `srun torchrun` SLURM_PROCID is the node: then there are fewer tasks than ranks. */
		if (strcmp(places[i].rank, "SLURM_PROCID") == 0 && size != largest_comm)
			continue;
		if (rank < 0)
			continue;
		identity->world_rank = rank;
		identity->world_size = size;
		snprintf(identity->rank_from, sizeof(identity->rank_from), "%s", places[i].rank);
		return;
	}
}

static void read_local(struct identity *identity, const struct source *source)
{
	static const struct place places[] = {
		{ "LOCAL_RANK", "LOCAL_WORLD_SIZE" },
		{ "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE" },
		{ "MPI_LOCALRANKID", "MPI_LOCALNRANKS" },
		{ "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE" },
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		identity->local_rank = number(value_of(source, places[i].rank));
		if (identity->local_rank < 0)
			continue;
		identity->local_size = number(value_of(source, places[i].size));
		return;
	}
}

static void read_host(struct identity *identity, const struct source *source)
{
	const char *name = value_of(source, "SLURMD_NODENAME");

	if (!name)
		name = value_of(source, "NODE_NAME");
	if (name)
		snprintf(identity->host, sizeof(identity->host), "%s", name);
	else if (gethostname(identity->host, sizeof(identity->host)) != 0)
		snprintf(identity->host, sizeof(identity->host), "localhost");
	identity->host[sizeof(identity->host) - 1] = '\0';
}

static void name_job(struct identity *identity, const char *from, const char *prefix, const char *name)
{
	snprintf(identity->job, sizeof(identity->job), "%s%s", prefix, name);
	snprintf(identity->job_from, sizeof(identity->job_from), "%s", from);
}

static bool read_slurm_job(struct identity *identity, const struct source *source)
{
	const char *id = value_of(source, "SLURM_JOB_ID");
	const char *array = value_of(source, "SLURM_ARRAY_JOB_ID");
	const char *task = value_of(source, "SLURM_ARRAY_TASK_ID");
	const char *step = value_of(source, "SLURM_STEP_ID");
	char name[56];

	if (!id)
		return false;
	if (array && task)
		snprintf(name, sizeof(name), "%s_%s", array, task);
	else
		snprintf(name, sizeof(name), "%s", id);
	if (step) {
		size_t length = strlen(name);

		snprintf(name + length, sizeof(name) - length, ".%s", step);
	}
	name_job(identity, "SLURM_JOB_ID", "slurm-", name);
	return true;
}

/* The rendezvous id is "none" or somebody's constant (101) as often as not: only with the address it names a job. */
static bool read_torch_job(struct identity *identity, const struct source *source)
{
	const char *id = value_of(source, "TORCHELASTIC_RUN_ID");
	const char *address = value_of(source, "MASTER_ADDR");
	const char *port = value_of(source, "MASTER_PORT");
	bool none = id && strcmp(id, "none") == 0;
	bool constant = id && strspn(id, "0123456789") == strlen(id);
	char name[56];

	if (!id || (none && !(address && port)))
		return false;
	if (!(none || constant) || !(address && port))
		snprintf(name, sizeof(name), "%s", id);
	else
		snprintf(name, sizeof(name), "%s%s%s:%s", none ? "" : id, none ? "" : "-", address, port);
	name_job(identity, "TORCHELASTIC_RUN_ID", "torch-", name);
	return true;
}

static void read_job(struct identity *identity, const struct source *source)
{
	static const struct {
		const char *variable, *prefix;
	} schedulers[] = {
		{ "PBS_JOBID", "pbs-" },
		{ "LSB_JOBID", "lsf-" },
		{ "FLUX_JOB_ID", "flux-" },
		{ "RAY_JOB_ID", "ray-" },
	};
	const char *name = value_of(source, "RANKWATCH_JOB");

	if (name) {
		name_job(identity, "RANKWATCH_JOB", "", name);
		return;
	}
	if (read_slurm_job(identity, source))
		return;
	for (size_t i = 0; i < sizeof(schedulers) / sizeof(schedulers[0]); i++) {
		name = value_of(source, schedulers[i].variable);
		if (!name)
			continue;
		name_job(identity, schedulers[i].variable, schedulers[i].prefix, name);
		return;
	}
	if (!read_torch_job(identity, source))
		name_job(identity, "", "", "local");
}

static void read_generation(struct identity *identity, const struct source *source)
{
	int32_t generation = number(value_of(source, "TORCHELASTIC_RESTART_COUNT"));

	if (generation < 0)
		generation = number(value_of(source, "SLURM_RESTART_COUNT"));
	identity->generation = generation < 0 ? 0 : generation;
}

void identity_read(struct identity *identity, identity_get *get, void *argument, int32_t largest_comm,
		   const char *command_line, size_t command_line_size)
{
	const struct source source = { get, argument };

	*identity = (struct identity){ .world_rank = -1, .world_size = -1, .local_rank = -1, .local_size = -1 };
	read_world(identity, &source, largest_comm);
	read_local(identity, &source);
	read_host(identity, &source);
	read_job(identity, &source);
	read_generation(identity, &source);
	watchdog_read(identity, get, argument, command_line, command_line_size);
}
