/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/doubting_analysis.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/report/gpu_record.h"
#include "analysis/explain/port_evidence.h"
#include "tests/fuzz/told.h"

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

	told_text("process");
	told_value(process->id);
	told_value(box->comms_used);
	told_value(box->created_ns);
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
	told_text("communicator");
	told_value(process);
	told_value(index);
	told(communicator, sizeof(*communicator));
	return require(analysis, index < RW_BOX_COMMS && communicator->created_ns && TERMINATED(communicator->name));
}

int analysis_add_operation(struct analysis *analysis, analysis_process_id process, const struct rw_operation *slot)
{
	told_text("operation");
	told_value(process);
	told(slot, sizeof(*slot));
	return require(analysis, slot->ticket != 0);
}

int analysis_add_progress(struct analysis *analysis, analysis_process_id process, uint32_t index, uint64_t gpu_started,
			  uint64_t gpu_done, uint64_t now_ns)
{
	told_text("progress");
	told_value(process);
	told_value(index);
	told_value(gpu_started);
	told_value(gpu_done);
	told_value(now_ns);
	return require(analysis, index < RW_BOX_COMMS);
}

int gpu_record_put(struct analysis *analysis, analysis_process_id process, const struct rw_gpu_memory *record)
{
	told_text("gpu memory");
	told_value(process);
	told(record, sizeof(*record));
	return require(analysis, record->version == RW_GPU_MEMORY_VERSION && record->count <= RW_GPU_MEMORY_BINS &&
				     record->device < RW_BOX_DEVICES);
}

int port_record_put(struct analysis *analysis, analysis_process_id process, const struct rw_ports *record)
{
	told_text("ports");
	told_value(process);
	told(record, sizeof(*record));
	return require(analysis, record->version == RW_PORTS_VERSION && record->count <= RW_PORT_SHOWINGS);
}

int analysis_add_network(struct analysis *analysis, const struct analysis_network *network)
{
	uint64_t longest = network->to_ns - network->from_ns;

	told_text("network");
	told_value((uint64_t)network->peer << 32 | network->index);
	told_value((uint64_t)network->channel << 1 | network->sends);
	told_value(network->gpu_ns);
	told_value(network->peer_ns);
	told_value(network->network_ns);
	told_value(network->from_ns);
	told_value(network->to_ns);
	return require(analysis, network->index < RW_BOX_COMMS && network->peer >= 0 && network->from_ns &&
					 network->from_ns <= network->to_ns && longest < UINT64_MAX / 2);
}

int analysis_add_wait(struct analysis *analysis, const struct analysis_wait *wait)
{
	told_text("wait");
	told_text(TERMINATED(wait->thread) ? wait->thread : NULL);
	told_text(TERMINATED(wait->path) ? wait->path : NULL);
	told_text(TERMINATED(wait->wait_channel) ? wait->wait_channel : NULL);
	told_value(wait->end_ns);
	told_value(wait->run_queue_ns);
	told_value(wait->cpu_ns);
	told_value((uint64_t)wait->tid << 32 | (uint32_t)wait->system_call);
	told_value((uint64_t)(uint32_t)wait->fd << 8 | (uint8_t)wait->state);
	return require(analysis, TERMINATED(wait->thread) && TERMINATED(wait->path) && TERMINATED(wait->wait_channel) &&
					 TERMINATED(wait->file_system) && TERMINATED(wait->device_name));
}

int analysis_set_init(struct analysis *analysis, analysis_process_id process, const struct rw_init *init)
{
	(void)analysis;
	told_text("init");
	told_value(process);
	told_value(init->since_ns);
	told_value(init->id);
	return 0;
}

int analysis_set_held(struct analysis *analysis, analysis_process_id process, const char *call, const char *remedy,
		      uint64_t since_ns)
{
	told_text("held");
	told_value(process);
	told_text(call);
	told_value(since_ns);
	return require(analysis, since_ns <= INT64_MAX && (!call || (*call && remedy)));
}

int analysis_set_heartbeat(struct analysis *analysis, analysis_process_id process, uint64_t at_ns)
{
	told_text("heartbeat");
	told_value(process);
	told_value(at_ns);
	return require(analysis, at_ns <= INT64_MAX);
}

int analysis_set_signals(struct analysis *analysis, analysis_process_id process, uint32_t index,
			 const struct rw_gpu_progress *page)
{
	(void)analysis, (void)process, (void)index, (void)page;
	return 0;
}

int analysis_set_interruptions(struct analysis *analysis, analysis_process_id process, const struct rw_box_header *box,
			       uint64_t until_ns)
{
	(void)analysis, (void)process, (void)box, (void)until_ns;
	return 0;
}

int analysis_set_gaps(struct analysis *analysis, analysis_process_id process, const struct rw_box_header *box)
{
	(void)analysis, (void)process, (void)box;
	return 0;
}

int analysis_set_scanning(struct analysis *analysis, analysis_process_id process,
			  const struct analysis_scanning *scanning)
{
	told_text("scanning");
	told_value(process);
	told_value(scanning->buffers);
	told_value(scanning->left_out);
	told_value(scanning->host_ns);
	told_value(scanning->gpu_ns);
	told_value(scanning->callback_ns);
	return require(analysis, true);
}

int analysis_set_life(struct analysis *analysis, analysis_process_id process, enum analysis_life life, int exit_status,
		      uint64_t at_ns)
{
	told_text("life");
	told_value(process);
	told_value(life);
	told_value((uint64_t)exit_status);
	told_value(at_ns);
	return require(analysis, at_ns <= INT64_MAX);
}

void analysis_tick(struct analysis *analysis, uint64_t now_ns)
{
	told_text("tick");
	told_value(now_ns);
	require(analysis, now_ns <= INT64_MAX);
}
