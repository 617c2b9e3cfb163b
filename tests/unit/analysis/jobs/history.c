/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/history.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/numbers/splitmix.h"

enum {
	MAX_RANKS = 256,
	WRITER_TID = 50000,
	HOLDER_TID = 60000,
};

enum event_kind { EVENT_OPERATION, EVENT_WAIT, EVENT_LIFE };

struct event {
	double ms;
	uint64_t order;
	enum event_kind kind;
	int rank;
	size_t index; /* slot or wait */
	uint32_t known;
	enum analysis_life life;
	int exit_status;
};

struct history {
	struct history_job job;
	struct event *events;
	size_t event_count, event_room;
	struct rw_operation *slots;
	size_t slot_count, slot_room;
	struct analysis_wait *waits;
	size_t wait_count, wait_room;
	double *step_starts;
	double host_ms[MAX_RANKS], gpu_ms[MAX_RANKS];
	double queue_ms[MAX_RANKS]; /* for so long the kernel of what is enqueued next waits for room */
	int step;
	bool is_first; /* what is enqueued next, in its step */
	uint64_t tickets[MAX_RANKS], progress[MAX_RANKS][2], sequence[MAX_RANKS][2][RW_FUNCTION_COUNT];
	uint64_t p2p_sequence[MAX_RANKS][2], exchanges;
	bool gone[MAX_RANKS];
	bool dead[MAX_RANKS]; /* by FAULT_DIES: its host and GPU go on as far as the others let them */
	const struct history_fault *endless[MAX_RANKS]; /* until it has struck */
	double noise[MAX_RANKS];
	double struck_ms, end_ms;
	uint64_t random;
	size_t played;
	double tick_ms;
	bool started;
	struct history_finding findings[HISTORY_FINDINGS];
	size_t finding_count;
};

static double chance(struct history *history)
{
	return (double)(splitmix_next(&history->random) >> 11) / 9007199254740992.0;
}

/* 0, as in boxes, where it never comes to that. */
static uint64_t ns(double ms)
{
	return isfinite(ms) ? (uint64_t)(ms * 1e6) : 0;
}

static void *push(void **array, size_t *count, size_t *room, size_t size)
{
	if (*count == *room) {
		*room = *room ? *room * 2 : 1024;
		*array = realloc(*array, *room * size);
		if (!*array)
			abort();
	}
	return (char *)*array + (*count)++ * size;
}

static struct event *add_event(struct history *history, double ms, enum event_kind kind, int rank)
{
	struct event *event =
	    push((void **)&history->events, &history->event_count, &history->event_room, sizeof(*event));
	*event = (struct event){ .ms = ms, .order = history->event_count, .kind = kind, .rank = rank };
	if (isfinite(ms) && ms > history->end_ms)
		history->end_ms = ms;
	return event;
}

static void add_stage(struct history *history, double ms, int rank, size_t slot, uint32_t known)
{
	if (!isfinite(ms))
		return;
	struct event *event = add_event(history, ms, EVENT_OPERATION, rank);
	event->index = slot;
	event->known = known;
}

static struct analysis_wait *add_wait(struct history *history, int rank, enum analysis_wait_kind kind,
				      enum rw_level level, uint32_t tid, const char *thread, double from, double to)
{
	struct analysis_wait *wait =
	    push((void **)&history->waits, &history->wait_count, &history->wait_room, sizeof(*wait));
	*wait = (struct analysis_wait){
		.process = (analysis_process_id)rank + 100,
		.kind = kind,
		.level = level,
		.tid = tid,
		.start_ns = ns(from),
		.end_ns = ns(to),
		.system_call = -1,
		.fd = -1,
	};
	snprintf(wait->thread, sizeof(wait->thread), "%s", thread);
	add_event(history, to, EVENT_WAIT, rank)->index = history->wait_count - 1;
	return wait;
}

static void in_fsync(struct analysis_wait *wait)
{
	wait->system_call = SYS_fsync;
	wait->fd = 3;
	wait->state = 'D';
	wait->io_wait = true;
	wait->blocked_ns = wait->end_ns - wait->start_ns;
	snprintf(wait->path, sizeof(wait->path), "/slow/events.out.tfevents.0");
	snprintf(wait->file_system, sizeof(wait->file_system), "ext4");
	snprintf(wait->device_name, sizeof(wait->device_name), "loop3");
	snprintf(wait->frames[0], sizeof(wait->frames[0]), "jbd2_log_wait_commit");
	snprintf(wait->frames[1], sizeof(wait->frames[1]), "ext4_sync_file");
	wait->frame_count = 2;
}

static void in_futex(struct analysis_wait *wait, uint32_t waker_tid, const char *waker)
{
	wait->system_call = SYS_futex;
	wait->state = 'S';
	wait->waker_tid = waker_tid;
	snprintf(wait->waker, sizeof(wait->waker), "%s", waker);
}

static void sample_both(struct history *history, int rank, enum rw_level level, double from, double to)
{
	for (double at = from; at <= to; at += 50) {
		struct analysis_wait *wait =
		    add_wait(history, rank, ANALYSIS_WAIT_SAMPLE, level, (uint32_t)rank + 1000, "python-main", at, at);
		wait->start_ns = 0;
		in_futex(wait, 0, "");
		wait = add_wait(history, rank, ANALYSIS_WAIT_SAMPLE, level, WRITER_TID, "tb-writer", at, at);
		in_fsync(wait);
		wait->frame_count = 0;
		wait->start_ns = 0;
	}
}

static void sample_alone(struct history *history, int rank, double from, double to, bool busy)
{
	for (double at = from; at <= to; at += 50) {
		struct analysis_wait *wait = add_wait(history, rank, ANALYSIS_WAIT_SAMPLE, RW_LEVEL_PROC,
						      (uint32_t)rank + 1000, "python-main", at, at);
		wait->start_ns = 0;
		wait->state = busy ? 'R' : 'S';
		wait->system_call = busy ? -2 : SYS_clock_nanosleep;
		wait->cpu_ns = busy ? ns(at - from + 1) : 1000000;
	}
}

static void sample_polling(struct history *history, int rank, double from, double to)
{
	for (double at = from; at <= to; at += 50) {
		struct analysis_wait *wait = add_wait(history, rank, ANALYSIS_WAIT_SAMPLE, RW_LEVEL_PROC,
						      (uint32_t)rank + 1000, "python-main", at, at);
		wait->start_ns = 0;
		wait->state = 'S';
		wait->system_call = SYS_ppoll;
		wait->fd = 10;
		snprintf(wait->path, sizeof(wait->path), "/dev/nvidia0");
	}
}

static void sample_reading(struct history *history, int rank, double from, double to, bool pipe)
{
	for (double at = from; at <= to; at += 50) {
		struct analysis_wait *wait = add_wait(history, rank, ANALYSIS_WAIT_SAMPLE, RW_LEVEL_PROC,
						      (uint32_t)rank + 1000, "python-main", at, at);
		wait->start_ns = 0;
		wait->state = 'S';
		wait->system_call = pipe ? SYS_read : SYS_recvfrom;
		wait->fd = 11;
		snprintf(wait->path, sizeof(wait->path), pipe ? "pipe:[4711]" : "socket:[4711] to 10.0.0.7:443");
	}
}

static void add_evidence(struct history *history, int rank, enum history_evidence evidence, double from, double to)
{
	uint32_t tid = (uint32_t)rank + 1000;
	switch (evidence) {
	case EVIDENCE_FSYNC:
		in_fsync(add_wait(history, rank, ANALYSIS_WAIT_INTERVAL, RW_LEVEL_EBPF, tid, "python-main", from, to));
		break;
	case EVIDENCE_FSYNC_WRITER:
		for (double at = from; at < to - 1; at += 250) {
			double end = fmin(at + 245, to);
			in_fsync(add_wait(history, rank, ANALYSIS_WAIT_INTERVAL, RW_LEVEL_EBPF, WRITER_TID, "tb-writer",
					  at, end));
		}
		in_futex(add_wait(history, rank, ANALYSIS_WAIT_INTERVAL, RW_LEVEL_EBPF, tid, "python-main", from, to),
			 WRITER_TID, "tb-writer");
		break;
	case EVIDENCE_FSYNC_GUESSED:
		sample_both(history, rank, RW_LEVEL_PROC, from, to);
		break;
	case EVIDENCE_FSYNC_SELF:
		sample_both(history, rank, RW_LEVEL_SELF, from, to);
		break;
	case EVIDENCE_LOCK: {
		struct analysis_wait *wait =
		    add_wait(history, rank, ANALYSIS_WAIT_INTERVAL, RW_LEVEL_EBPF, HOLDER_TID, "holder", from, to);
		wait->system_call = SYS_clock_nanosleep;
		in_futex(add_wait(history, rank, ANALYSIS_WAIT_INTERVAL, RW_LEVEL_EBPF, tid, "python-main", from, to),
			 HOLDER_TID, "holder");
		break;
	}
	case EVIDENCE_RUN_QUEUE:
		for (double at = from; at < to - 1; at += 20)
			add_wait(history, rank, ANALYSIS_WAIT_RUN_QUEUE, RW_LEVEL_EBPF, tid, "python-main", at,
				 fmin(at + 20, to))
			    ->run_queue_ns = ns(fmin(18, (to - at) * 0.9));
		break;
	case EVIDENCE_SLEEP_SEEN:
		add_wait(history, rank, ANALYSIS_WAIT_INTERVAL, RW_LEVEL_EBPF, tid, "python-main", from, to)->system_call =
		    SYS_clock_nanosleep;
		break;
	case EVIDENCE_SLEEP:
	case EVIDENCE_BUSY:
		sample_alone(history, rank, from, to, evidence == EVIDENCE_BUSY);
		break;
	case EVIDENCE_SLEEP_AFTER:
		sample_alone(history, rank, to + 10, to + 60, false);
		break;
	case EVIDENCE_SOCKET:
	case EVIDENCE_PIPE:
		sample_reading(history, rank, from, to, evidence == EVIDENCE_PIPE);
		break;
	case EVIDENCE_POLL:
		sample_polling(history, rank, from, to);
		break;
	case EVIDENCE_NOTHING:
		break;
	}
}

static const struct history_fault *fault_of(const struct history *history, int rank, int step, bool first,
					    enum history_fault_kind kind)
{
	for (int i = 0; i < HISTORY_FAULTS; i++) {
		const struct history_fault *fault = &history->job.faults[i];
		if (fault->kind != kind || (fault->rank != rank && kind != FAULT_ALL) || step < fault->first_step)
			continue;
		if (fault->last_step && step > fault->last_step)
			continue;
		if (fault->every && step % fault->every != fault->turn)
			continue;
		if (first || kind == FAULT_HOST_EACH)
			return fault;
	}
	return NULL;
}

static void stall(struct history *history, int rank, int step, const struct history_fault *fault)
{
	double from = history->host_ms[rank];
	if (!fault || !isfinite(from))
		return;
	history->host_ms[rank] += fault->ms + fault->more_ms * (step - fault->first_step);
	add_evidence(history, rank, fault->evidence, from + 0.1, history->host_ms[rank] - 0.1);
}

static void strike(struct history *history, int rank, const struct history_fault *fault)
{
	if (!fault || history->gone[rank])
		return;
	static const struct {
		enum history_fault_kind kind;
		enum analysis_life life;
		int exit_status;
	} lives[] = {
		{ FAULT_KILLED, ANALYSIS_KILLED, 9 },
		{ FAULT_EXITED, ANALYSIS_EXITED, 3 << 8 },
		{ FAULT_STOPPED, ANALYSIS_STOPPED, -1 },
	};
	/* The host is as far as its GPU allows: it strikes when the step begins there. */
	double at = fmax(history->host_ms[rank], history->gpu_ms[rank]);
	history->gone[rank] = true;
	history->struck_ms = at;
	history->host_ms[rank] = history->gpu_ms[rank] = INFINITY;
	for (size_t i = 0; i < sizeof(lives) / sizeof(*lives); i++) {
		if (lives[i].kind != fault->kind)
			continue;
		struct event *event = add_event(history, at + 50, EVENT_LIFE, rank);
		event->life = lives[i].life;
		event->exit_status = lives[i].exit_status;
	}
	if (fault->evidence != EVIDENCE_NOTHING)
		add_evidence(history, rank, fault->evidence, at, at + history->job.tail_ms);
}

static void stick(struct history *history, int rank, const struct history_fault *fault)
{
	if (!fault || history->gone[rank])
		return;
	history->gone[rank] = true;
	history->struck_ms = fmax(history->host_ms[rank], history->gpu_ms[rank]);
	history->gpu_ms[rank] = INFINITY;
	add_evidence(history, rank, fault->evidence, history->struck_ms, history->struck_ms + history->job.tail_ms);
}

static void die(struct history *history, int rank, const struct history_fault *fault)
{
	if (!fault || history->dead[rank])
		return;
	history->dead[rank] = true;
	history->struck_ms = fmax(history->host_ms[rank], history->gpu_ms[rank]) + fault->ms;
	struct event *event = add_event(history, history->struck_ms, EVENT_LIFE, rank);
	event->life = ANALYSIS_KILLED;
	event->exit_status = 9;
}

/* The others are through, and it is not. */
static bool is_endless(struct history *history, int rank, double end)
{
	const struct history_fault *fault = history->endless[rank];

	if (!fault)
		return false;
	history->endless[rank] = NULL;
	history->struck_ms = end;
	history->gpu_ms[rank] = INFINITY;
	if (fault->ms > 0)
		history->host_ms[rank] = INFINITY;
	add_evidence(history, rank, fault->evidence, end, end + history->job.tail_ms);
	return true;
}

static void before_operation(struct history *history, int rank, int step, bool first)
{
	history->is_first = first;
	static const enum history_fault_kind ends[] = { FAULT_NEVER, FAULT_KILLED, FAULT_EXITED, FAULT_STOPPED };
	for (size_t i = 0; first && i < sizeof(ends) / sizeof(*ends); i++)
		strike(history, rank, fault_of(history, rank, step, true, ends[i]));
	if (first && !history->gone[rank]) {
		history->endless[rank] = fault_of(history, rank, step, true, FAULT_ENDLESS);
		history->gone[rank] = history->endless[rank];
	}
	die(history, rank, fault_of(history, rank, step, first, FAULT_DIES));
	stick(history, rank, fault_of(history, rank, step, first, FAULT_GPU_STUCK));
	stall(history, rank, step, fault_of(history, rank, step, first, FAULT_HOST));
	stall(history, rank, step, fault_of(history, rank, step, first, FAULT_HOST_EACH));
	stall(history, rank, step, fault_of(history, rank, step, first, FAULT_ALL));
	const struct history_fault *device = fault_of(history, rank, step, first, FAULT_DEVICE);
	history->gpu_ms[rank] += device ? device->ms : 0;
	const struct history_fault *kernel = fault_of(history, rank, step, first, FAULT_KERNEL);
	if (kernel) {
		add_evidence(history, rank, kernel->evidence, history->gpu_ms[rank], history->gpu_ms[rank] + kernel->ms);
		history->gpu_ms[rank] += kernel->ms;
	}
	const struct history_fault *full = fault_of(history, rank, step, first, FAULT_FULL);
	history->step = step;
	history->queue_ms[rank] = full ? full->ms : 0;
	if (history->job.queue_ms > 0)
		history->queue_ms[rank] += chance(history) * history->job.queue_ms;
	if (first && chance(history) < history->job.stall_chance)
		history->host_ms[rank] += chance(history) * history->job.stall_ms;
}

static void note_progress(struct history *history, int rank, struct rw_operation *slot)
{
	int sampled = history->job.sampled;

	if (slot->comm && history->job.hidden)
		slot->flags = history->job.hidden == HIDDEN_UNTRACKED ? RW_FLAG_UNTRACKED : RW_FLAG_PROGRESS_SAMPLED_OUT;
	if (slot->flags || history->job.no_gpu_times)
		return;
	if ((history->job.sampled_firsts && !history->is_first) ||
	    (sampled && (slot->sequence * 7 + slot->function) % (uint64_t)sampled))
		slot->flags = RW_FLAG_PROGRESS_SAMPLED_OUT;
	if (!slot->flags || (history->job.paused >> rank & 1 && slot->function == RW_FUNCTION_ALL_REDUCE))
		slot->progress = ++history->progress[rank][slot->comm];
}

/* Enqueues and launches; returns the slot. The GPU's times follow when all of the group are known. */
static size_t enqueue(struct history *history, int rank, int comm, uint8_t function, uint64_t count, int32_t peer)
{
	struct rw_operation *slot =
	    push((void **)&history->slots, &history->slot_count, &history->slot_room, sizeof(*slot));
	bool p2p = function == RW_FUNCTION_SEND || function == RW_FUNCTION_RECV;
	bool backward = function == RW_FUNCTION_REDUCE_SCATTER || p2p;
	double host = history->host_ms[rank];
	*slot = (struct rw_operation){
		.ticket = ++history->tickets[rank],
		.comm = (uint16_t)comm,
		.function = function,
		.dtype = RW_DTYPE_BFLOAT16,
		.count = count,
		.sequence = p2p ? history->p2p_sequence[rank][function == RW_FUNCTION_SEND]++
				: history->sequence[rank][comm][function]++,
		.api_tid = (uint32_t)rank + (backward ? 70000 : 1000), /* autograd's thread, the main one */
		.api_ns = ns(host),
		.launch_begin_ns = ns(host + 0.02),
		.launch_end_ns = ns(host + 0.04),
		.return_ns = ns(host + 0.05),
		.root_or_peer = peer,
		.gpu_source = history->job.no_gpu_times ? RW_GPU_SOURCE_NONE : RW_GPU_SOURCE_WATERMARK,
	};
	note_progress(history, rank, &history->slots[history->slot_count - 1]);
	size_t index = history->slot_count - 1;
	add_stage(history, host, rank, index, RW_KNOWN_IDENT | RW_KNOWN_API);
	add_stage(history, host + 0.05, rank, index,
		  RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK);
	history->host_ms[rank] += 0.05;
	return index;
}

/* The GPU page is looked at every 2 ms. */
static double seen_at(double ms)
{
	return isfinite(ms) ? ceil(ms / 2) * 2 : ms;
}

/* Of a GPU's own clock: some began before the epoch, so that it passes 0 meanwhile. */
static uint64_t gpu_clock(int rank, double ms)
{
	return ns(ms) + (uint64_t)rank * 0x2000000000000000u - 5000000000u;
}

/* The times come by a thread of NCCL's: with the end, or somewhat later. */
static void add_kernel(struct history *history, int rank, size_t index, uint32_t known, double begin, double end)
{
	const struct history_job *job = &history->job;
	struct rw_operation *slot = &history->slots[index];
	bool wrong = job->kernel_times_wrong == rank && rank && history->step >= 10;
	double late = rank % 2 ? 7 : 0;

	if (!job->kernel_times || (job->kernel_times_lack && job->kernel_times_lack == rank))
		return;
	add_stage(history, fmax(begin, (double)slot->started_seen_ns / 1e6), rank, index, known | RW_KNOWN_BEGAN);
	if (!isfinite(end))
		return;
	slot->gpu_start_raw = gpu_clock(rank, wrong ? end + 50 : begin);
	slot->gpu_end_raw = gpu_clock(rank, wrong ? end + 50.1 : end);
	add_stage(history, seen_at(end) + late, rank, index,
		  known | RW_KNOWN_BEGAN | RW_KNOWN_STARTED | RW_KNOWN_DONE | RW_KNOWN_STAMP);
}

static void run_group(struct history *history, const int *ranks, const size_t *slots, int count, double transfer_ms)
{
	double start = 0, begins[MAX_RANKS], arrivals[MAX_RANKS];
	uint32_t known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK;
	for (int i = 0; i < count; i++) {
		arrivals[i] = fmax(history->gpu_ms[ranks[i]], history->host_ms[ranks[i]]);
		begins[i] = arrivals[i] + history->queue_ms[ranks[i]];
		history->queue_ms[ranks[i]] = 0;
		start = fmax(start, begins[i]);
	}
	for (int i = 0; i < count; i++) {
		int rank = ranks[i];
		double arrival = arrivals[i], end = start + transfer_ms + history->job.skew_ms * i / count;
		history->gpu_ms[rank] = end;
		if (slots[i] == SIZE_MAX || !history->slots[slots[i]].progress)
			continue;
		struct rw_operation *slot = &history->slots[slots[i]];
		slot->started_seen_ns = isfinite(arrival) ? ns(seen_at(arrival)) : 0;
		bool endless = is_endless(history, rank, end);
		slot->done_seen_ns = isfinite(start) && !endless ? ns(seen_at(end)) : 0;
		add_stage(history, seen_at(arrival), rank, slots[i], known | RW_KNOWN_STARTED);
		if (!endless)
			add_stage(history, seen_at(end), rank, slots[i], known | RW_KNOWN_STARTED | RW_KNOWN_DONE);
		add_kernel(history, rank, slots[i], known | RW_KNOWN_STARTED, begins[i], endless ? INFINITY : end);
	}
}

static double transfer_ms(const struct history *history, int step, int comm)
{
	const struct history_fault *fault = fault_of(history, 0, step, true, FAULT_TRANSFER);
	return fault && comm == (history->job.expert_parallel != 0) ? fault->ms : 1;
}

/* Sum of twelve uniform numbers: near enough. */
static double gauss(struct history *history)
{
	double sum = -6;

	for (int i = 0; i < 12; i++)
		sum += chance(history);
	return sum;
}

/* Each rank's program says which step begins. */
static void mark_step(struct history *history, int step)
{
	for (int rank = 0; rank < history->job.ranks; rank++) {
		uint64_t number = history->job.number ? history->job.number(rank, step) : HISTORY_UNMARKED;
		if (number == HISTORY_UNMARKED || !isfinite(history->host_ms[rank]))
			continue;
		struct rw_operation *slot =
		    push((void **)&history->slots, &history->slot_count, &history->slot_room, sizeof(*slot));
		*slot = (struct rw_operation){ .ticket = ++history->tickets[rank],
					       .count = number,
					       .api_ns = ns(history->host_ms[rank]) };
		add_stage(history, history->host_ms[rank], rank, history->slot_count - 1, RW_KNOWN_STEP);
	}
}

static void make_noise(struct history *history)
{
	const struct history_job *job = &history->job;
	double stays = job->noise_lasts;

	for (int rank = 0; rank < job->ranks; rank++) {
		if (job->noise_ms > 0) {
			history->noise[rank] = stays * history->noise[rank] + sqrt(1 - stays * stays) * gauss(history);
			history->gpu_ms[rank] += job->noise_ms * exp(history->noise[rank]);
		}
		if (job->tail_chance > 0 && chance(history) < job->tail_chance)
			history->host_ms[rank] += job->stall_ms * fmin(pow(1 - chance(history), -1 / 1.5), 50);
	}
	if (job->uneven_ms > 0)
		history->gpu_ms[(int)(chance(history) * job->ranks)] += job->uneven_ms;
}

/* One collective of every group of this communicator. */
static void collective(struct history *history, int step, int comm, uint8_t function, uint64_t count, bool first)
{
	const struct history_job *job = &history->job;
	int width = job->tensor_parallel ? job->tensor_parallel : 1;
	int groups = comm ? job->ranks / width : width;
	for (int group = 0; group < groups; group++) {
		int members[MAX_RANKS], member_count = 0;
		size_t slots[MAX_RANKS];
		for (int rank = 0; rank < job->ranks; rank++)
			if ((comm ? rank / width : rank % width) == group)
				members[member_count++] = rank;
		for (int i = 0; i < member_count; i++) {
			before_operation(history, members[i], step, first);
			bool joins = isfinite(history->host_ms[members[i]]);
			bool doubles = first && fault_of(history, members[i], step, first, FAULT_COUNT);
			slots[i] = joins ? enqueue(history, members[i], comm, function, doubles ? 2 * count : count, -1) : SIZE_MAX;
		}
		run_group(history, members, slots, member_count, transfer_ms(history, step, comm));
	}
}

/* Each rank of the group to each, itself too, in one launch, as AlltoAll is made. */
static void exchange_group(struct history *history, int step, int first, int width)
{
	int ranks[MAX_RANKS], count = 0;
	size_t slots[MAX_RANKS];

	for (int rank = first; rank < first + width; rank++)
		for (int i = 0; i < 2 * width; i++) {
			bool joins = isfinite(history->host_ms[rank]);
			ranks[count] = rank;
			slots[count] = joins ? enqueue(history, rank, 1, i % 2 ? RW_FUNCTION_RECV : RW_FUNCTION_SEND, 512, i / 2) : SIZE_MAX;
			if (joins) {
				struct rw_operation *slot = &history->slots[slots[count]];
				slot->sequence = history->exchanges;
				slot->nccl_sequence = history->exchanges + 1;
			}
			count++;
		}
	run_group(history, ranks, slots, count, transfer_ms(history, step, 1));
}

static void exchange_tokens(struct history *history, int step)
{
	for (int first = 0; first < history->job.ranks; first += history->job.expert_parallel)
		exchange_group(history, step, first, history->job.expert_parallel);
	history->exchanges++;
}

static void compute(struct history *history)
{
	for (int rank = 0; rank < history->job.ranks; rank++)
		history->gpu_ms[rank] += history->job.compute_ms + chance(history) * history->job.jitter_ms;
}

/* In all tensor parallel groups, between what is seen before and behind it: their ranks wait for each other all the
 * same. */
static void hidden_collective(struct history *history)
{
	int width = history->job.tensor_parallel;

	for (int rank = 0; rank < history->job.ranks; rank++) {
		history->gpu_ms[rank] = fmax(history->gpu_ms[rank], history->host_ms[rank]);
		if (history->job.hidden != HIDDEN_CAPTURED && isfinite(history->host_ms[rank]))
			enqueue(history, rank, 1, RW_FUNCTION_ALL_REDUCE, 512, -1);
	}
	for (int first = 0; first < history->job.ranks; first += width) {
		double end = 0;
		for (int rank = first; rank < first + width; rank++)
			end = fmax(end, history->gpu_ms[rank] + 1);
		for (int rank = first; rank < first + width; rank++)
			history->gpu_ms[rank] = end;
	}
}

static void training_step(struct history *history, int step)
{
	const struct history_job *job = &history->job;
	for (int layer = 0; layer < job->layers; layer++) {
		collective(history, step, 0, RW_FUNCTION_ALL_GATHER, 4096, layer == 0);
		compute(history);
		if (job->hidden)
			hidden_collective(history);
		else if (job->expert_parallel)
			exchange_tokens(history, step);
		else if (job->tensor_parallel)
			collective(history, step, 1, RW_FUNCTION_ALL_REDUCE, 512, false);
	}
	for (int layer = 0; layer < job->layers; layer++) {
		collective(history, step, 0, RW_FUNCTION_ALL_GATHER, 4096, false);
		compute(history);
		if (job->hidden)
			hidden_collective(history);
		else if (job->expert_parallel)
			exchange_tokens(history, step);
		collective(history, step, 0, RW_FUNCTION_REDUCE_SCATTER, 4096, false);
	}
	collective(history, step, 0, RW_FUNCTION_ALL_REDUCE, 1, false);
}

/* Forward through the stages and back, then one AllReduce: nearly everybody waits nearly always. */
static void transfer(struct history *history, int from, int to)
{
	int ranks[] = { from, to };
	size_t slots[2];
	bool sends = isfinite(history->host_ms[from]), receives = isfinite(history->host_ms[to]);
	/* Sequences count per direction and peer; with one micro-batch each pair has one of each per step. */
	slots[0] = sends ? enqueue(history, from, 0, RW_FUNCTION_SEND, 1024, to) : SIZE_MAX;
	slots[1] = receives ? enqueue(history, to, 0, RW_FUNCTION_RECV, 1024, from) : SIZE_MAX;
	run_group(history, ranks, slots, 2, 1);
}

static void number_transfers(struct history *history, int step)
{
	/* One transfer a step between each pair and direction: the sequence is the step. */
	for (size_t i = 0; i < history->slot_count; i++) {
		struct rw_operation *slot = &history->slots[i];
		bool p2p = slot->function == RW_FUNCTION_SEND || slot->function == RW_FUNCTION_RECV;
		if (p2p && !slot->nccl_sequence) {
			slot->nccl_sequence = (uint64_t)step;
			slot->sequence = (uint64_t)step;
		}
	}
}

static void pipeline_step(struct history *history, int step)
{
	const struct history_job *job = &history->job;
	for (int rank = 0; rank < job->ranks; rank++)
		before_operation(history, rank, step, true);
	for (int rank = 0; rank < job->ranks; rank++) {
		history->gpu_ms[rank] = fmax(history->gpu_ms[rank], history->host_ms[rank]) + job->compute_ms +
					chance(history) * job->jitter_ms;
		if (rank + 1 < job->ranks)
			transfer(history, rank, rank + 1);
	}
	for (int rank = job->ranks - 1; rank >= 0; rank--) {
		history->gpu_ms[rank] += 2 * job->compute_ms + chance(history) * job->jitter_ms;
		if (rank > 0)
			transfer(history, rank, rank - 1);
	}
	number_transfers(history, step);
	collective(history, step, 0, RW_FUNCTION_ALL_REDUCE, 1, false);
}

static int by_time(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->ms != b->ms)
		return a->ms < b->ms ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

struct history *history_new(const struct history_job *job)
{
	struct history *history = calloc(1, sizeof(*history));
	if (!history)
		abort();
	history->job = *job;
	history->random = job->seed;
	history->step_starts = calloc((size_t)job->steps + 2, sizeof(double));
	for (int rank = 0; rank < job->ranks; rank++)
		history->host_ms[rank] = history->gpu_ms[rank] = HISTORY_BASE_MS;
	for (int step = 1; step <= job->steps; step++) {
		double first = INFINITY;
		for (int rank = 0; rank < job->ranks; rank++)
			first = fmin(first, fmax(history->gpu_ms[rank], history->host_ms[rank]));
		history->step_starts[step] = first;
		mark_step(history, step);
		make_noise(history);
		if (job->pipeline)
			pipeline_step(history, step);
		else
			training_step(history, step);
		for (int rank = 0; rank < job->ranks && !job->runs_ahead; rank++)
			history->host_ms[rank] = fmax(history->host_ms[rank], history->gpu_ms[rank]);
	}
	qsort(history->events, history->event_count, sizeof(*history->events), by_time);
	if (history->struck_ms > 0)
		history->end_ms = fmax(history->end_ms, history->struck_ms + job->tail_ms);
	return history;
}

void history_free(struct history *history)
{
	free(history->events);
	free(history->slots);
	free(history->waits);
	free(history->step_starts);
	free(history);
}

static void announce_process(const struct history *history, struct analysis *analysis, int rank)
{
	static struct rw_box_header box;
	const struct history_job *job = &history->job;
	int width = job->tensor_parallel ? job->tensor_parallel : 1;
	memset(&box, 0, sizeof(box));
	snprintf(box.host, sizeof(box.host), "%c", 'a' + (job->hosts ? rank * job->hosts / job->ranks : 0));
	snprintf(box.job, sizeof(box.job), "test");
	snprintf(box.rank_from, sizeof(box.rank_from), "RANK");
	snprintf(box.watchdog_from, sizeof(box.watchdog_from), "RANKWATCH_TIMEOUT");
	if (width > 1)
		snprintf(box.environment, sizeof(box.environment), "RANKWATCH_MESH=fsdp=%d,tp=%d", job->ranks / width,
			 width);
	else
		snprintf(box.environment, sizeof(box.environment), "RANKWATCH_MESH=fsdp=%d", job->ranks);
	box.created_ns = 1;
	box.untracked[RW_UNTRACKED_ONE_SIDED] = job->one_sided;
	box.world_rank = rank;
	box.world_size = job->no_world ? -1 : job->ranks;
	double watchdog_ms = rank < 8 ? job->watchdog_ms[rank] : 0;
	box.watchdog_ms = watchdog_ms < 0 ? 0 : watchdog_ms > 0 ? (uint64_t)watchdog_ms : 100000;
	box.devices[0].used = 1;
	snprintf(box.devices[0].pci, sizeof(box.devices[0].pci), "0000:%02x:00.0", (0x10 + (unsigned int)rank) & 0xff);
	box.pid_namespace = 0xEFFFFFFC; /* the machine's */
	struct analysis_process process = { .id = (analysis_process_id)rank + 100, .pid = 4711 + rank, .box = &box };
	if (analysis_add_process(analysis, &process))
		abort();
}

static void announce_communicators(const struct history *history, struct analysis *analysis, int rank)
{
	const struct history_job *job = &history->job;
	analysis_process_id process = (analysis_process_id)rank + 100;
	int width = job->tensor_parallel ? job->tensor_parallel : 1;
	struct rw_communicator fsdp = {
		.id = 0x5eed0000u + (uint64_t)(rank % width),
		.rank = rank / width,
		.nranks = job->no_sizes ? 0 : job->ranks / width,
		.nnodes = job->hosts ? job->hosts : 1,
		.created_ns = 1,
	};
	int inner = job->expert_parallel ? job->expert_parallel : width;
	struct rw_communicator second = { /* of tensor or expert parallelism */
		.id = 0x7e450000u + (uint64_t)(rank / inner),
		.rank = rank % inner,
		.nranks = job->no_sizes ? 0 : inner,
		.nnodes = 1,
		.created_ns = 1,
		.captured = job->hidden == HIDDEN_CAPTURED ? (uint64_t)job->layers : 0,
	};
	if (analysis_add_communicator(analysis, process, 0, &fsdp))
		abort();
	if (inner > 1 && analysis_add_communicator(analysis, process, 1, &second))
		abort();
}

static void announce(const struct history *history, struct analysis *analysis, int rank)
{
	announce_process(history, analysis, rank);
	announce_communicators(history, analysis, rank);
}

static void announce_all(const struct history *history, struct analysis *analysis, int count)
{
	if (history->job.swapped)
		for (int rank = 0; rank < 2; rank++)
			announce_process(history, analysis, rank);
	for (int i = 0; history->job.swapped && i < 2; i++)
		announce_communicators(history, analysis, 1 - i);
	for (int rank = history->job.swapped ? 2 : 0; rank < count; rank++)
		announce(history, analysis, rank);
}

static void play_operation(const struct history *history, struct analysis *analysis, const struct event *event)
{
	struct rw_operation slot = history->slots[event->index];
	slot.known = event->known;
	if (!(event->known & RW_KNOWN_LAUNCH))
		slot.launch_begin_ns = slot.launch_end_ns = slot.return_ns = slot.progress = 0;
	if (!(event->known & RW_KNOWN_STARTED))
		slot.started_seen_ns = 0;
	if (!(event->known & RW_KNOWN_DONE))
		slot.done_seen_ns = 0;
	if (!(event->known & RW_KNOWN_STAMP))
		slot.gpu_start_raw = slot.gpu_end_raw = 0;
	if (analysis_add_operation(analysis, (analysis_process_id)event->rank + 100, &slot))
		abort();
}

static void play_event(const struct history *history, struct analysis *analysis, const struct event *event)
{
	if (history->job.seen && event->rank >= history->job.seen)
		return;
	if (event->kind == EVENT_OPERATION)
		play_operation(history, analysis, event);
	else if (event->kind == EVENT_WAIT)
		analysis_add_wait(analysis, &history->waits[event->index]);
	else
		analysis_set_life(analysis, (analysis_process_id)event->rank + 100, event->life, event->exit_status,
				  ns(event->ms));
}

void history_play(struct history *history, struct analysis *analysis, double until_ms)
{
	int seen = history->job.seen ? history->job.seen : history->job.ranks;
	double end = until_ms > 0 ? until_ms : history->end_ms + 2000;
	if (!history->started)
		announce_all(history, analysis, seen);
	if (!history->started)
		history->tick_ms = HISTORY_BASE_MS;
	history->started = true;
	for (; history->tick_ms <= end; history->tick_ms += 100) {
		while (history->played < history->event_count &&
		       history->events[history->played].ms <= history->tick_ms)
			play_event(history, analysis, &history->events[history->played++]);
		analysis_tick(analysis, ns(history->tick_ms));
	}
}

void history_catch_up(struct history *history, struct analysis *analysis, double until_ms)
{
	for (int rank = 0; rank < history->job.ranks; rank++) {
		announce(history, analysis, rank);
		for (size_t i = 0; i < history->event_count && history->events[i].ms <= until_ms; i++)
			if (history->events[i].rank == rank)
				play_event(history, analysis, &history->events[i]);
		analysis_tick(analysis, ns(until_ms));
	}
	while (history->played < history->event_count && history->events[history->played].ms <= until_ms)
		history->played++;
	history->started = true;
	history->tick_ms = until_ms;
}

static void copy(char *to, size_t room, const char *from)
{
	snprintf(to, room, "%s", from ? from : "");
}

void history_emit(void *argument, const struct rw_finding *finding)
{
	struct history *history = argument;
	if (history->finding_count == HISTORY_FINDINGS)
		return;
	struct history_finding *kept = &history->findings[history->finding_count++];
	*kept = (struct history_finding){
		.state = finding->state,
		.severity = finding->severity,
		.confidence = finding->confidence,
		.kind = finding->kind,
		.scope = finding->scope,
		.level = finding->level,
		.class_ = finding->cause.class_,
		.late_kind = finding->late.kind,
		.phase = finding->operation.phase,
		.rank = finding->rank_count ? finding->ranks[0] : -1,
		.rank_count = (int)finding->rank_count,
		.last_rank = finding->rank_count ? finding->ranks[finding->rank_count - 1] : -1,
		.lost_ms = finding->late.lost_ms_per_step,
		.lost_share = finding->late.lost_share,
		.share = finding->cause.share,
		.left_ms = finding->watchdog.left_ms,
		.wait_grows_ms = finding->watchdog.wait_grows_ms,
		.reached_in_ms = finding->watchdog.reached_in_ms,
		.reached_step = finding->watchdog.reached_step,
		.since_step = (long)finding->late.since_step,
		.step = (long)finding->operation.step,
		.time_ns = finding->time_ns,
		.waiting_count = finding->late.waiting_count,
		.chain_count = finding->cause.chain_count,
		.missing_count = finding->missing_count,
	};
	for (size_t i = 0; i < finding->evidence_count; i++)
		if (!strcmp(finding->evidence[i].source, "children"))
			copy(kept->children, sizeof(kept->children), finding->evidence[i].what);
	/* Whatever is played: nobody loses all of the time. */
	if (finding->kind == RW_KIND_STRAGGLER && finding->late.lost_share >= 1) {
		fprintf(stderr, "%s\n", finding->text);
		abort();
	}
	copy(kept->id, sizeof(kept->id), finding->id);
	copy(kept->text, sizeof(kept->text), finding->text);
	copy(kept->cause_text, sizeof(kept->cause_text), finding->cause.text);
	copy(kept->advice, sizeof(kept->advice), finding->advice);
	copy(kept->comm_name, sizeof(kept->comm_name), finding->operation.comm_name);
	copy(kept->path, sizeof(kept->path), finding->cause.path);
	for (size_t i = 0; i < finding->missing_count; i++) {
		size_t used = strlen(kept->missing);
		snprintf(kept->missing + used, sizeof(kept->missing) - used, "%s%s", i ? "; " : "", finding->missing[i]);
	}
	if (finding->cause.chain_count)
		copy(kept->waits_for, sizeof(kept->waits_for), finding->cause.chain[0].waits_for);
}

const struct history_finding *history_findings(const struct history *history, size_t *count)
{
	*count = history->finding_count;
	return history->findings;
}

double history_step_ms(const struct history *history, int step)
{
	return history->step_starts[step];
}

double history_end_ms(const struct history *history)
{
	return history->end_ms;
}

double history_struck_ms(const struct history *history)
{
	return history->struck_ms;
}
