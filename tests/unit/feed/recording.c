/* SPDX-License-Identifier: MIT */
#include "tests/unit/feed/recording.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/report/gpu_record.h"
#include "analysis/explain/port_evidence.h"
#include "tests/unit/blackbox/fixture.h"

static struct recorded *record(struct analysis *analysis, enum recorded_kind kind, analysis_process_id process)
{
	if (analysis->count == analysis->room) {
		analysis->room = analysis->room ? 2 * analysis->room : 256;
		analysis->records = realloc(analysis->records, analysis->room * sizeof(*analysis->records));
		if (!analysis->records)
			abort();
	}

	struct recorded *last = &analysis->records[analysis->count++];

	*last = (struct recorded){ .kind = kind, .process = process };
	return last;
}

const struct recorded *recording_find(const struct analysis *analysis, enum recorded_kind kind, size_t n)
{
	for (size_t i = 0; i < analysis->count; i++)
		if (analysis->records[i].kind == kind && !n--)
			return &analysis->records[i];
	return NULL;
}

size_t recording_count(const struct analysis *analysis, enum recorded_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < analysis->count; i++)
		count += analysis->records[i].kind == kind;
	return count;
}

void recording_free(struct analysis *analysis)
{
	free(analysis->records);
	*analysis = (struct analysis){ 0 };
}

struct feed *recording_start(struct analysis *analysis, struct box_writer *writer)
{
	struct box_reader reader;

	if (!writer->map)
		fixture_create(writer);
	writer->communicators[0].created_ns = 1;
	writer->header->comms_used = 1;
	fixture_open(&reader, writer);
	return feed_new(analysis, 7, &reader);
}

int analysis_add_process(struct analysis *analysis, const struct analysis_process *process)
{
	struct recorded *last = record(analysis, RECORDED_PROCESS, process->id);

	last->process_told = *process;
	last->process_told.box = NULL;
	return 0;
}

int analysis_set_box(struct analysis *analysis, analysis_process_id process, const struct rw_box_header *box)
{
	record(analysis, RECORDED_BOX, process)->at_ns = box->created_ns;
	return 0;
}

int analysis_add_communicator(struct analysis *analysis, analysis_process_id process, uint32_t index,
			      const struct rw_communicator *communicator)
{
	struct recorded *last = record(analysis, RECORDED_COMMUNICATOR, process);

	last->index = index;
	last->at_ns = communicator->created_ns;
	last->communicator = *communicator;
	return 0;
}

int analysis_add_operation(struct analysis *analysis, analysis_process_id process, const struct rw_operation *slot)
{
	record(analysis, RECORDED_OPERATION, process)->operation = *slot;
	return analysis->answer;
}

int analysis_add_progress(struct analysis *analysis, analysis_process_id process, uint32_t index, uint64_t gpu_started,
			  uint64_t gpu_done, uint64_t now_ns)
{
	struct recorded *last = record(analysis, RECORDED_PROGRESS, process);

	last->index = index;
	last->started = gpu_started;
	last->done = gpu_done;
	last->at_ns = now_ns;
	return 0;
}

int analysis_add_wait(struct analysis *analysis, const struct analysis_wait *wait)
{
	record(analysis, RECORDED_WAIT, wait->process)->wait = *wait;
	return 0;
}

int port_record_put(struct analysis *analysis, analysis_process_id process, const struct rw_ports *ports)
{
	record(analysis, RECORDED_PORTS, process)->at_ns = ports->showings[0].since_ns;
	return 0;
}

int gpu_record_put(struct analysis *analysis, analysis_process_id process, const struct rw_gpu_memory *memory)
{
	record(analysis, RECORDED_GPU_MEMORY, process)->at_ns = memory->since_ns;
	return 0;
}

int analysis_add_network(struct analysis *analysis, const struct analysis_network *network)
{
	record(analysis, RECORDED_NETWORK, network->process)->network = *network;
	return 0;
}

int analysis_set_init(struct analysis *analysis, analysis_process_id process, const struct rw_init *init)
{
	record(analysis, RECORDED_INIT, process)->init = *init;
	return 0;
}

int analysis_set_held(struct analysis *analysis, analysis_process_id process, const char *call, const char *remedy,
		      uint64_t since_ns)
{
	struct recorded *last = record(analysis, RECORDED_HELD, process);

	snprintf(last->call, sizeof(last->call), "%s", call ? call : "");
	last->remedy = remedy;
	last->at_ns = since_ns;
	return 0;
}

int analysis_set_heartbeat(struct analysis *analysis, analysis_process_id process, uint64_t at_ns)
{
	record(analysis, RECORDED_HEARTBEAT, process)->at_ns = at_ns;
	return 0;
}

int analysis_set_scanning(struct analysis *analysis, analysis_process_id process,
			  const struct analysis_scanning *scanning)
{
	record(analysis, RECORDED_SCANNING, process)->scanning = *scanning;
	return 0;
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
	record(analysis, RECORDED_GAPS, process)->untracked = box->untracked[RW_UNTRACKED_NO_TASK];
	return 0;
}

int analysis_set_life(struct analysis *analysis, analysis_process_id process, enum analysis_life life, int exit_status,
		      uint64_t at_ns)
{
	struct recorded *last = record(analysis, RECORDED_LIFE, process);

	last->exit_status = exit_status;
	last->life = life;
	last->at_ns = at_ns;
	return 0;
}

void analysis_tick(struct analysis *analysis, uint64_t now_ns)
{
	record(analysis, RECORDED_TICK, 0)->at_ns = now_ns;
}
