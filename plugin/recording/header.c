/* SPDX-License-Identifier: MIT */
#include "plugin/recording/header.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "plugin/recording/environment.h"
#include "plugin/recording/recording.h"

/* ncclGetVersion of the libnccl that called us: there can be several in a process. Linked statically, it is in the
 * global scope or not to be had. */
static uint32_t find_nccl_version(const void *caller)
{
	int (*get_version)(int *) = NULL;
	void *library = NULL;
	int version = 0;
	Dl_info info;

	if (dladdr(caller, &info) && info.dli_fname)
		library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	*(void **)&get_version = dlsym(library ? library : RTLD_DEFAULT, "ncclGetVersion");
	if (get_version)
		get_version(&version);
	if (library)
		dlclose(library);
	return (uint32_t)version;
}

static uint32_t own_version(void)
{
	unsigned int major = 0, minor = 0, patch = 0;

	sscanf(RANKWATCH_VERSION, "%u.%u.%u", &major, &minor, &patch);
	return major << 16 | minor << 8 | patch;
}

void header_fill_identity(struct rw_box_header *header, const struct identity *identity)
{
	snprintf(header->host, sizeof(header->host), "%s", identity->host);
	snprintf(header->job, sizeof(header->job), "%s", identity->job);
	snprintf(header->rank_from, sizeof(header->rank_from), "%s", identity->rank_from);
	header->world_rank = identity->world_rank;
	header->world_size = identity->world_size;
	header->local_rank = identity->local_rank;
	header->generation = identity->generation;
	header->watchdog_ms = identity->watchdog_ms;
	header->watchdog_init_ms = identity->watchdog_init_ms;
	snprintf(header->watchdog_from, sizeof(header->watchdog_from), "%s", identity->watchdog_from);
}

void header_fill(struct rw_box_header *header, const struct identity *identity)
{
	header_fill_identity(header, identity);
	snprintf(header->process_name, sizeof(header->process_name), "%s", program_invocation_short_name);
	header->rankwatch_version = own_version();
	header->interposed = recording_is_interposed();
	environment_keep(environ, header->environment, sizeof(header->environment));
}

void header_fill_nccl(struct rw_box_header *header, const void *caller, uint32_t abi)
{
	header->nccl_version = find_nccl_version(caller);
	header->profiler_abi = abi;
	header->interposed = recording_is_interposed();
}
