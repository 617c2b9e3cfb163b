/* SPDX-License-Identifier: MIT */
#include "analysis/host/evidence.h"

#include <errno.h>
#include <stdlib.h>

/* A sample stands for at most this long before it: the samplers look 20 times a second, or not at all. */
static const uint64_t sample_reach_ns = 250000000;

/* Levels sample independently, so each has its own counters. */
static struct evidence_thread *find_thread(struct evidence *evidence, const struct analysis_wait *wait)
{
	struct evidence_thread *stalest = &evidence->threads[0];
	for (int i = 0; i < EVIDENCE_THREADS; i++) {
		struct evidence_thread *thread = &evidence->threads[i];
		if (thread->tid == wait->tid && thread->level == wait->level)
			return thread;
		if (thread->sampled_ns < stalest->sampled_ns)
			stalest = thread;
	}
	*stalest = (struct evidence_thread){ .tid = wait->tid, .level = (uint8_t)wait->level };
	return stalest;
}

static uint64_t increase(uint64_t now, uint64_t before)
{
	return before && now > before ? now - before : 0;
}

/* A thread that has neither run nor stood in a run queue since its last sample is in the wait that this one showed,
 * however long ago that was. 0 is no reading: a kernel without schedstats. */
static bool has_not_run(const struct evidence_thread *thread, const struct analysis_wait *wait)
{
	return thread->sampled_ns && wait->run_queue_ns && wait->run_queue_ns == thread->run_queue_ns &&
	       wait->cpu_ns == thread->cpu_ns;
}

/* A thread that is seen waiting has not waited while it ran: its counter tells how long that was, not when. It is taken
 * to have run first, and to have waited at least for a moment. */
static uint64_t waits_since(const struct evidence_thread *thread, const struct analysis_wait *wait, uint64_t start_ns)
{
	uint64_t stopped_ns = thread->sampled_ns + increase(wait->cpu_ns, thread->cpu_ns);
	if (!thread->sampled_ns || wait->state == 'R' || stopped_ns <= start_ns)
		return start_ns;
	return stopped_ns < wait->end_ns ? stopped_ns : wait->end_ns - 1;
}

/* The counter of the time in run queues grows when the thread gets a CPU. A wait that is longer than the time since the
 * sample before began before that one. Of a time that is longer than the piece only what must lie in the piece counts:
 * the thread may have been in a run queue whenever it did not run. */
static void place_queue(const struct evidence_thread *thread, struct evidence_piece *piece, uint64_t queued_ns,
			bool follows)
{
	uint64_t since_ns = thread->sampled_ns ? piece->end_ns - thread->sampled_ns : 0;
	uint64_t before_ns =
	    piece->end_ns - piece->start_ns < since_ns ? since_ns - (piece->end_ns - piece->start_ns) : 0;
	uint64_t elsewhere_ns = before_ns > piece->cpu_ns ? before_ns - piece->cpu_ns : 0;

	piece->queue_from_ns = piece->start_ns;
	piece->queue_shown = follows ? EVIDENCE_BETWEEN_SAMPLES : EVIDENCE_ASSUMED;
	piece->run_queue_ns = queued_ns > elsewhere_ns ? queued_ns - elsewhere_ns : 0;
	if (!thread->sampled_ns || queued_ns <= since_ns || queued_ns > piece->end_ns)
		return;
	piece->queue_from_ns = piece->end_ns - queued_ns;
	piece->queue_shown = EVIDENCE_SAME_WAIT;
	piece->run_queue_ns = queued_ns;
}

/* What a thread was doing before it called NCCL is not what it does afterwards. */
static void begin_at_call(struct evidence_piece *piece, uint64_t called_ns)
{
	if (piece->shown == EVIDENCE_SAME_WAIT || called_ns <= piece->start_ns || called_ns > piece->end_ns)
		return;
	piece->start_ns = called_ns;
	piece->shown = EVIDENCE_ASSUMED;
}

static void place_sample(struct evidence *evidence, const struct analysis_wait *wait, struct evidence_piece *piece)
{
	struct evidence_thread *thread = find_thread(evidence, wait);
	uint64_t reach = wait->end_ns > sample_reach_ns ? wait->end_ns - sample_reach_ns : 0;
	bool same_wait = has_not_run(thread, wait);

	if (same_wait)
		reach = thread->sampled_ns;
	bool follows = thread->sampled_ns && thread->sampled_ns >= reach && thread->sampled_ns <= wait->end_ns;
	piece->start_ns = follows ? thread->sampled_ns : reach;
	piece->shown = same_wait ? EVIDENCE_SAME_WAIT : follows ? EVIDENCE_BETWEEN_SAMPLES : EVIDENCE_ASSUMED;
	if (!thread->sampled_ns)
		piece->start_ns = wait->end_ns;
	piece->cpu_ns = increase(wait->cpu_ns, thread->cpu_ns);
	piece->cpu_known = thread->cpu_ns && wait->cpu_ns >= thread->cpu_ns;
	/* Since when it has been in this state, where the sampler knows that. */
	if (wait->start_ns && wait->start_ns < wait->end_ns) {
		piece->start_ns = wait->start_ns > thread->sampled_ns ? wait->start_ns : thread->sampled_ns;
		piece->shown = EVIDENCE_SAME_WAIT;
	} else {
		piece->start_ns = waits_since(thread, wait, piece->start_ns);
	}
	place_queue(thread, piece, increase(wait->run_queue_ns, thread->run_queue_ns), follows);
	begin_at_call(piece, thread->called_ns);
	piece->earlier = thread->latest;
	thread->latest = evidence->count;
	thread->sampled_ns = wait->end_ns;
	thread->run_queue_ns = wait->run_queue_ns;
	thread->cpu_ns = wait->cpu_ns;
}

/* Samples and calls come by different ways: the call may have been before samples that are here already. */
static void begin_latest_at_call(struct evidence *evidence, const struct evidence_thread *thread, uint64_t called_ns)
{
	for (uint64_t number = thread->latest; number && number + EVIDENCE_ROOM > evidence->count;) {
		struct evidence_piece *piece = &evidence->pieces[(number - 1) % EVIDENCE_ROOM];

		if (piece->end_ns < called_ns)
			return;
		begin_at_call(piece, called_ns);
		number = piece->earlier;
	}
}

void evidence_note_call(struct evidence *evidence, uint32_t tid, uint64_t called_ns)
{
	for (int i = 0; evidence->pieces && tid && i < EVIDENCE_THREADS; i++) {
		struct evidence_thread *thread = &evidence->threads[i];

		if (thread->tid != tid)
			continue;
		if (called_ns < thread->sampled_ns)
			begin_latest_at_call(evidence, thread, called_ns);
		if (called_ns > thread->called_ns)
			thread->called_ns = called_ns;
	}
}

static void name_piece(struct evidence_piece *piece, struct intern *intern, const struct analysis_wait *wait)
{
	piece->thread = intern_add(intern, wait->thread, sizeof(wait->thread));
	piece->waker = intern_add(intern, wait->waker, sizeof(wait->waker));
	piece->path = intern_add(intern, wait->path, sizeof(wait->path));
	piece->file_system = intern_add(intern, wait->file_system, sizeof(wait->file_system));
	piece->device_name = intern_add(intern, wait->device_name, sizeof(wait->device_name));
	piece->wait_channel = intern_add(intern, wait->wait_channel, sizeof(wait->wait_channel));
	uint32_t frames = wait->frame_count < EVIDENCE_FRAMES ? wait->frame_count : EVIDENCE_FRAMES;
	for (uint32_t i = 0; i < frames; i++)
		piece->frames[i] = intern_add(intern, wait->frames[i], sizeof(wait->frames[i]));
	piece->frame_count = (uint8_t)frames;
}

int evidence_add(struct evidence *evidence, struct intern *intern, const struct analysis_wait *wait)
{
	if (!evidence->pieces) {
		evidence->pieces = calloc(EVIDENCE_ROOM, sizeof(*evidence->pieces));
		if (!evidence->pieces)
			return -ENOMEM;
	}
	struct evidence_piece *piece = &evidence->pieces[evidence->count++ % EVIDENCE_ROOM];
	*piece = (struct evidence_piece){
		.start_ns = wait->start_ns,
		.end_ns = wait->end_ns,
		.run_queue_ns = wait->run_queue_ns,
		.device = wait->device,
		.tid = wait->tid,
		.waker_tid = wait->waker_tid,
		.waker_pid = wait->waker_pid,
		.system_call = wait->system_call,
		.fd = wait->fd,
		.kind = (uint8_t)wait->kind,
		.level = (uint8_t)wait->level,
		.state = wait->state,
		.io_wait = wait->io_wait,
		.out_of_process_wake = wait->out_of_process_wake,
	};
	if (wait->kind == ANALYSIS_WAIT_SHORT) {
		piece->blocked_ns = wait->blocked_ns;
		piece->longest_ns = wait->longest_ns;
	}
	if (wait->kind == ANALYSIS_WAIT_SAMPLE)
		place_sample(evidence, wait, piece);
	name_piece(piece, intern, wait);
	return 0;
}

uint64_t evidence_kept(const struct evidence *evidence)
{
	return evidence->count < EVIDENCE_ROOM ? evidence->count : EVIDENCE_ROOM;
}

const struct evidence_piece *evidence_at(const struct evidence *evidence, uint64_t age)
{
	return &evidence->pieces[(evidence->count - 1 - age) % EVIDENCE_ROOM];
}

uint64_t evidence_since_ns(const struct evidence *evidence)
{
	return evidence->count > EVIDENCE_ROOM ? evidence_at(evidence, EVIDENCE_ROOM - 1)->end_ns : 0;
}

void evidence_free(struct evidence *evidence)
{
	free(evidence->pieces);
	*evidence = (struct evidence){ 0 };
}
