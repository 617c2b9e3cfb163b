/* SPDX-License-Identifier: MIT */
#include "day_job.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	STEP = 41, /* operations: AllGathers, ReduceScatters, at the end one AllReduce of a number */
	WORLD = 1000,
	LATE_RANK = 5,
	KILLED_RANK = 3,
	SPLIT_RANKS = 4,
	FIRST_PID = 100000,
};

static const uint64_t second_ns = 1000000000, late_ns = 400000000, dead_ns = 20000000000;
/* Of each hour rank 5 is late in so many minutes, from the twentieth on. */
static const uint64_t hour_ns = 3600000000000, late_from_ns = 1200000000000, late_to_ns = 1500000000000;

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
	communicator->nnodes = 1;
	communicator->ended_ns = 0;
	communicator->created_ns = now_ns;
	if (rank->writer.header->comms_used <= entry)
		rank->writer.header->comms_used = entry + 1;
}

static int begin_rank(struct day_job *job, int number, uint64_t now_ns)
{
	const struct box_request request = { .directory = job->plan.directory, .job = "day", .rank = number,
					     .local_ranks = DAY_RANKS, .history_bytes = 1 << 20 };
	struct day_rank *rank = &job->ranks[number];
	struct stat status;

	*rank = (struct day_rank){ .alive = true };
	int err = box_writer_create(&rank->writer, &request);

	if (err || fstat(rank->writer.fd, &status)) {
		fprintf(stderr, "day: %s\n", rank->writer.note);
		return err ? err : -1;
	}
	struct rw_box_header *header = rank->writer.header;

	rank->inode = status.st_ino;
	rank->pid = FIRST_PID + (pid_t)(job->lives * DAY_RANKS) + number;
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
	header->devices[0] = (struct rw_device){ .ordinal = number, .used = 1, .uuid = { 1, (uint8_t)number } };
	header->drain_ns = now_ns;
	announce(rank, 0, WORLD + (job->lives << 32), number, DAY_RANKS, now_ns);
	return 0;
}

static int begin_life(struct day_job *job, uint64_t now_ns)
{
	for (int i = 0; i < DAY_RANKS; i++) {
		int err = begin_rank(job, i, now_ns);

		if (err)
			return err;
	}
	job->number = 0;
	job->next_entry = 1;
	job->split_lives = false;
	job->next_op_ns = now_ns + second_ns;
	job->next_restart_ns += (job->plan.end_ns - job->plan.begin_ns) / (job->plan.restarts + 1);
	job->dead_until_ns = 0;
	job->lives++;
	return 0;
}

static void end_rank(struct day_rank *rank, int exit_status)
{
	rank->alive = false;
	rank->exit_status = exit_status;
	if (!exit_status)
		rank->writer.header->end = RW_BOX_EXITED;
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

/* An operation as its box has it in the end; done_ns 0: it is running, and stays so. */
static void record(struct day_job *job, struct day_rank *rank, uint16_t entry, uint64_t in_step, uint64_t api_ns,
		   uint64_t done_ns)
{
	uint64_t ticket;
	struct rw_operation *slot = box_claim(&rank->writer, RW_OWNER_HOST | RW_OWNER_GPU, &ticket);
	uint8_t function = function_of(in_step);
	uint32_t known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_LAUNCH | RW_KNOWN_TASK | RW_KNOWN_RETURN | RW_KNOWN_STARTED;

	if (!slot)
		return;
	slot->comm = entry;
	slot->function = function;
	slot->dtype = RW_DTYPE_FLOAT32;
	slot->count = function == RW_FUNCTION_ALL_REDUCE ? 1 : 4096 * (in_step + 1);
	slot->sequence = entry ? 0 : rank->sequence[function]++;
	slot->api_tid = function == RW_FUNCTION_REDUCE_SCATTER ? 200 : 100;
	slot->api_ns = api_ns;
	slot->launch_begin_ns = api_ns + 5000;
	slot->launch_end_ns = api_ns + 9000;
	slot->return_ns = api_ns + 12000;
	slot->progress = ++rank->progress;
	slot->gpu_source = RW_GPU_SOURCE_WATERMARK;
	slot->started_seen_ns = api_ns + 20000;
	if (done_ns) {
		slot->done_seen_ns = done_ns;
		slot->scan_in = slot->scan_out = (struct rw_scan){ .first_bad = UINT64_MAX,
			.absmax = 1.0f + (float)random_below(job, 1000) / 1000 };
		known |= RW_KNOWN_DONE | RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT;
	}
	box_known(slot, known);
	box_publish(slot, ticket);
	box_release(slot, ticket, RW_OWNER_HOST);
	if (done_ns)
		box_release(slot, ticket, RW_OWNER_GPU);
	struct rw_communicator *communicator = &rank->writer.communicators[entry];

	communicator->api_count++;
	communicator->launched = rank->progress;
	rank->writer.gpu[entry].gpu_started = rank->progress;
	if (done_ns)
		rank->writer.gpu[entry].gpu_done = rank->progress;
	job->operations++;
}

static bool is_late(const struct day_job *job, int rank, uint64_t at_ns)
{
	uint64_t in_hour = (at_ns - job->plan.begin_ns) % hour_ns;

	return rank == LATE_RANK && in_hour >= late_from_ns && in_hour < late_to_ns;
}

/* The next operation of all ranks. Rank 5 makes the others wait in the first of a step, while it is late. */
static void play_operation(struct day_job *job)
{
	uint64_t in_step = job->number++ % STEP, at_ns = job->next_op_ns, last_ns = 0, api_ns[DAY_RANKS];

	for (int i = 0; i < DAY_RANKS; i++) {
		api_ns[i] = at_ns + random_below(job, 1000000) + (!in_step && is_late(job, i, at_ns) ? late_ns : 0);
		last_ns = api_ns[i] > last_ns ? api_ns[i] : last_ns;
	}
	for (int i = 0; i < DAY_RANKS; i++)
		record(job, &job->ranks[i], 0, in_step, api_ns[i], last_ns + 2000000 + random_below(job, 100000));
	job->next_op_ns = last_ns + job->op_ns;
}

static void split(struct day_job *job, uint64_t now_ns)
{
	uint64_t id = 2 * WORLD + job->communicators;

	for (int i = 0; i < SPLIT_RANKS; i++) {
		announce(&job->ranks[i], job->next_entry, id, i, SPLIT_RANKS, now_ns);
		record(job, &job->ranks[i], (uint16_t)job->next_entry, STEP - 1, now_ns + 1000 * (uint64_t)i, now_ns + 3000000);
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

/* Every second time a rank is killed; the others wait in its next operation until they are killed for it. */
static void strike(struct day_job *job, uint64_t now_ns)
{
	bool killed = job->lives % 2;

	for (int i = 0; i < DAY_RANKS; i++) {
		if (!killed)
			end_rank(&job->ranks[i], 0);
		else if (i != KILLED_RANK)
			record(job, &job->ranks[i], 0, job->number % STEP, now_ns, 0);
	}
	if (killed)
		end_rank(&job->ranks[KILLED_RANK], SIGKILL);
	job->dead_until_ns = now_ns + dead_ns;
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

int day_job_play(struct day_job *job, uint64_t now_ns)
{
	if (job->dead_until_ns) {
		if (now_ns >= job->dead_until_ns)
			return restart(job, now_ns);
		if (now_ns + dead_ns / 4 >= job->dead_until_ns)
			end_survivors(job);
	} else {
		while (job->next_op_ns + 1000000000 <= now_ns)
			play_operation(job);
		if (!job->split_lives && now_ns >= job->next_split_ns)
			split(job, now_ns);
		if (job->split_lives && now_ns >= job->split_ends_ns)
			free_split(job, now_ns);
		if (now_ns >= job->next_restart_ns && job->lives <= job->plan.restarts)
			strike(job, now_ns);
	}
	for (int i = 0; i < DAY_RANKS; i++)
		if (job->ranks[i].alive)
			job->ranks[i].writer.header->drain_ns = now_ns;
	return 0;
}

int day_job_open(struct day_job *job, const struct day_plan *plan)
{
	uint64_t all_ns = plan->end_ns - plan->begin_ns;

	*job = (struct day_job){ .plan = *plan, .random = 7, .next_restart_ns = plan->begin_ns };
	job->op_ns = all_ns / (plan->operations / DAY_RANKS + 1);
	job->next_split_ns = plan->begin_ns + all_ns / (plan->communicators + 1);
	return begin_life(job, plan->begin_ns);
}

void day_job_close(struct day_job *job)
{
	for (int i = 0; i < DAY_RANKS; i++)
		let_go(&job->ranks[i]);
}
