/* SPDX-License-Identifier: MIT */
#include "plugin/recording/environment.h"

#include <stdbool.h>
#include <string.h>

enum { VALUE_MAX_LENGTH = 200 };

/* Exact names, or prefixes that end in _. In this order: Slurm has many and comes last. */
static const char *const allowed[] = {
	"RANK",          "WORLD_SIZE",      "LOCAL_RANK",      "LOCAL_WORLD_SIZE",
	"GROUP_RANK",    "MASTER_ADDR",     "MASTER_PORT",     "RANKWATCH",
	"RANKWATCH_",    "NCCL_",           "CUDA_",           "TORCH_",
	"TORCHELASTIC_", "PYTORCH_",        "OMP_NUM_THREADS", "OMPI_COMM_WORLD_",
	"PMIX_RANK",     "PMI_RANK",        "PMI_SIZE",        "MV2_COMM_WORLD_",
	"FLUX_",         "PBS_JOBID",       "LSB_JOBID",       "RAY_JOB_ID",
	"NODE_NAME",     "SLURMD_NODENAME", "SLURM_",
};

static const char *const secrets[] = {
	"TOKEN", "SECRET", "PASS", "KEY", "CREDENTIAL", "AUTH", "COOKIE", "JWT", "NATS"
};

static bool matches(const char *variable, const char *pattern)
{
	size_t length = strlen(pattern);

	if (strncmp(variable, pattern, length) != 0)
		return false;
	return pattern[length - 1] == '_' || variable[length] == '=';
}

static bool may_be_secret(const char *variable)
{
	size_t name = strcspn(variable, "=");
	const char *url = strstr(variable, "://");

	if (url && strchr(url, '@'))
		return true;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		const char *found = strstr(variable, secrets[i]);

		if (found && found < variable + name)
			return true;
	}
	return false;
}

static size_t keep(const char *variable, char *room, size_t size)
{
	size_t length = strnlen(variable, strcspn(variable, "=") + VALUE_MAX_LENGTH);

	if (length + 2 > size) /* its own end and the list's */
		return 0;
	memcpy(room, variable, length);
	room[length] = '\0';
	return length + 1;
}

void environment_keep(char *const *environment, char *room, size_t size)
{
	size_t used = 0;

	memset(room, 0, size);
	for (size_t i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
		for (char *const *at = environment; *at; at++)
			if (matches(*at, allowed[i]) && !may_be_secret(*at))
				used += keep(*at, room + used, size - used);
}
