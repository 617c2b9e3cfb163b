/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/doubting_analysis.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"

struct analysis {
	uint64_t records;
};

struct analysis *doubting_analysis(void)
{
	static struct analysis analysis;

	return &analysis;
}

static int require(struct analysis *analysis, bool promise)
{
	if (!promise)
		abort();
	analysis->records++;
	return 0;
}

#define TERMINATED(text) (memchr((text), '\0', sizeof(text)) != NULL)

int analysis_add_process(struct analysis *analysis, const struct analysis_process *process)
{
	const struct rw_box_header *box = process->box;

	return require(analysis, TERMINATED(box->host) && TERMINATED(box->job) && TERMINATED(box->boot_id) &&
					 TERMINATED(box->rank_from) && TERMINATED(box->watchdog_from) &&
					 TERMINATED(box->environment) && TERMINATED(box->process_name) &&
					 TERMINATED(box->gpu_progress_state) && box->comms_used <= RW_BOX_COMMS);
}

int analysis_set_box(struct analysis *analysis, analysis_process_id process, const struct rw_box_header *box)
{
	(void)analysis, (void)process, (void)box;
	return 0;
}

int analysis_add_communicator(struct analysis *analysis, analysis_process_id process, uint32_t index,
			      const struct rw_communicator *communicator)
{
	(void)process;
	return require(analysis, index < RW_BOX_COMMS && communicator->born_ns && TERMINATED(communicator->name));
}

int analysis_add_operation(struct analysis *analysis, analysis_process_id process, const struct rw_operation *slot)
{
	(void)process;
	return require(analysis, slot->ticket != 0);
}

int analysis_add_progress(struct analysis *analysis, analysis_process_id process, uint32_t index, uint64_t gpu_started,
			  uint64_t gpu_done, uint64_t now_ns)
{
	(void)process, (void)gpu_started, (void)gpu_done, (void)now_ns;
	return require(analysis, index < RW_BOX_COMMS);
}

int analysis_add_network(struct analysis *analysis, const struct analysis_network *network)
{
	uint64_t longest = network->to_ns - network->from_ns;

	return require(analysis, network->index < RW_BOX_COMMS && network->peer >= 0 && network->from_ns &&
					 network->from_ns <= network->to_ns && longest < UINT64_MAX / 2);
}

int analysis_add_wait(struct analysis *analysis, const struct analysis_wait *wait)
{
	return require(analysis, TERMINATED(wait->thread) && TERMINATED(wait->path) && TERMINATED(wait->wait_channel) &&
					 TERMINATED(wait->file_system) && TERMINATED(wait->device_name));
}

int analysis_set_birth(struct analysis *analysis, analysis_process_id process, const struct rw_birth *birth)
{
	(void)analysis, (void)process, (void)birth;
	return 0;
}

int analysis_set_held(struct analysis *analysis, analysis_process_id process, const char *call, const char *remedy,
		      uint64_t since_ns)
{
	(void)process;
	return require(analysis, since_ns <= INT64_MAX && (!call || (*call && remedy)));
}

int analysis_set_heartbeat(struct analysis *analysis, analysis_process_id process, uint64_t at_ns)
{
	(void)process;
	return require(analysis, at_ns <= INT64_MAX);
}

int analysis_set_life(struct analysis *analysis, analysis_process_id process, enum analysis_life life, int exit_status,
		      uint64_t at_ns)
{
	(void)process, (void)life, (void)exit_status;
	return require(analysis, at_ns <= INT64_MAX);
}

void analysis_tick(struct analysis *analysis, uint64_t now_ns)
{
	require(analysis, now_ns <= INT64_MAX);
}
