/* SPDX-License-Identifier: MIT */
#include "day_job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "day_gpus.h"
#include "day_host.h"
#include "day_kernel.h"

enum {
	STEP = 41, /* operations: AllGathers, ReduceScatters, at the end one AllReduce of a number */
	WORLD = 1000,
	SPLIT_RANKS = 4,
	FIRST_PID = 100000,
	THREADS = 2, /* of a process: numbered from its own number on */
	NVLINK_ERROR = 74, /* Xid: it is told for ten minutes */
	LOST_EVENTS = 3,
};

static const uint64_t second_ns = 1000000000, late_ns = 400000000, slower_ns = 60000000;
/* Where rank 6 is missing: when it comes, when all go on; when the launcher ends the others, when it starts all
 * again. */
static const uint64_t comes_ns = 20000000000, gathered_ns = 21000000000, given_up_ns = 20000000000,
		      dead_ns = 25000000000;
static const uint64_t hour_ns = 3600000000000, minute_ns = 60000000000;

enum manner { EXITS, IS_KILLED, COMES_LATE, NEVER_COMES };
static const enum manner manners[] = { IS_KILLED, COMES_LATE, IS_KILLED, NEVER_COMES };

/* Of the present life. */
static enum manner manner_of(const struct day_job *job)
{
	return manners[(job->lives - 1) % (sizeof(manners) / sizeof(*manners))];
}

static bool is_in_minutes(const struct day_job *job, uint64_t at_ns, uint64_t from)
{
	uint64_t minute = (at_ns - job->plan.begin_ns) % hour_ns / minute_ns;

	return minute >= from && minute < from + DAY_TROUBLE_MINUTES;
}

static uint64_t random_below(struct day_job *job, uint64_t limit)
{
	job->random = job->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (job->random >> 33) % limit;
}

static void announce(struct day_rank *rank, uint32_t entry, uint64_t id, int own, int count, uint64_t now_ns)
{
	struct rw_communicator *communicator = &rank->writer.communicators[entry];

	communicator->id = id;
	communicator->rank = own;
	communicator->nranks = count;
	/* transfers within a host are not judged, and no network detail of them is asked for */
	communicator->nnodes = 2;
	communicator->ended_ns = 0;
	communicator->created_ns = now_ns;
	if (rank->writer.header->comms_used <= entry)
		rank->writer.header->comms_used = entry + 1;
}

static pid_t pid_of(const struct day_job *job, int number)
{
	return FIRST_PID + ((pid_t)job->lives * DAY_RANKS + number) * THREADS;
}

static void begin_process(const struct day_job *job, int number)
{
	const struct day_process process = { pid_of(job, number), number, DAY_RANKS, job->lives, job->lives + 1 };

	day_host_begin(&process);
	day_kernel_begin(process.pid);
}

static void end_process(pid_t pid, int exit_status)
{
	day_kernel_end(pid, exit_status);
	day_host_end(pid);
}

/* Its box, once it has loaded NCCL. */
static int begin_rank(struct day_job *job, int number, uint64_t now_ns)
{
	const struct box_request request = { .directory = job->plan.directory, .job = "day", .rank = number,
					     .local_ranks = DAY_RANKS, .history_bytes = 1 << 20 };
	struct day_rank *rank = &job->ranks[number];
	struct stat status;

	*rank = (struct day_rank){ .alive = true, .pid = pid_of(job, number) };
	int err = box_writer_create(&rank->writer, &request);

	if (err || fstat(rank->writer.fd, &status)) {
		fprintf(stderr, "day: %s\n", rank->writer.note);
		return err ? err : -1;
	}
	struct rw_box_header *header = rank->writer.header;

	rank->inode = status.st_ino;
	header->pid = (uint32_t)rank->pid;
	header->start_time_ticks = job->lives + 1;
	header->created_ns = now_ns;
	snprintf(header->job, sizeof(header->job), "day");
	snprintf(header->host, sizeof(header->host), "a");
	snprintf(header->rank_from, sizeof(header->rank_from), "RANK");
	header->world_rank = header->local_rank = number;
	header->world_size = DAY_RANKS;
	header->generation = (int32_t)job->lives;
	header->watchdog_ms = 600000;
	header->devices[0] = day_gpu_device(number);
	header->init.id = WORLD + (job->lives << 32);
	header->init.nranks = DAY_RANKS;
	header->init.rank = number;
	header->init.since_ns = now_ns;
	return 0;
}

/* All have come: they leave the init of the communicator of the world. */
static void begin_running(struct day_job *job, uint64_t now_ns)
{
	for (int i = 0; i < DAY_RANKS; i++) {
		job->ranks[i].writer.header->init.since_ns = 0;
		job->ranks[i].writer.header->drain_ns = now_ns;
		announce(&job->ranks[i], 0, WORLD + (job->lives << 32), i, DAY_RANKS, now_ns);
	}
	job->number = 0;
	job->next_entry = 1;
	job->split_lives = false;
	job->operation.planned = false;
	job->next_op_ns = now_ns + second_ns;
	job->next_restart_ns += (job->plan.end_ns - job->plan.begin_ns) / (job->plan.restarts + 1);
	job->phase = DAY_RUNS;
}

static int begin_life(struct day_job *job, uint64_t now_ns)
{
	job->lives++;
	enum manner manner = manner_of(job);
	bool one_is_missing = manner == COMES_LATE || manner == NEVER_COMES;

	if (manner == COMES_LATE)
		day_kernel_refuse(now_ns + minute_ns);
	for (int i = 0; i < DAY_RANKS; i++) {
		int err = 0;

		begin_process(job, i);
		if (i != DAY_ABSENT_RANK || !one_is_missing)
			err = begin_rank(job, i, now_ns);
		if (err)
			return err;
	}
	job->phase = DAY_GATHERS;
	job->life_ns = now_ns;
	job->phase_ends_ns = now_ns + (one_is_missing ? gathered_ns : second_ns);
	return 0;
}

static void end_rank(struct day_rank *rank, int exit_status)
{
	rank->alive = false;
	rank->exit_status = exit_status;
	if (!exit_status)
		rank->writer.header->end = RW_BOX_EXITED;
	end_process(rank->pid, exit_status);
}

static void let_go(struct day_rank *rank)
{
	if (!rank->writer.map)
		return;
	if (*rank->writer.path)
		unlink(rank->writer.path);
	box_writer_close(&rank->writer);
	rank->writer.map = NULL;
}

/* Forward AllGathers, backward ReduceScatters, the norm. */
static uint8_t function_of(uint64_t in_step)
{
	if (in_step == STEP - 1)
		return RW_FUNCTION_ALL_REDUCE;
	return in_step < STEP / 2 ? RW_FUNCTION_ALL_GATHER : RW_FUNCTION_REDUCE_SCATTER;
}

/* One that is running from now on. */
static struct rw_operation *begin_operation(struct day_job *job, struct day_rank *rank, uint16_t entry,
					    uint64_t in_step, uint64_t api_ns, uint64_t *ticket)
{
	struct rw_operation *slot = box_claim(&rank->writer, RW_OWNER_HOST | RW_OWNER_GPU, ticket);
	struct rw_communicator *communicator = &rank->writer.communicators[entry];
	uint8_t function = function_of(in_step);

	if (!slot)
		return NULL;
	slot->comm = entry;
	slot->function = function;
	slot->dtype = RW_DTYPE_FLOAT32;
	slot->count = function == RW_FUNCTION_ALL_REDUCE ? 1 : 4096 * (in_step + 1);
	slot->sequence = entry ? 0 : rank->sequence[function]++;
	slot->api_tid = (uint32_t)rank->pid + (function == RW_FUNCTION_REDUCE_SCATTER);
	slot->api_ns = api_ns;
	slot->launch_begin_ns = api_ns + 5000;
	slot->launch_end_ns = api_ns + 9000;
	slot->return_ns = api_ns + 12000;
	slot->progress = ++rank->progress;
	slot->gpu_source = RW_GPU_SOURCE_WATERMARK;
	slot->started_seen_ns = api_ns + 20000;
	box_known(slot, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN | RW_KNOWN_STARTED);
	box_publish(slot, *ticket);
	box_release(slot, *ticket, RW_OWNER_HOST);
	communicator->api_count++;
	communicator->launched = rank->progress;
	rank->writer.gpu[entry].gpu_started = rank->progress;
	job->operations++;
	return slot;
}

static void finish_operation(struct day_job *job, struct day_rank *rank, struct rw_operation *slot, uint64_t ticket,
			     uint64_t done_ns)
{
	slot->done_seen_ns = done_ns;
	slot->scan_in = slot->scan_out = (struct rw_scan){ .first_bad = UINT64_MAX,
		.absmax = 1.0f + (float)random_below(job, 1000) / 1000 };
	rank->writer.gpu[slot->comm].gpu_done = slot->progress;
	box_known(slot, RW_KNOWN_DONE | RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT);
	box_release(slot, ticket, RW_OWNER_GPU);
}

/* Rank 5 makes the others wait in the first operation of a step, while it is late. */
static void plan_operation(struct day_job *job)
{
	struct day_operation *next = &job->operation;
	uint64_t last_ns = 0, slower = is_in_minutes(job, job->next_op_ns, DAY_SLOW_MINUTE) ? slower_ns : 0;

	*next = (struct day_operation){ .planned = true, .in_step = job->number++ % STEP, .begin_ns = job->next_op_ns };
	bool late = !next->in_step && is_in_minutes(job, next->begin_ns, DAY_LATE_MINUTE);

	for (int i = 0; i < DAY_RANKS; i++) {
		next->api_ns[i] = next->begin_ns + random_below(job, 1000000) + (late && i == DAY_LATE_RANK ? late_ns : 0);
		last_ns = next->api_ns[i] > last_ns ? next->api_ns[i] : last_ns;
	}
	next->done_ns = last_ns + slower + 2000000 + random_below(job, 100000);
	job->next_op_ns = last_ns + slower + job->op_ns;
}

/* Between two steps each rank's main thread waits for another for a moment. Rank 5's writes a file as long as it is
 * late. */
static void show_waits(struct day_job *job, int number, uint64_t now_ns)
{
	const struct day_operation *operation = &job->operation;
	struct day_rank *rank = &job->ranks[number];
	bool begins = operation->api_ns[number] <= now_ns, late = operation->api_ns[number] >= operation->begin_ns + late_ns;

	if (begins && !operation->in_step)
		day_kernel_add_short(rank->pid, operation->begin_ns - second_ns / 5, operation->begin_ns, second_ns / 64);
	if (rank->writing != (late && !begins)) {
		rank->writing = !rank->writing;
		day_host_set_writing(rank->pid, rank->writing);
		day_kernel_set_writing(rank->pid, rank->writing ? operation->begin_ns : 0, operation->api_ns[number]);
	}
}

static void begin_where_due(struct day_job *job, uint64_t now_ns)
{
	struct day_operation *operation = &job->operation;

	for (int i = 0; i < DAY_RANKS; i++) {
		struct day_rank *rank = &job->ranks[i];

		if (rank->slot || operation->begin_ns > now_ns)
			continue;
		show_waits(job, i, now_ns);
		if (operation->api_ns[i] > now_ns)
			continue;
		rank->slot = begin_operation(job, rank, 0, operation->in_step, operation->api_ns[i], &rank->ticket);
		operation->begun += rank->slot != NULL;
	}
}

static void play_operations(struct day_job *job, uint64_t now_ns)
{
	struct day_operation *operation = &job->operation;

	for (;;) {
		if (!operation->planned)
			plan_operation(job);
		begin_where_due(job, now_ns);
		if (operation->begun < DAY_RANKS || operation->done_ns > now_ns)
			return;
		for (int i = 0; i < DAY_RANKS; i++) {
			finish_operation(job, &job->ranks[i], job->ranks[i].slot, job->ranks[i].ticket, operation->done_ns);
			job->ranks[i].slot = NULL;
		}
		operation->planned = false;
	}
}

static void split(struct day_job *job, uint64_t now_ns)
{
	uint64_t id = 2 * WORLD + job->communicators;

	for (int i = 0; i < SPLIT_RANKS; i++) {
		uint64_t ticket;

		announce(&job->ranks[i], job->next_entry, id, i, SPLIT_RANKS, now_ns);
		struct rw_operation *slot = begin_operation(job, &job->ranks[i], (uint16_t)job->next_entry, STEP - 1,
							    now_ns + 1000 * (uint64_t)i, &ticket);

		if (slot)
			finish_operation(job, &job->ranks[i], slot, ticket, now_ns + 3000000);
	}
	job->communicators++;
	job->split_lives = true;
	job->split_ends_ns = now_ns + 10 * second_ns;
	job->next_split_ns += (job->plan.end_ns - job->plan.begin_ns) / (job->plan.communicators + 1);
}

static void free_split(struct day_job *job, uint64_t now_ns)
{
	for (int i = 0; i < SPLIT_RANKS; i++)
		job->ranks[i].writer.communicators[job->next_entry].ended_ns = now_ns;
	job->next_entry++;
	job->split_lives = false;
}

/* A killed rank's peers wait in its next operation until they are killed for it; half of those that are killed were for
 * want of memory. */
static void strike(struct day_job *job, uint64_t now_ns)
{
	bool killed = manner_of(job) == IS_KILLED;

	for (int i = 0; i < DAY_RANKS; i++) {
		if (!killed)
			end_rank(&job->ranks[i], 0);
		else if (i != DAY_KILLED_RANK)
			begin_operation(job, &job->ranks[i], 0, job->number % STEP, now_ns, &job->ranks[i].ticket);
	}
	if (killed && job->lives % 4 == 1)
		day_host_log_kill(job->ranks[DAY_KILLED_RANK].pid, now_ns);
	if (killed)
		end_rank(&job->ranks[DAY_KILLED_RANK], SIGKILL);
	job->killed += killed;
	job->restarts++;
	job->phase = DAY_ENDS;
	job->phase_ends_ns = now_ns + dead_ns;
}

static int restart(struct day_job *job, uint64_t now_ns)
{
	for (int i = 0; i < DAY_RANKS; i++)
		let_go(&job->ranks[i]);
	return begin_life(job, now_ns);
}

static void end_survivors(struct day_job *job)
{
	for (int i = 0; i < DAY_RANKS; i++)
		if (job->ranks[i].alive)
			end_rank(&job->ranks[i], SIGTERM);
}

/* The absent rank's process is there from the start; where it never comes, it ends after two seconds. */
static int play_gathering(struct day_job *job, uint64_t now_ns)
{
	int err = 0;

	if (manner_of(job) == NEVER_COMES && now_ns >= job->life_ns + 2 * second_ns) {
		end_process(pid_of(job, DAY_ABSENT_RANK), 1);
		job->never_came++;
		job->phase = DAY_ENDS;
		job->phase_ends_ns = job->life_ns + dead_ns;
	} else if (manner_of(job) == COMES_LATE && now_ns >= job->life_ns + comes_ns && !job->ranks[DAY_ABSENT_RANK].alive) {
		err = begin_rank(job, DAY_ABSENT_RANK, now_ns);
		job->came_late++;
	}
	if (!err && job->phase == DAY_GATHERS && now_ns >= job->phase_ends_ns)
		begin_running(job, now_ns);
	return err;
}

static int play_end(struct day_job *job, uint64_t now_ns)
{
	if (now_ns >= job->phase_ends_ns)
		return restart(job, now_ns);
	if (now_ns + dead_ns >= job->phase_ends_ns + given_up_ns)
		end_survivors(job);
	return 0;
}

/* What its plugin does while a lease lasts: notes what its channel to the next rank waits for. */
static void heed_lease(struct day_job *job, int number, uint64_t now_ns)
{
	struct box_writer *writer = &job->ranks[number].writer;
	struct rw_wait *wait = &writer->waits[0];

	if (writer->leases[0].expires_ns > writer->header->leased_until_ns) {
		writer->header->leased_until_ns = writer->leases[0].expires_ns;
		job->leases++;
	}
	if (writer->leases[0].expires_ns <= now_ns)
		return;
	if (!wait->key)
		wait->first_ns = now_ns;
	wait->key = RW_WAIT_USED | RW_WAIT_SENDS | (uint64_t)((number + 1) % DAY_RANKS);
	wait->last_ns = now_ns;
	wait->gpu_ns += 20000000;
	wait->peer_ns += 5000000;
	wait->network_ns += 20000000;
	wait->steps += 1;
}

static void play_running(struct day_job *job, uint64_t now_ns)
{
	play_operations(job, now_ns);
	if (!job->split_lives && now_ns >= job->next_split_ns)
		split(job, now_ns);
	if (job->split_lives && now_ns >= job->split_ends_ns)
		free_split(job, now_ns);
	for (int i = 0; i < DAY_RANKS; i++) {
		heed_lease(job, i, now_ns);
		job->ranks[i].writer.header->drain_ns = now_ns;
	}
	if (now_ns >= job->next_restart_ns && job->restarts < job->plan.restarts && !job->operation.begun)
		strike(job, now_ns);
}

/* What the machine shows by itself. */
static void play_minute(struct day_job *job, uint64_t now_ns)
{
	uint64_t minute = (now_ns - job->plan.begin_ns) % hour_ns / minute_ns;

	day_host_count_ports(minute == DAY_SLOW_MINUTE);
	day_host_use_memory((UINT64_C(20) << 30) + ((minute % 10) << 20));
	if (minute == DAY_LOSS_MINUTE)
		day_kernel_lose(LOST_EVENTS);
	if (minute == DAY_XID_MINUTE) {
		day_gpus_report_xid(DAY_XID_RANK, NVLINK_ERROR);
		day_host_log_xid(DAY_GPU_BUS + DAY_XID_RANK, NVLINK_ERROR, now_ns);
	}
	/* Two minutes before and two after the change are enough to judge it by. */
	job->slow_times += minute == DAY_SLOW_MINUTE + 2 && job->phase == DAY_RUNS &&
			   now_ns >= job->life_ns + 4 * minute_ns + gathered_ns;
	job->next_minute_ns += minute_ns;
}

int day_job_play(struct day_job *job, uint64_t now_ns)
{
	day_kernel_set_time(now_ns);
	day_gpus_set_time(now_ns);
	if (now_ns >= job->next_minute_ns)
		play_minute(job, now_ns);
	if (job->phase == DAY_GATHERS)
		return play_gathering(job, now_ns);
	if (job->phase == DAY_ENDS)
		return play_end(job, now_ns);
	play_running(job, now_ns);
	return 0;
}

int day_job_open(struct day_job *job, const struct day_plan *plan)
{
	uint64_t all_ns = plan->end_ns - plan->begin_ns;

	*job = (struct day_job){
		.plan = *plan, .random = 7, .next_restart_ns = plan->begin_ns, .next_minute_ns = plan->begin_ns
	};
	job->op_ns = all_ns / (plan->operations / DAY_RANKS + 1);
	job->next_split_ns = plan->begin_ns + all_ns / (plan->communicators + 1);
	day_host_open(plan->directory);
	day_kernel_set_time(plan->begin_ns);
	day_gpus_set_time(plan->begin_ns);
	return begin_life(job, plan->begin_ns);
}

void day_job_close(struct day_job *job)
{
	for (int i = 0; i < DAY_RANKS; i++)
		let_go(&job->ranks[i]);
	day_host_close();
}
