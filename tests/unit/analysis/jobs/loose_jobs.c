/* SPDX-License-Identifier: MIT */
#include "tests/unit/analysis/jobs/loose_jobs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "base/numbers/splitmix.h"
#include "tests/unit/analysis/jobs/surroundings.h"

enum {
	MOST_RANKS = 6,
	MOST_COMMUNICATORS = 5,
	MOST_CALLS = 8,
	END_CALLS = 2,
	FIRST_PROCESS = 100,
	FIRST_PID = 4711,
	LIVES = 2,
	BASE_MS = 1000,
	MOST_EVENTS = 8,
	MOST_STEPS = 40, /* of a job that is read from bytes, and … */
	MOST_MS = 90000, /* … how long it lasts */
	WHOLE = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN,
};

/* How a call is told. */
enum way {
	WAY_USUAL,
	WAY_HOST,         /* without GPU progress */
	WAY_SAMPLED_OUT,
	WAY_NOT_BLOCKING, /* returns before NCCL has its task */
	WAY_UNTRACKED,
	WAY_BY_CHANNELS,
	WAY_UNANNOUNCED,
	WAY_CAPTURED, /* a replay of it */
	WAY_ABORTED,
	WAYS,
};

enum wrong {
	WRONG_NOTHING,
	WRONG_LATE,    /* its host, in each third step */
	WRONG_SLOW,    /* its GPU, in each step */
	WRONG_CALL,    /* calls something else, once */
	WRONG_LEFT_OUT, /* leaves one call out */
	WRONG_KILLED,
	WRONG_STOPPED,
	WRONG_NAN,
	WRONG_GROWS, /* what it brings grows in each step */
	WRONG_BIT,   /* its result differs, once */
	WRONG_STUCK, /* its GPU */
	WRONGS,
};

/* What happens in some steps of a job that is read from bytes, beside what is wrong with it. */
enum event_kind {
	EVENT_HOST_LATE,
	EVENT_GPU_LATE,
	EVENT_ALL_LATE, /* all GPUs */
	EVENT_STOPPED,  /* for so long */
	EVENT_LEFT_OUT, /* one call, by everybody */
	EVENT_LONGER,   /* one call is about twice as much */
	EVENT_NOT_SEEN, /* the rank's calls */
	EVENT_BAD,	/* its numbers */
	EVENTS,
};

struct event {
	enum event_kind kind;
	int rank, nth, from, until, every;
	double ms;
};

struct call {
	enum way way;
	uint8_t function, dtype, reduction;
	int nth, communicator, root, peer;
	uint64_t count;
	uint32_t tid;
	bool in_place;
};

enum kind { TOLD_OPERATION, TOLD_COMMUNICATOR, TOLD_LIFE, TOLD_PROGRESS, TOLD_BEGINNING };

struct told {
	double ms;
	size_t order;
	enum kind kind;
	int rank;
	struct rw_operation slot;
	struct rw_communicator communicator;
	enum analysis_life life;
	int exit_status;
	uint32_t index;
	uint64_t started, done;
};

struct loose {
	uint64_t random;
	unsigned int number;
	int ranks, communicators, calls, steps, life;
	double unit_ms;
	bool member[MOST_COMMUNICATORS][MOST_RANKS], born[MOST_COMMUNICATORS][MOST_RANKS];
	int first_step[MOST_COMMUNICATORS], last_step[MOST_COMMUNICATORS]; /* in which it is used */
	struct call pattern[MOST_CALLS + END_CALLS];
	enum wrong wrong;
	int who, since, until, every;
	int loses, sees_from; /* the rank whose calls are not all seen, and from which step on they are */
	double late_ms, slow_ms;
	double host_ms[MOST_RANKS], gpu_ms[MOST_RANKS], end_ms;
	bool bad[MOST_RANKS];
	uint64_t ticket[MOST_RANKS], progress[MOST_RANKS][MOST_COMMUNICATORS];
	uint64_t sequence[MOST_RANKS][MOST_COMMUNICATORS][RW_FUNCTION_COUNT][2];
	uint64_t sent[MOST_COMMUNICATORS][MOST_RANKS][MOST_RANKS], received[MOST_COMMUNICATORS][MOST_RANKS][MOST_RANKS];
	const uint8_t *bytes; /* stand for the random numbers; NULL: none do */
	size_t left;
	struct event events[MOST_EVENTS];
	int event_count, hosts;
	double tick_ms;
	bool even; /* nothing takes longer by chance */
	bool has_surroundings;
	struct surroundings around;
	struct told *told;
	size_t count, room;
	unsigned long operations;
};

/* Of more than 256 possible numbers two bytes choose one; behind the last byte all are zeros. */
static uint64_t read_number(struct loose *loose, uint64_t below)
{
	uint64_t number = 0;

	for (int i = 0; i < (below > 256 ? 2 : 1) && loose->left; i++, loose->left--)
		number |= (uint64_t)*loose->bytes++ << (8 * i);
	return number % below;
}

static uint64_t drawn(struct loose *loose, uint64_t below)
{
	if (loose->bytes)
		return read_number(loose, below);
	return splitmix_next(&loose->random) % below;
}

static uint64_t ns(double ms)
{
	return (uint64_t)(ms * 1e6);
}

static struct told *tell(struct loose *loose, double ms, enum kind kind, int rank)
{
	if (loose->count == loose->room) {
		loose->room = loose->room ? loose->room * 2 : 1024;
		loose->told = realloc(loose->told, loose->room * sizeof(*loose->told));
		if (!loose->told)
			abort();
	}
	struct told *told = &loose->told[loose->count];

	*told = (struct told){ .ms = ms, .order = loose->count++, .kind = kind, .rank = rank };
	loose->end_ms = fmax(loose->end_ms, ms);
	return told;
}

/* The first communicator is everybody's. */
static void draw_communicators(struct loose *loose)
{
	loose->communicators = 1 + (int)drawn(loose, MOST_COMMUNICATORS);
	for (int c = 0; c < loose->communicators; c++) {
		int members = 0;

		for (int rank = 0; rank < loose->ranks; rank++) {
			loose->member[c][rank] = !c || drawn(loose, 3);
			members += loose->member[c][rank];
		}
		if (members < 2)
			loose->member[c][0] = loose->member[c][1] = true;
		loose->first_step[c] = c && loose->number % 4 == 2 ? 1 + (int)drawn(loose, 6) : 1;
		loose->last_step[c] = c && !drawn(loose, 3) && loose->number % 4 != 1 ? loose->first_step[c] + 10 : loose->steps;
	}
}

static int drawn_member(struct loose *loose, int communicator)
{
	int rank = (int)drawn(loose, (uint64_t)loose->ranks);

	while (!loose->member[communicator][rank])
		rank = loose->bytes ? (rank + 1) % loose->ranks : (int)drawn(loose, (uint64_t)loose->ranks);
	return rank;
}

static void draw_pattern(struct loose *loose)
{
	static const uint8_t functions[] = { RW_FUNCTION_ALL_REDUCE, RW_FUNCTION_ALL_GATHER, RW_FUNCTION_REDUCE_SCATTER,
					     RW_FUNCTION_BROADCAST,  RW_FUNCTION_SEND,       RW_FUNCTION_REDUCE,
					     RW_FUNCTION_ALL_TO_ALL, RW_FUNCTION_ALL_REDUCE };
	static const uint8_t dtypes[] = { RW_DTYPE_BFLOAT16, RW_DTYPE_FLOAT32, RW_DTYPE_FLOAT16, RW_DTYPE_INT32,
					  RW_DTYPE_FLOAT8_E4M3 };
	static const uint64_t counts[] = { 1, 8, 9, 512, 4096, 1 << 20 };

	loose->calls = 2 + (int)drawn(loose, MOST_CALLS - 1);
	for (int i = 0; i < loose->calls; i++) {
		struct call *call = &loose->pattern[i];

		call->nth = i;
		call->communicator = (int)drawn(loose, (uint64_t)loose->communicators);
		call->function = functions[drawn(loose, sizeof(functions))];
		call->dtype = dtypes[drawn(loose, sizeof(dtypes))];
		call->count = counts[drawn(loose, sizeof(counts) / sizeof(*counts))];
		call->reduction = (uint8_t)drawn(loose, RW_OPERATOR_COUNT - 1);
		call->root = drawn_member(loose, call->communicator);
		call->peer = drawn_member(loose, call->communicator);
		call->way = loose->number % 3 ? (enum way)(drawn(loose, 2) ? drawn(loose, WAYS) : WAY_USUAL) : WAY_USUAL;
		call->tid = drawn(loose, 3) ? 0 : 5000;
		call->in_place = !drawn(loose, 4);
		if (call->function == RW_FUNCTION_SEND && call->root == call->peer)
			call->function = RW_FUNCTION_ALL_REDUCE;
	}
	if (loose->number % 8 == 7)
		return;
	/* How a step shows that it ends: behind another thread's call, numbers are reduced. */
	loose->pattern[loose->calls++] = (struct call){
		.function = RW_FUNCTION_REDUCE_SCATTER, .dtype = RW_DTYPE_BFLOAT16, .count = 4096, .tid = 5000
	};
	loose->pattern[loose->calls++] =
	    (struct call){ .function = RW_FUNCTION_ALL_REDUCE, .dtype = RW_DTYPE_FLOAT32, .count = 1 };
}

static int size_of(const struct loose *loose, int communicator, int below)
{
	int size = 0;

	for (int rank = 0; rank < below; rank++)
		size += loose->member[communicator][rank];
	return size;
}

static void tell_communicator(struct loose *loose, int rank, int c, double ms, bool ended, uint64_t captured)
{
	struct rw_communicator *communicator = &tell(loose, ms, TOLD_COMMUNICATOR, rank)->communicator;

	*communicator = (struct rw_communicator){
		.id = 0x77u + 16 * (uint64_t)loose->number + (uint64_t)c,
		.rank = size_of(loose, c, rank),
		.nranks = loose->number % 7 == 6 ? 0 : size_of(loose, c, loose->ranks),
		.nnodes = loose->hosts,
		.created_ns = ns(BASE_MS + 1 + loose->first_step[c]),
		.ended_ns = ended ? ns(ms) : 0,
		.api_count = loose->ticket[rank],
		.captured = captured,
	};
	if (loose->number % 4 == 1)
		snprintf(communicator->name, sizeof(communicator->name), "%s%d", c ? "group " : "world", c);
	loose->told[loose->count - 1].index = (uint32_t)c;
	loose->born[c][rank] = true;
}

static struct rw_scan scan_of(struct loose *loose, const struct call *call, int rank, int step, bool bad,
			      uint64_t digest)
{
	struct rw_scan scan = { .first_bad = bad ? 17 : UINT64_MAX, .absmax = 1, .digest = digest, .lane_sum = digest };

	if (bad && loose->number % 2)
		scan.inf = 3;
	else if (bad)
		scan.nan = 3;
	if (loose->wrong == WRONG_GROWS && rank == loose->who && step >= loose->since)
		scan.absmax = ldexpf(1, step - loose->since);
	if (call->dtype == RW_DTYPE_FLOAT8_E4M3 && step % 4 == 3)
		scan.saturated = 5;
	return scan;
}

static bool is_wrong(const struct loose *loose, enum wrong wrong, int rank)
{
	return loose->wrong == wrong && rank == loose->who;
}

/* The values of one call: who brings something bad spoils it for all. */
static void scan(struct loose *loose, const struct call *call, int rank, int step, bool spoilt,
		 struct rw_operation *slot)
{
	bool alike = call->function == RW_FUNCTION_ALL_REDUCE || call->function == RW_FUNCTION_BROADCAST;
	uint64_t digest = alike && loose->number % 2 ? (slot->sequence + 1) * 0x9e3779b97f4a7c15u : 0;

	slot->scan_in = scan_of(loose, call, rank, step, loose->bad[rank],
				call->function == RW_FUNCTION_BROADCAST && rank == call->root ? digest : 0);
	if (is_wrong(loose, WRONG_BIT, rank) && step == loose->since)
		digest ^= digest ? 1 : 0;
	slot->scan_out = scan_of(loose, call, rank, step, spoilt, digest);
	slot->known |= call->in_place ? RW_KNOWN_SCAN_OUT : RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT;
	loose->bad[rank] |= spoilt;
}

static void tell_slot(struct loose *loose, double ms, int rank, const struct rw_operation *slot, uint32_t known)
{
	if (!isfinite(ms))
		return;
	struct rw_operation *told = &tell(loose, ms, TOLD_OPERATION, rank)->slot;

	*told = *slot;
	told->known = known;
	if (!(known & RW_KNOWN_LAUNCH))
		told->launch_begin_ns = told->launch_end_ns = told->progress = 0;
	if (!(known & RW_KNOWN_RETURN))
		told->return_ns = 0;
	if (!(known & RW_KNOWN_STARTED))
		told->started_seen_ns = 0;
	if (!(known & RW_KNOWN_DONE))
		told->done_seen_ns = 0;
}

static void number_slot(struct loose *loose, const struct call *call, int rank, struct rw_operation *slot)
{
	bool apart = call->way == WAY_UNANNOUNCED;

	if (call->way == WAY_CAPTURED)
		slot->sequence = rw_captured_sequence((uint64_t)call->nth,
						      loose->sequence[rank][call->communicator][call->function][0]++);
	else if (slot->function == RW_FUNCTION_SEND)
		slot->sequence = loose->sent[call->communicator][rank][call->peer]++;
	else if (slot->function == RW_FUNCTION_RECV)
		slot->sequence = loose->received[call->communicator][rank][call->root]++;
	else
		slot->sequence = loose->sequence[rank][call->communicator][slot->function][apart]++;
}

static struct rw_operation make_slot(struct loose *loose, const struct call *call, int rank)
{
	static const uint32_t flags[WAYS] = {
		[WAY_SAMPLED_OUT] = RW_FLAG_PROGRESS_SAMPLED_OUT,
		[WAY_UNTRACKED] = RW_FLAG_UNTRACKED | RW_UNTRACKED_NO_TASK << RW_FLAG_UNTRACKED_SHIFT,
		[WAY_UNANNOUNCED] = RW_FLAG_UNANNOUNCED,
		[WAY_CAPTURED] = RW_FLAG_CAPTURED,
		[WAY_ABORTED] = RW_FLAG_ABORTED,
	};
	bool sends = call->function == RW_FUNCTION_SEND;
	struct rw_operation slot = {
		.ticket = ++loose->ticket[rank],
		.comm = (uint16_t)call->communicator,
		.function = sends && rank == call->peer ? RW_FUNCTION_RECV : call->function,
		.dtype = call->dtype,
		.count = call->count,
		.flags = flags[call->way] | rw_operator_flags(call->reduction) | (call->in_place ? RW_FLAG_IN_PLACE : 0),
		.api_tid = call->tid ? call->tid : 1000 + (uint32_t)rank,
		.algorithm = RW_ALGORITHM_RING,
		.protocol = RW_PROTOCOL_SIMPLE,
		.root_or_peer = -1,
	};

	if (sends)
		slot.root_or_peer = size_of(loose, call->communicator, rank == call->root ? call->peer : call->root);
	else if (call->function == RW_FUNCTION_BROADCAST || call->function == RW_FUNCTION_REDUCE)
		slot.root_or_peer = size_of(loose, call->communicator, call->root);
	number_slot(loose, call, rank, &slot);
	if (call->way == WAY_USUAL || call->way == WAY_BY_CHANNELS || call->way == WAY_NOT_BLOCKING)
		slot.progress = ++loose->progress[rank][call->communicator];
	slot.gpu_source = call->way == WAY_BY_CHANNELS ? RW_GPU_SOURCE_KERNEL_CH
			  : slot.progress              ? RW_GPU_SOURCE_WATERMARK
						       : RW_GPU_SOURCE_NONE;
	return slot;
}

/* All stages of one rank's part, as a reader would see them. */
static void tell_stages(struct loose *loose, const struct call *call, int rank, struct rw_operation slot,
			double arrival_ms, double done_ms)
{
	double api_ms = loose->host_ms[rank], unit_ms = loose->unit_ms;
	uint32_t scans = slot.known;

	slot.api_ns = ns(call->way == WAY_CAPTURED && isfinite(done_ms) ? done_ms : api_ms);
	slot.launch_begin_ns = slot.launch_end_ns = slot.return_ns =
	    ns(api_ms + (call->way == WAY_NOT_BLOCKING ? 3 : 1) * unit_ms);
	slot.started_seen_ns = isfinite(arrival_ms) ? ns(arrival_ms) : 0;
	slot.done_seen_ns = isfinite(done_ms) ? ns(done_ms) : 0;
	loose->operations++;
	if (call->way == WAY_CAPTURED) {
		tell_slot(loose, done_ms, rank, &slot, RW_KNOWN_IDENT | RW_KNOWN_API | scans);
		return;
	}
	slot.owner = RW_OWNER_HOST | RW_OWNER_GPU;
	tell_slot(loose, api_ms, rank, &slot, RW_KNOWN_IDENT | RW_KNOWN_API);
	if (call->way == WAY_NOT_BLOCKING) {
		slot.flags |= RW_FLAG_IN_PROGRESS;
		tell_slot(loose, api_ms + unit_ms, rank, &slot, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_RETURN);
		slot.flags &= ~(uint32_t)RW_FLAG_IN_PROGRESS;
		api_ms += 2 * unit_ms;
	}
	if (call->way == WAY_UNTRACKED || call->way == WAY_ABORTED) {
		tell_slot(loose, api_ms + unit_ms, rank, &slot, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_RETURN);
		return;
	}
	tell_slot(loose, api_ms + unit_ms, rank, &slot, WHOLE);
	if (!slot.progress)
		return;
	tell_slot(loose, arrival_ms, rank, &slot, WHOLE | RW_KNOWN_STARTED);
	slot.owner = scans ? RW_OWNER_SCAN_OUT : 0;
	tell_slot(loose, done_ms, rank, &slot, WHOLE | RW_KNOWN_STARTED | RW_KNOWN_DONE);
	slot.owner = 0;
	if (scans)
		tell_slot(loose, done_ms + unit_ms, rank, &slot, WHOLE | RW_KNOWN_STARTED | RW_KNOWN_DONE | scans);
}

static bool takes_part(const struct loose *loose, const struct call *call, int rank)
{
	if (call->function == RW_FUNCTION_SEND)
		return rank == call->root || rank == call->peer;
	return loose->member[call->communicator][rank];
}

/* False: it makes no call at all. */
static bool goes_wrong(struct loose *loose, int rank, int step, int nth, struct call *own)
{
	bool now = step == loose->since && nth == loose->calls / 2;

	if (is_wrong(loose, WRONG_CALL, rank) && now) {
		own->function = own->function == RW_FUNCTION_ALL_REDUCE ? RW_FUNCTION_ALL_GATHER : RW_FUNCTION_ALL_REDUCE;
		own->count *= 2;
	}
	return isfinite(loose->host_ms[rank]) && !(is_wrong(loose, WRONG_LEFT_OUT, rank) && now);
}

/* Does such an event happen now? Of any rank, where it is the call that counts; then `rank` is -1. */
static const struct event *find_event(const struct loose *loose, enum event_kind kind, int rank, int nth, int step)
{
	for (int i = 0; i < loose->event_count; i++) {
		const struct event *event = &loose->events[i];

		if (event->kind == kind && step >= event->from && step < event->until && (step - event->from) % event->every == 0 &&
		    (rank < 0 || event->rank == rank) && (nth < 0 || event->nth % loose->calls == nth))
			return event;
	}
	return NULL;
}

/* It was made, and nobody sees it. */
static bool is_lost(struct loose *loose, int rank, int step)
{
	if (find_event(loose, EVENT_NOT_SEEN, rank, -1, step))
		return true;
	return rank == loose->loses && (step < loose->sees_from || !drawn(loose, 50));
}

static void play_call(struct loose *loose, int step, int nth)
{
	const struct call *call = &loose->pattern[nth];
	bool joins[MOST_RANKS] = { 0 }, spoilt = false, scanned = loose->number % 4 == 3;
	double unit_ms = loose->unit_ms, start_ms = 0, arrivals[MOST_RANKS];
	struct rw_operation slots[MOST_RANKS];
	struct call own[MOST_RANKS];

	if (step < loose->first_step[call->communicator] || step > loose->last_step[call->communicator] ||
	    find_event(loose, EVENT_LEFT_OUT, -1, nth, step))
		return;
	for (int rank = 0; rank < loose->ranks; rank++) {
		if (!takes_part(loose, call, rank))
			continue;
		own[rank] = *call;
		if (find_event(loose, EVENT_LONGER, -1, nth, step))
			own[rank].count += call->count + 1;
		joins[rank] = goes_wrong(loose, rank, step, nth, &own[rank]);
		arrivals[rank] = fmax(loose->host_ms[rank] + unit_ms, loose->gpu_ms[rank]);
		start_ms = fmax(start_ms, joins[rank] ? arrivals[rank] : INFINITY);
		if (memcmp(&own[rank].function, &call->function, 1))
			start_ms = INFINITY;
		spoilt |= loose->bad[rank];
	}
	if (call->way == WAY_UNTRACKED || call->way == WAY_ABORTED || call->way == WAY_CAPTURED)
		start_ms = isfinite(start_ms) ? start_ms : BASE_MS;
	for (int rank = 0; rank < loose->ranks; rank++) {
		if (!joins[rank])
			continue;
		slots[rank] = make_slot(loose, &own[rank], rank);
		slots[rank].known = 0;
		if (scanned && isfinite(start_ms))
			scan(loose, call, rank, step, spoilt, &slots[rank]);
		if (!is_lost(loose, rank, step))
			tell_stages(loose, &own[rank], rank, slots[rank], arrivals[rank], start_ms + unit_ms);
		loose->gpu_ms[rank] = fmax(loose->gpu_ms[rank], start_ms + unit_ms);
		loose->host_ms[rank] += unit_ms;
	}
}

static void tell_life(struct loose *loose, int rank, double ms, enum analysis_life life, int exit_status)
{
	struct told *told = tell(loose, ms, TOLD_LIFE, rank);

	told->life = life;
	told->exit_status = exit_status;
}

/* The others fail one after the other, for their connections break. */
static void follow(struct loose *loose, int killed, double ms)
{
	for (int rank = 0; rank < loose->ranks && loose->number % 3 == 1; rank++)
		if (rank != killed)
			tell_life(loose, rank, ms + 500 * rank, ANALYSIS_EXITED, 1 << 8);
}

static void tell_stop(struct loose *loose, int rank, double ms)
{
	tell_life(loose, rank, loose->host_ms[rank], ANALYSIS_STOPPED, -1);
	loose->host_ms[rank] += ms;
	tell_life(loose, rank, loose->host_ms[rank], ANALYSIS_ALIVE, -1);
}

static void meet_events(struct loose *loose, int rank, int step)
{
	const struct event *event;

	if (!isfinite(loose->host_ms[rank]))
		return;
	if ((event = find_event(loose, EVENT_STOPPED, rank, -1, step)))
		tell_stop(loose, rank, event->ms);
	if ((event = find_event(loose, EVENT_HOST_LATE, rank, -1, step)))
		loose->host_ms[rank] += event->ms;
	if ((event = find_event(loose, EVENT_GPU_LATE, rank, -1, step)))
		loose->gpu_ms[rank] = fmax(loose->gpu_ms[rank], loose->host_ms[rank]) + event->ms;
	if ((event = find_event(loose, EVENT_ALL_LATE, -1, -1, step)))
		loose->gpu_ms[rank] = fmax(loose->gpu_ms[rank], loose->host_ms[rank]) + event->ms;
	if (find_event(loose, EVENT_BAD, rank, -1, step))
		loose->bad[rank] = true;
}

static void begin_step(struct loose *loose, int rank, int step)
{
	double *host_ms = &loose->host_ms[rank], *gpu_ms = &loose->gpu_ms[rank], unit_ms = loose->unit_ms;
	bool once = step == loose->since, since = step >= loose->since && step < loose->until;

	*host_ms += loose->even ? 0 : (double)drawn(loose, 2) * unit_ms;
	*gpu_ms = fmax(*gpu_ms, *host_ms) + (double)(2 + (loose->even ? 0 : drawn(loose, 3))) * unit_ms;
	meet_events(loose, rank, step);
	if (is_wrong(loose, WRONG_LATE, rank) && since && step % loose->every == 0)
		*host_ms += loose->late_ms;
	if (is_wrong(loose, WRONG_SLOW, rank) && since)
		*gpu_ms += loose->slow_ms;
	if (is_wrong(loose, WRONG_NAN, rank) && once)
		loose->bad[rank] = true;
	if (is_wrong(loose, WRONG_STUCK, rank) && once)
		*gpu_ms = INFINITY;
	if (once && isfinite(*host_ms) && (is_wrong(loose, WRONG_KILLED, rank) || is_wrong(loose, WRONG_STOPPED, rank))) {
		bool killed = loose->wrong == WRONG_KILLED;

		tell_life(loose, rank, *host_ms, killed ? ANALYSIS_KILLED : ANALYSIS_STOPPED, killed ? 9 : -1);
		if (killed)
			follow(loose, rank, *host_ms);
		*host_ms = *gpu_ms = INFINITY;
	}
}

static void tell_communicators(struct loose *loose, int rank, int step)
{
	for (int c = 0; c < loose->communicators && isfinite(loose->host_ms[rank]); c++) {
		if (!loose->member[c][rank] || step < loose->first_step[c])
			continue;
		if (!loose->born[c][rank] || step % 8 == 0 || step == loose->last_step[c] + 1)
			tell_communicator(loose, rank, c, loose->host_ms[rank], step > loose->last_step[c], (uint64_t)(step / 8) * 3);
		if (step % 5)
			continue;
		struct told *told = tell(loose, loose->host_ms[rank], TOLD_PROGRESS, rank);

		told->index = (uint32_t)c;
		told->started = told->done = loose->progress[rank][c];
	}
}

/* The host waits for its GPU at the end of a step, or not. */
static void play_life(struct loose *loose, double from_ms)
{
	for (int rank = 0; rank < loose->ranks; rank++) {
		loose->host_ms[rank] = loose->gpu_ms[rank] = from_ms + (rank && loose->number % 5 == 4 ? 500 : 0);
		tell(loose, loose->host_ms[rank], TOLD_BEGINNING, rank);
	}
	for (int step = 1; step <= loose->steps; step++) {
		for (int rank = 0; rank < loose->ranks; rank++) {
			tell_communicators(loose, rank, step);
			begin_step(loose, rank, step);
		}
		for (int nth = 0; nth < loose->calls; nth++)
			play_call(loose, step, nth);
		for (int rank = 0; rank < loose->ranks; rank++)
			if (loose->number % 3 != 1)
				loose->host_ms[rank] = fmax(loose->host_ms[rank], loose->gpu_ms[rank]);
	}
	for (int rank = 0; rank < loose->ranks; rank++)
		if (!is_wrong(loose, WRONG_KILLED, rank))
			tell_life(loose, rank, loose->end_ms + 4000 + 100 * (rank % 2), ANALYSIS_EXITED, 0);
}

static int by_time(const void *left, const void *right)
{
	const struct told *a = left, *b = right;

	if (a->ms != b->ms)
		return a->ms < b->ms ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

static void begin_process(const struct loose *loose, struct analysis *analysis, const struct told *told)
{
	static struct rw_box_header box;
	analysis_process_id id = FIRST_PROCESS + (analysis_process_id)(told->rank + loose->life * MOST_RANKS);

	memset(&box, 0, sizeof(box));
	snprintf(box.host, sizeof(box.host), "%s", loose->number % 5 == 2 && told->rank % 2 ? "b" : "a");
	snprintf(box.job, sizeof(box.job), "loose");
	snprintf(box.rank_from, sizeof(box.rank_from), "RANK");
	snprintf(box.watchdog_from, sizeof(box.watchdog_from), "cmdline");
	box.created_ns = ns(told->ms);
	box.world_rank = loose->number % 9 == 8 ? -1 : told->rank;
	box.world_size = loose->number % 6 == 5 ? -1 : loose->ranks;
	box.local_rank = told->rank;
	box.generation = loose->life;
	box.watchdog_ms = loose->number % 2 ? 20000 : 0;
	if (loose->number >= LOOSE_AT_LIMITS)
		box.watchdog_init_ms = 1000 * (1 + loose->number % 7);
	box.interposed = loose->number % 2;
	box.nccl_version = 22809;
	box.devices[0].used = 1;
	snprintf(box.devices[0].pci, sizeof(box.devices[0].pci), "0000:%02x:00.0", 0x10 + (unsigned int)told->rank);
	box.pid_namespace = 0xEFFFFFFC;
	const struct analysis_process process = { .id = id,
						  .pid = FIRST_PID + told->rank + loose->life * MOST_RANKS,
						  .box = &box };

	if (analysis_add_process(analysis, &process))
		abort();
}

static void hand_on(struct loose *loose, struct analysis *analysis, const struct told *told)
{
	analysis_process_id id = FIRST_PROCESS + (analysis_process_id)(told->rank + loose->life * MOST_RANKS);

	switch (told->kind) {
	case TOLD_BEGINNING:
		begin_process(loose, analysis, told);
		break;
	case TOLD_COMMUNICATOR:
		analysis_add_communicator(analysis, id, told->index, &told->communicator);
		break;
	case TOLD_OPERATION:
		analysis_add_operation(analysis, id, &told->slot);
		break;
	case TOLD_PROGRESS:
		analysis_add_progress(analysis, id, told->index, told->started, told->done, ns(told->ms));
		break;
	case TOLD_LIFE:
		analysis_set_heartbeat(analysis, id, ns(told->ms));
		analysis_set_life(analysis, id, told->life, told->exit_status, ns(told->ms));
		break;
	}
}

static double hand_all_on(struct loose *loose, struct analysis *analysis, double now_ms,
			  const struct loose_hooks *hooks)
{
	double last_ms = hooks ? fmin(loose->end_ms, now_ms + MOST_MS) : loose->end_ms;
	size_t at = 0;

	qsort(loose->told, loose->count, sizeof(*loose->told), by_time);
	for (; now_ms <= last_ms + 1000; now_ms += loose->tick_ms) {
		for (; at < loose->count && loose->told[at].ms <= now_ms; at++)
			hand_on(loose, analysis, &loose->told[at]);
		if (loose->has_surroundings)
			surroundings_show(&loose->around, analysis, ns(now_ms));
		analysis_tick(analysis, ns(now_ms));
		if (hooks)
			hooks->ticked(hooks->argument, analysis, ns(now_ms));
	}
	return now_ms;
}

/* Times that stand in analysis/, and some halves and doubles of them. */
static double drawn_limit_ms(struct loose *loose)
{
	static const double limits_ms[] = { 1,   2,   5,   10,  15,  20,  25,  30,   40,   50,   75,  100,
					    125, 150, 200, 250, 300, 500, 600, 1000, 2000, 2500, 3000 };

	return limits_ms[drawn(loose, sizeof(limits_ms) / sizeof(*limits_ms))] + ((double)drawn(loose, 3) - 1) / 1e6;
}

static void draw_limits(struct loose *loose)
{
	static const double units_ms[] = { 1, 2, 4, 5, 10, 12.5, 20, 25, 40, 50, 100 };

	loose->unit_ms = units_ms[drawn(loose, sizeof(units_ms) / sizeof(*units_ms))];
	loose->steps += (int)drawn(loose, 40);
	if (drawn(loose, 2)) {
		loose->wrong = drawn(loose, 2) ? WRONG_LATE : WRONG_SLOW;
		loose->steps += (int)drawn(loose, 120);
	}
	loose->since = 3 + (int)drawn(loose, 20);
	loose->until = drawn(loose, 2) ? loose->since + 3 + (int)drawn(loose, 20) : loose->steps + 1;
	loose->every = 1 + (int)drawn(loose, 5);
	loose->late_ms = drawn_limit_ms(loose);
	loose->slow_ms = drawn_limit_ms(loose);
	for (int c = 0; c < loose->communicators; c++)
		loose->last_step[c] = loose->last_step[c] < 25 ? loose->last_step[c] : loose->steps;
}

static void draw(struct loose *loose, unsigned int number)
{
	static const double units_ms[] = { 2, 5, 10, 20, 50 };

	loose->random = number * 77u + 1;
	loose->number = number;
	loose->hosts = 1;
	loose->tick_ms = 100;
	loose->ranks = 2 + (int)drawn(loose, MOST_RANKS - 1);
	loose->steps = 25 + (int)drawn(loose, 30);
	loose->unit_ms = units_ms[drawn(loose, sizeof(units_ms) / sizeof(*units_ms))];
	loose->wrong = (enum wrong)(number % WRONGS);
	loose->who = (int)drawn(loose, (uint64_t)loose->ranks);
	loose->since = 8 + (int)drawn(loose, 8);
	loose->until = loose->steps + 1;
	loose->every = 3;
	loose->late_ms = 400;
	loose->slow_ms = 100;
	draw_communicators(loose);
	draw_pattern(loose);
	loose->loses = -1;
	if (number >= LOOSE_WITH_LOSSES) {
		loose->loses = (int)drawn(loose, (uint64_t)loose->ranks);
		loose->sees_from = drawn(loose, 3) ? 0 : 4;
	} else if (number >= LOOSE_AT_LIMITS) {
		draw_limits(loose);
	}
	if (loose->wrong == WRONG_NAN || loose->wrong == WRONG_GROWS || loose->wrong == WRONG_BIT)
		loose->number |= 3; /* is scanned */
}

static double read_ms(struct loose *loose)
{
	switch (drawn(loose, 3)) {
	case 0:
		return drawn_limit_ms(loose);
	case 1:
		return (double)drawn(loose, 4000);
	default:
		return (double)drawn(loose, 1 << 16) / 64;
	}
}

static void read_event(struct loose *loose, struct event *event)
{
	event->kind = (enum event_kind)drawn(loose, EVENTS);
	event->rank = (int)drawn(loose, (uint64_t)loose->ranks);
	event->nth = (int)drawn(loose, MOST_CALLS + END_CALLS);
	event->from = 1 + (int)drawn(loose, MOST_STEPS);
	event->until = event->from + 1 + (int)drawn(loose, MOST_STEPS);
	event->every = 1 + (int)drawn(loose, 6);
	event->ms = read_ms(loose);
}

/* The job that the bytes make: what is drawn else, and what else happens. What is drawn while it is played goes by its
 * number. */
static void read_job(struct loose *loose, int life)
{
	/* One statement each: compilers choose the order within one. */
	unsigned int number = (unsigned int)drawn(loose, 3) * LOOSE_AT_LIMITS;

	number += (unsigned int)drawn(loose, 9 * 8 * 7 * 5 * WRONGS) % LOOSE_AT_LIMITS;
	draw(loose, number + 1000 * (unsigned int)life);
	loose->steps = 8 + (int)drawn(loose, MOST_STEPS - 8);
	loose->hosts = 1 + (int)drawn(loose, 2);
	loose->even = drawn(loose, 2);
	loose->tick_ms = drawn(loose, 4) ? 250 : 100;
	loose->has_surroundings = drawn(loose, 4) == 1;
	loose->around.number = (unsigned int)drawn(loose, 256);
	loose->around.ranks = loose->ranks;
	loose->around.sick = (int)drawn(loose, (uint64_t)loose->ranks);
	loose->around.from_ms = 100 * (double)drawn(loose, 100);
	loose->around.to_ms = 100 * (double)drawn(loose, 256);
	loose->event_count = (int)drawn(loose, MOST_EVENTS + 1);
	for (int i = 0; i < loose->event_count; i++)
		read_event(loose, &loose->events[i]);
}

static void describe(FILE *out, const struct loose *loose)
{
	static const char *const events[EVENTS] = { "its host is late", "its GPU is late", "all GPUs are late", "is stopped",
						    "a call is left out", "a call is longer", "its calls are not seen", "its numbers go bad" };

	fprintf(out,
		"job %u: %d ranks, %d steps of units of %g ms, %d communicators, %d hosts%s%s, wrong %d with rank %d "
		"from step %d to %d every %d by %g and %g ms\n",
		loose->number, loose->ranks, loose->steps, loose->unit_ms, loose->communicators, loose->hosts,
		loose->even ? ", even" : "", loose->has_surroundings ? ", in surroundings" : "", (int)loose->wrong,
		loose->who, loose->since, loose->until, loose->every, loose->late_ms, loose->slow_ms);
	for (int i = 0; i < loose->calls; i++)
		fprintf(out,
			"  call %d: function %d in %d, type %d, %lu, root %d, peer %d, told in way %d by thread %u\n",
			i, loose->pattern[i].function, loose->pattern[i].communicator, loose->pattern[i].dtype,
			(unsigned long)loose->pattern[i].count, loose->pattern[i].root, loose->pattern[i].peer,
			(int)loose->pattern[i].way, loose->pattern[i].tid);
	for (int i = 0; i < loose->event_count; i++)
		fprintf(out, "  rank %d, call %d: %s, from step %d to %d every %d, %.6f ms\n", loose->events[i].rank,
			loose->events[i].nth, events[loose->events[i].kind], loose->events[i].from,
			loose->events[i].until, loose->events[i].every, loose->events[i].ms);
}

static void not_heard(void *argument, const struct rw_finding *finding)
{
	(void)argument;
	(void)finding;
}

static double play_one(struct loose *loose, int life, struct analysis *analysis, double now_ms,
		       const struct loose_hooks *hooks)
{
	loose->life = life;
	play_life(loose, now_ms);
	now_ms = hand_all_on(loose, analysis, now_ms, hooks);
	free(loose->told);
	return now_ms;
}

static void end_all(struct analysis *analysis, unsigned int number, double now_ms)
{
	if (number % 6 == 1)
		analysis_replay_open(analysis);
	if (number % 5 == 3)
		analysis_report_inits(analysis, ns(now_ms));
}

unsigned long loose_play(unsigned int number)
{
	struct analysis *analysis = analysis_new(number % 5 == 3, not_heard, NULL);
	unsigned long operations = 0;
	double now_ms = BASE_MS;

	if (!analysis)
		abort();
	for (int life = 0; life < 1 + (number % 4 == 2) * (LIVES - 1); life++) {
		struct loose loose = { 0 };

		draw(&loose, number + 1000 * (unsigned int)life);
		now_ms = play_one(&loose, life, analysis, now_ms, NULL);
		operations += loose.operations;
	}
	end_all(analysis, number, now_ms);
	analysis_free(analysis);
	return operations;
}

void loose_play_bytes(const uint8_t *bytes, size_t size, const struct loose_hooks *hooks)
{
	struct loose loose = { .bytes = bytes, .left = size };
	bool post_mortem = drawn(&loose, 4) == 3, again = drawn(&loose, 4) == 2 && !post_mortem; /* a report is of one life */
	unsigned int ends = (unsigned int)drawn(&loose, 30);
	struct analysis *analysis = analysis_new(post_mortem, hooks->finding, hooks->argument);
	double now_ms = BASE_MS;

	if (!analysis)
		abort();
	hooks->begun(hooks->argument, analysis);
	for (int life = 0; life < 1 + again; life++) {
		struct loose one = { .bytes = loose.bytes, .left = loose.left };

		read_job(&one, life);
		loose.bytes = one.bytes;
		loose.left = one.left;
		one.bytes = NULL;
		if (hooks->words)
			describe(hooks->words, &one);
		now_ms = play_one(&one, life, analysis, now_ms, hooks);
	}
	hooks->ended(hooks->argument, analysis);
	end_all(analysis, ends, now_ms);
	analysis_free(analysis);
}
