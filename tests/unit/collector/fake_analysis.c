/* SPDX-License-Identifier: MIT */
#include "fake_analysis.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/report/gpu_record.h"
#include "analysis/explain/port_evidence.h"

struct analysis *analysis_new(bool post_mortem, analysis_emit *emit, void *argument)
{
	struct analysis *analysis = calloc(1, sizeof(*analysis));

	(void)post_mortem;
	analysis->emit = emit;
	analysis->argument = argument;
	return analysis;
}

void analysis_free(struct analysis *analysis)
{
	free(analysis);
}

/* One finding a process, so that those who listen have something to hear. */
int analysis_add_process(struct analysis *analysis, const struct analysis_process *process)
{
	int32_t rank = process->box->world_rank;

	analysis->processes++;
	analysis->pid_unproven = process->pid_unproven;
	if (analysis->emit)
		analysis->emit(analysis->argument, &(struct rw_finding){
			.id = "f-1", .severity = RW_WARNING, .kind = RW_KIND_HANG, .ranks = &rank, .rank_count = 1,
			.text = "rank 3 hangs", .detect_ms = -1 });
	return 0;
}

int analysis_set_box(struct analysis *analysis, analysis_process_id process, const struct rw_box_header *box)
{
	(void)analysis, (void)process, (void)box;
	return 0;
}

int analysis_add_communicator(struct analysis *analysis, analysis_process_id process, uint32_t index,
			      const struct rw_communicator *communicator)
{
	(void)analysis, (void)process, (void)index, (void)communicator;
	return 0;
}

int analysis_add_operation(struct analysis *analysis, analysis_process_id process, const struct rw_operation *slot)
{
	(void)analysis, (void)process, (void)slot;
	return 0;
}

int analysis_add_progress(struct analysis *analysis, analysis_process_id process, uint32_t index, uint64_t gpu_started,
			  uint64_t gpu_done, uint64_t now_ns)
{
	(void)analysis, (void)process, (void)index, (void)gpu_started, (void)gpu_done, (void)now_ns;
	return 0;
}

int analysis_add_wait(struct analysis *analysis, const struct analysis_wait *wait)
{
	analysis->waits++;
	if (*wait->path)
		snprintf(analysis->last_path, sizeof(analysis->last_path), "%s", wait->path);
	return 0;
}

void analysis_add_loss(struct analysis *analysis, uint64_t from_ns, uint64_t to_ns, uint64_t count)
{
	(void)analysis, (void)from_ns, (void)to_ns, (void)count;
}

int analysis_add_memory_state(struct analysis *analysis, const struct analysis_memory_state *state)
{
	(void)analysis, (void)state;
	return 0;
}

int analysis_add_gpu_state(struct analysis *analysis, const struct analysis_gpu_state *state)
{
	analysis->gpu_states++;
	analysis->last_gpu_state = *state;
	return 0;
}

int analysis_add_gpu_event(struct analysis *analysis, const struct analysis_gpu_event *event)
{
	analysis->gpu_events++;
	analysis->last_gpu_event = *event;
	return 0;
}

void analysis_set_gpu_silence(struct analysis *analysis, uint64_t since_ns)
{
	analysis->gpu_silence_ns = since_ns;
}

int analysis_add_network(struct analysis *analysis, const struct analysis_network *network)
{
	(void)analysis, (void)network;
	return 0;
}

size_t analysis_wanted_details(const struct analysis *analysis, struct analysis_detail *details, size_t room)
{
	for (size_t i = 0; i < analysis->detail_count && i < room; i++)
		details[i] = analysis->details[i];
	return analysis->detail_count;
}

int analysis_add_python(struct analysis *analysis, const struct analysis_python *seen)
{
	(void)analysis, (void)seen;
	return 0;
}

int analysis_add_other(struct analysis *analysis, const struct analysis_other *seen)
{
	analysis->others++;
	analysis->last_other = *seen;
	return 0;
}

int analysis_add_children(struct analysis *analysis, const struct analysis_children *seen)
{
	analysis->children++;
	analysis->last_children = *seen;
	return 0;
}

int analysis_set_held(struct analysis *analysis, analysis_process_id process, const char *call, const char *remedy,
		      uint64_t since_ns)
{
	(void)analysis, (void)process, (void)call, (void)remedy, (void)since_ns;
	return 0;
}

int analysis_set_heartbeat(struct analysis *analysis, analysis_process_id process, uint64_t at_ns)
{
	(void)analysis, (void)process, (void)at_ns;
	return 0;
}

int analysis_set_scanning(struct analysis *analysis, analysis_process_id process,
			  const struct analysis_scanning *scanning)
{
	(void)analysis, (void)process, (void)scanning;
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
	(void)analysis, (void)process, (void)box;
	return 0;
}

int analysis_set_left(struct analysis *analysis, analysis_process_id process, uint64_t by_ns)
{
	(void)process;
	analysis->left_ns = by_ns;
	return 0;
}

int analysis_set_init(struct analysis *analysis, analysis_process_id process, const struct rw_init *init)
{
	(void)analysis, (void)process, (void)init;
	return 0;
}

size_t analysis_absentees(const struct analysis *analysis, int32_t *world_ranks, size_t room)
{
	for (size_t i = 0; i < analysis->waited_for_count && i < room; i++)
		world_ranks[i] = analysis->waited_for[i];
	return analysis->waited_for_count;
}

void analysis_set_absentee(struct analysis *analysis, const struct analysis_absentee *absentee, uint64_t now_ns)
{
	(void)now_ns;
	analysis->last_absentee = *absentee;
}

int analysis_set_life(struct analysis *analysis, analysis_process_id process, enum analysis_life life, int exit_status,
		      uint64_t at_ns)
{
	(void)process, (void)at_ns;
	analysis->ends++;
	analysis->last_life = life;
	analysis->last_exit_status = exit_status;
	return 0;
}

void analysis_resume(struct analysis *analysis, uint64_t now_ns)
{
	(void)now_ns;
	analysis->resumes++;
}

void analysis_tick(struct analysis *analysis, uint64_t now_ns)
{
	(void)now_ns;
	analysis->ticks++;
}

bool analysis_is_silent(const struct analysis *analysis, analysis_process_id process, uint64_t now_ns)
{
	(void)now_ns;
	return analysis && analysis->silent == process;
}

size_t analysis_suspects(const struct analysis *analysis, struct analysis_suspect *suspects, size_t room)
{
	if (!analysis || !analysis->suspect || !room)
		return 0;
	suspects[0] = (struct analysis_suspect){ .process = analysis->suspect, .since_ns = analysis->suspect_since_ns };
	return 1;
}

void analysis_visit_flights(const struct analysis *analysis, analysis_flight_visit *visit, void *argument)
{
	(void)analysis, (void)visit, (void)argument;
}

void analysis_summarise(const struct analysis *analysis, struct analysis_summary *summary)
{
	*summary = (struct analysis_summary){ .processes = analysis->processes, .ranks_total = 8, .step_ms = -1,
					      .first_step_ms = -1 };
}

void analysis_tell_account(const struct analysis *analysis, struct analysis_account *told)
{
	(void)analysis;
	*told = (struct analysis_account){ 0 };
}

void analysis_tell_pipeline(const struct analysis *analysis, struct analysis_pipeline *told)
{
	(void)analysis;
	*told = (struct analysis_pipeline){ .local_rank = -1 };
}

void analysis_tell_gpu_memory(const struct analysis *analysis, struct analysis_gpu_memory *told)
{
	(void)analysis;
	*told = (struct analysis_gpu_memory){ .course = ANALYSIS_MEMORY_UNKNOWN };
}

void analysis_tell_pace(const struct analysis *analysis, struct analysis_pace *told)
{
	(void)analysis;
	*told = (struct analysis_pace){ .course = ANALYSIS_PACE_UNKNOWN };
}

void analysis_tell_step_course(const struct analysis *analysis, struct analysis_step_course *told)
{
	(void)analysis;
	*told = (struct analysis_step_course){ 0 };
}

bool gpu_record_take(const struct analysis *analysis, analysis_process_id process, struct rw_gpu_memory *record)
{
	(void)analysis, (void)process, (void)record;
	return false;
}

int gpu_record_put(struct analysis *analysis, analysis_process_id process, const struct rw_gpu_memory *record)
{
	(void)analysis, (void)process, (void)record;
	return 0;
}

void analysis_replay_open(struct analysis *analysis)
{
	(void)analysis;
}

bool port_record_take(const struct analysis *analysis, uint64_t now_ns, struct rw_ports *record)
{
	(void)analysis, (void)now_ns;
	*record = (struct rw_ports){ 0 };
	return false;
}

int port_record_put(struct analysis *analysis, analysis_process_id process, const struct rw_ports *record)
{
	(void)analysis, (void)process, (void)record;
	return 0;
}

int analysis_add_port_state(struct analysis *analysis, const struct analysis_port_state *state)
{
	(void)analysis, (void)state;
	return 0;
}

void analysis_add_oom_kill(struct analysis *analysis, int32_t pid, uint64_t at_ns)
{
	(void)analysis, (void)pid, (void)at_ns;
}
