/* SPDX-License-Identifier: MIT */
#include "suite/records.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "suite/chances.h"
#include "suite/give_up.h"

enum {
	LOOK_MS = 100,
	NVML_MS = 500,
	WRITER_TID = 500000,
	COMMUNICATORS = 3,
	NEIGHBOURS = 2,
	PROCESS_BASE = 100,
	GPUS_SHOWN = 128
};
static const double stall_seen_ms = 0.5;

struct queue {
	struct rw_operation *operations;
	uint32_t *shown; /* what was known of each at the last poll */
	size_t count, room;
};

struct box {
	struct queue queue;
	double polled_ms;
	uint64_t tickets, announced[COMMUNICATORS], progress[COMMUNICATORS], sequence[COMMUNICATORS][RW_FUNCTION_COUNT];
	uint64_t sent[NEIGHBOURS], received[NEIGHBOURS]; /* to and from the stage before, and behind */
};

struct records {
	const struct suite_draw *draw;
	struct suite_collectors *collectors;
	struct chances chances;
	struct box *boxes;
	struct analysis_wait *waits; /* not shown yet */
	size_t wait_count, wait_room;
	double next_ms, nvml_ms, ended_ms, throttled_ms;
	int ended;
	bool reported;
};

int records_width(const struct suite_draw *draw)
{
	return draw->shape >= SHAPE_HYBRID ? draw->width : draw->ranks;
}

int records_hosts(const struct suite_draw *draw, bool outer)
{
	int width = records_width(draw);
	int span = outer ? draw->ranks : width;
	int hosts = (span + draw->per_host - 1) / draw->per_host;
	int members = outer ? draw->ranks / width : width;

	return hosts < members ? hosts : members;
}

static struct analysis *analysis_of(const struct records *records, int rank)
{
	return suite_collectors_analysis(records->collectors, rank);
}

static uint64_t ns(double ms)
{
	return isfinite(ms) && ms > 0 ? (uint64_t)(ms * 1e6) : 0;
}

static void join(struct records *records, int rank, uint32_t index, uint64_t id, int number, int size, int hosts)
{
	const struct rw_communicator communicator = { .id = id,
						      .rank = number,
						      .nranks = size,
						      .nnodes = hosts,
						      .created_ns = 1,
						      .api_count = records->boxes[rank].announced[index] };

	if (analysis_add_communicator(analysis_of(records, rank), (analysis_process_id)(PROCESS_BASE + rank), index,
				      &communicator))
		suite_give_up();
}

static void join_all(struct records *records, int rank)
{
	const struct suite_draw *draw = records->draw;
	int width = records_width(draw), groups = draw->ranks / width;

	join(records, rank, 0, 0x1000000u + (uint64_t)(rank / width), rank % width, width, records_hosts(draw, false));
	if (groups > 1)
		join(records, rank, 1, 0x2000000u + (uint64_t)(rank % width), rank / width, groups,
		     records_hosts(draw, true));
	if (draw->shape == SHAPE_STAGES)
		join(records, rank, 2, 0x3000000u + (uint64_t)(rank / width), rank % width, width,
		     records_hosts(draw, false));
}

static void announce(struct records *records, int rank)
{
	static struct rw_box_header box;
	const struct suite_draw *draw = records->draw;

	memset(&box, 0, sizeof(box));
	snprintf(box.host, sizeof(box.host), "h%d", rank / draw->per_host);
	snprintf(box.job, sizeof(box.job), "suite");
	snprintf(box.rank_from, sizeof(box.rank_from), "RANK");
	box.created_ns = 1;
	box.world_rank = rank;
	box.world_size = draw->ranks;
	box.watchdog_ms = 600000;
	box.pid_namespace = 0xEFFFFFFC; /* the machine's */
	box.devices[0].used = 1;
	snprintf(box.devices[0].pci, sizeof(box.devices[0].pci), "%04x:%02x:00.0", (unsigned)rank >> 5,
		 8 + ((unsigned)rank & 31));
	const struct analysis_process process = { .id = (analysis_process_id)(PROCESS_BASE + rank),
						  .pid = 10000 + rank, .box = &box };
	if (analysis_add_process(analysis_of(records, rank), &process))
		suite_give_up();
	join_all(records, rank);
}

struct records *records_new(const struct suite_draw *draw, struct suite_collectors *collectors)
{
	struct records *records = calloc(1, sizeof(*records));

	if (!records)
		suite_give_up();
	*records = (struct records){ .draw = draw, .collectors = collectors, .chances = { 0x10000u + draw->seed }, .ended = -1,
				     .next_ms = RECORDS_BEGIN_MS, .nvml_ms = RECORDS_BEGIN_MS, .throttled_ms = INFINITY };
	records->boxes = calloc((size_t)draw->ranks, sizeof(*records->boxes));
	if (!records->boxes)
		suite_give_up();
	for (int rank = 0; rank < draw->ranks; rank++) {
		records->boxes[rank].polled_ms = 4 * uniform(&records->chances);
		announce(records, rank);
	}
	return records;
}

void records_free(struct records *records)
{
	for (int rank = 0; rank < records->draw->ranks; rank++) {
		free(records->boxes[rank].queue.operations);
		free(records->boxes[rank].queue.shown);
	}
	free(records->boxes);
	free(records->waits);
	free(records);
}

/* The plugin's next look at the GPU's page, 3 to 4 ms after the last one while something is in flight. */
static uint64_t seen_ns(struct records *records, struct box *box, double ms)
{
	if (!isfinite(ms))
		return 0;
	if (box->polled_ms < ms - 100)
		box->polled_ms = ms - 4 * uniform(&records->chances);
	while (box->polled_ms < ms)
		box->polled_ms += 3 + uniform(&records->chances);
	return ns(box->polled_ms);
}

static struct rw_operation *append(struct queue *queue)
{
	if (queue->count == queue->room) {
		queue->room = queue->room ? 2 * queue->room : 64;
		queue->operations = realloc(queue->operations, queue->room * sizeof(*queue->operations));
		queue->shown = realloc(queue->shown, queue->room * sizeof(*queue->shown));
		if (!queue->operations || !queue->shown)
			suite_give_up();
	}
	queue->shown[queue->count] = 0;
	return &queue->operations[queue->count++];
}

static uint64_t next_sequence(const struct records *records, int rank, struct call call)
{
	struct box *box = &records->boxes[rank];
	bool behind = call.peer - 1 > rank % records->draw->width;

	if (call.function == RW_FUNCTION_SEND)
		return box->sent[behind]++;
	if (call.function == RW_FUNCTION_RECV)
		return box->received[behind]++;
	return box->sequence[call.communicator][call.function]++;
}

void records_operation(struct records *records, int rank, struct call call, struct operation_times times)
{
	struct box *box = &records->boxes[rank];
	struct rw_operation *slot = append(&box->queue);

	*slot = (struct rw_operation){
		.ticket = ++box->tickets,
		.known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN | RW_KNOWN_TASK,
		.comm = (uint16_t)call.communicator,
		.function = call.function,
		.dtype = RW_DTYPE_BFLOAT16,
		.count = call.count,
		.sequence = next_sequence(records, rank, call),
		.api_tid = (uint32_t)((call.backward ? 100000 : 10000) + rank),
		.api_ns = ns(times.launched_ms - 0.05),
		.launch_begin_ns = ns(times.launched_ms - 0.03),
		.launch_end_ns = ns(times.launched_ms - 0.01),
		.return_ns = ns(times.launched_ms),
		.root_or_peer = call.peer - 1,
		.progress = ++box->progress[call.communicator],
		.gpu_source = RW_GPU_SOURCE_WATERMARK,
	};
	box->announced[call.communicator]++;
	slot->started_seen_ns = seen_ns(records, box, times.arrived_ms);
	slot->done_seen_ns = seen_ns(records, box, times.done_ms);
}

static struct analysis_wait *add_wait(struct records *records, int rank, uint32_t tid, const char *thread,
				      double from_ms, double until_ms)
{
	if (records->wait_count == records->wait_room) {
		records->wait_room = records->wait_room ? 2 * records->wait_room : 64;
		records->waits = realloc(records->waits, records->wait_room * sizeof(*records->waits));
		if (!records->waits)
			suite_give_up();
	}
	struct analysis_wait *wait = &records->waits[records->wait_count++];
	*wait = (struct analysis_wait){ .process = (analysis_process_id)(PROCESS_BASE + rank),
					.level = RW_LEVEL_EBPF,
					.tid = tid,
					.start_ns = ns(from_ms),
					.end_ns = ns(until_ms),
					.system_call = -1,
					.fd = -1 };
	snprintf(wait->thread, sizeof(wait->thread), "%s", thread);
	return wait;
}

static void in_fsync(struct analysis_wait *wait)
{
	wait->system_call = SYS_fsync;
	wait->fd = 7;
	wait->state = 'D';
	wait->io_wait = true;
	wait->blocked_ns = wait->end_ns - wait->start_ns;
	snprintf(wait->path, sizeof(wait->path), "/data/log.0");
	snprintf(wait->file_system, sizeof(wait->file_system), "ext4");
	snprintf(wait->frames[0], sizeof(wait->frames[0]), "ext4_sync_file");
	wait->frame_count = 1;
}

void records_stall(struct records *records, int rank, enum suite_cause cause, double from_ms, double until_ms)
{
	uint32_t tid = (uint32_t)(10000 + rank);
	struct analysis_wait *wait;

	/* What creeps begins with stalls in which nobody would see a wait. */
	if (until_ms - from_ms < stall_seen_ms)
		return;
	switch (cause) {
	case CAUSE_FSYNC:
		in_fsync(add_wait(records, rank, tid, "python", from_ms + 0.1, until_ms - 0.1));
		break;
	case CAUSE_WRITER:
		in_fsync(add_wait(records, rank, WRITER_TID, "tb-writer", from_ms + 0.1, until_ms - 0.2));
		wait = add_wait(records, rank, tid, "python", from_ms + 0.1, until_ms - 0.1);
		wait->system_call = SYS_futex;
		wait->state = 'S';
		wait->waker_tid = WRITER_TID;
		snprintf(wait->waker, sizeof(wait->waker), "tb-writer");
		break;
	case CAUSE_RUN_QUEUE:
		wait = add_wait(records, rank, tid, "python", from_ms + 0.1, until_ms - 0.1);
		wait->kind = ANALYSIS_WAIT_RUN_QUEUE;
		wait->run_queue_ns = ns((until_ms - from_ms) * 0.9);
		break;
	default:
		break;
	}
}

void records_end(struct records *records, int rank, enum suite_fault how, double at_ms)
{
	records->ended = rank;
	records->ended_ms = at_ms;
	if (how == FAULT_NEVER)
		for (double ms = at_ms; ms < at_ms + 60000; ms += LOOK_MS) {
			struct analysis_wait *wait =
			    add_wait(records, rank, (uint32_t)(10000 + rank), "python", ms, ms);
			wait->kind = ANALYSIS_WAIT_SAMPLE;
			wait->level = RW_LEVEL_PROC;
			wait->start_ns = 0;
			wait->state = 'S';
			wait->system_call = SYS_futex;
			wait->cpu_ns = 1000000;
		}
}

static void show_operations(struct records *records, int rank, uint64_t now_ns)
{
	struct queue *queue = &records->boxes[rank].queue;
	size_t kept = 0;

	for (size_t i = 0; i < queue->count; i++) {
		struct rw_operation slot = queue->operations[i];
		bool gone = rank == records->ended && ns(records->ended_ms) < now_ns;
		uint32_t known = slot.return_ns <= now_ns ? slot.known : 0;
		if (known && slot.started_seen_ns && slot.started_seen_ns <= now_ns)
			known |= RW_KNOWN_STARTED;
		if (known && slot.done_seen_ns && slot.done_seen_ns <= now_ns)
			known |= RW_KNOWN_DONE;
		bool over = gone || known & RW_KNOWN_DONE;
		if (known && !queue->shown[i] && records->draw->fault >= FAULT_COUNT)
			join_all(records, rank); /* the table says how many calls there were */
		if (known && known != queue->shown[i]) {
			slot.known = known;
			if (!(known & RW_KNOWN_STARTED))
				slot.started_seen_ns = 0;
			if (!(known & RW_KNOWN_DONE))
				slot.done_seen_ns = 0;
			if (analysis_add_operation(analysis_of(records, rank), (analysis_process_id)(PROCESS_BASE + rank),
						   &slot))
				suite_give_up();
		}
		if (over && known)
			continue;
		queue->operations[kept] = queue->operations[i];
		queue->shown[kept++] = known;
	}
	queue->count = kept;
}

static void show_waits(struct records *records, uint64_t now_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < records->wait_count; i++) {
		if (records->waits[i].end_ns > now_ns)
			records->waits[kept++] = records->waits[i];
		else if (analysis_add_wait(analysis_of(records, (int)records->waits[i].process - PROCESS_BASE), &records->waits[i]))
			suite_give_up();
	}
	records->wait_count = kept;
}

static void show_end(struct records *records)
{
	static const struct {
		enum suite_fault how;
		enum analysis_life life;
		int status;
	} lives[] = {
		{ FAULT_STOPPED, ANALYSIS_STOPPED, -1 },
		{ FAULT_KILLED, ANALYSIS_KILLED, 9 },
		{ FAULT_EXITED, ANALYSIS_EXITED, 3 << 8 },
	};

	if (records->ended < 0 || records->reported || records->next_ms < records->ended_ms + 50)
		return;
	records->reported = true;
	for (size_t i = 0; i < sizeof(lives) / sizeof(*lives); i++)
		if (lives[i].how == records->draw->fault)
			analysis_set_life(analysis_of(records, records->ended), (analysis_process_id)(PROCESS_BASE + records->ended),
					  lives[i].life, lives[i].status, ns(records->ended_ms + 50));
}

/* An analysis keeps the GPUs of one machine. Here it may have the ranks of all: those at fault, and some to compare
 * them with. */
static bool has_shown_gpu(const struct suite_draw *draw, int rank)
{
	return rank < GPUS_SHOWN || suite_is_at_fault(draw, rank);
}

static void show_gpus(struct records *records)
{
	const struct suite_draw *draw = records->draw;

	for (int rank = 0; rank < draw->ranks; rank++) {
		if (!has_shown_gpu(draw, rank))
			continue;
		bool hot = suite_is_at_fault(draw, rank) && records->nvml_ms >= records->throttled_ms;
		struct analysis_gpu_state state = { .at_ns = ns(records->nvml_ms), .sm_mhz = hot ? 990 : 1980, .sm_mhz_max = 1980,
						    .clock_reasons = hot ? ANALYSIS_CLOCK_HW_THERMAL | ANALYSIS_CLOCK_HW_SLOWDOWN : 0,
						    .remap_pending = -1, .remap_failure = -1, .memory_used = -1,
						    .memory_total = -1, .nvlink_errors = -1 };
		snprintf(state.pci, sizeof(state.pci), "%08x:%02x:00.0", (unsigned)rank >> 5, 8 + ((unsigned)rank & 31));
		if (analysis_add_gpu_state(analysis_of(records, rank), &state))
			suite_give_up();
	}
	records->nvml_ms += NVML_MS;
}

void records_throttle(struct records *records, double from_ms)
{
	records->throttled_ms = fmin(records->throttled_ms, from_ms);
}

void records_show(struct records *records, double until_ms, double *now_ms)
{
	for (; records->next_ms <= until_ms; records->next_ms += LOOK_MS) {
		*now_ms = records->next_ms;
		for (int rank = 0; rank < records->draw->ranks; rank++)
			show_operations(records, rank, ns(records->next_ms));
		show_waits(records, ns(records->next_ms));
		show_end(records);
		if (records->draw->cause == CAUSE_THROTTLED && records->nvml_ms <= records->next_ms)
			show_gpus(records);
		suite_collectors_tick(records->collectors, ns(records->next_ms));
	}
}
