/* SPDX-License-Identifier: MIT */
/*
 * Makes the saved boxes of a large job in which one rank grows late, so that its page can be measured and looked at:
 * large_job DIRECTORY RANKS SECONDS. Steps of 0.5 s: 12 AllGathers, 12 ReduceScatters of the backward thread, the
 * norm's AllReduce. From the middle on one rank comes 90 ms late to the third AllGather of every step; a checkpoint now
 * and then holds up all; one host was given another environment.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blackbox/saved.h"
#include "blackbox/writer.h"

enum { LAYERS = 12, STEP_CALLS = 2 * LAYERS + 1, LATE_CALL = 2, PER_HOST = 8, CHECKPOINT = 240 };
static const uint64_t MS = 1000000, CALL_NS = UINT64_C(20000000), STEP_NS = UINT64_C(500000000);
static const uint64_t LATE_NS = UINT64_C(90000000), CHECKPOINT_NS = UINT64_C(2500000000),
		      BEGIN_NS = UINT64_C(5000000000);

struct job {
	int ranks, late_rank;
	uint64_t steps, late_from;
};

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 31) * UINT64_C(0x9e3779b97f4a7c15);
	return (value ^ value >> 29) * UINT64_C(0xbf58476d1ce4e5b9) >> 32;
}

/* When all could begin the step: those before it were as long as their lateness made them. */
static uint64_t step_begin(const struct job *job, uint64_t step)
{
	uint64_t late = step > job->late_from ? step - job->late_from : 0;

	return BEGIN_NS + step * STEP_NS + late * LATE_NS + step / CHECKPOINT * CHECKPOINT_NS;
}

static void fill(struct rw_operation *slot, uint64_t step, unsigned call)
{
	bool gather = call < LAYERS, norm = call == STEP_CALLS - 1;

	slot->function = gather ? RW_FUNCTION_ALL_GATHER : norm ? RW_FUNCTION_ALL_REDUCE : RW_FUNCTION_REDUCE_SCATTER;
	slot->dtype = norm ? RW_DTYPE_FLOAT32 : RW_DTYPE_BFLOAT16;
	slot->count = norm ? 1 : UINT64_C(1) << 22;
	slot->sequence = norm ? step : step * LAYERS + call % LAYERS;
	slot->api_tid = gather || norm ? 4711 : 4712;
}

static void record(struct box_writer *writer, const struct job *job, int rank, uint64_t step, unsigned call)
{
	uint64_t ticket, number = step * STEP_CALLS + call, jitter_ns = mix(number * 65537 + (uint64_t)rank) % MS;
	bool late = step >= job->late_from, behind = late && call >= LATE_CALL;
	uint64_t ready_ns = step_begin(job, step) + call * CALL_NS + (behind && call > LATE_CALL ? LATE_NS : 0);
	bool is_late = behind && call == LATE_CALL && rank == job->late_rank;
	uint64_t at_ns = ready_ns + jitter_ns + (is_late ? LATE_NS : 0);
	uint64_t done_ns = ready_ns + MS + 3 * MS / 2 + (behind && call == LATE_CALL ? LATE_NS : 0);
	struct rw_operation *slot = box_claim(writer, RW_OWNER_HOST | RW_OWNER_GPU, &ticket);

	if (!slot)
		return;
	fill(slot, step, call);
	slot->api_ns = at_ns - 30000;
	slot->launch_begin_ns = at_ns - 20000;
	slot->launch_end_ns = at_ns - 10000;
	slot->return_ns = at_ns - 5000;
	slot->progress = number + 1;
	slot->gpu_source = RW_GPU_SOURCE_WATERMARK;
	slot->started_seen_ns = at_ns;
	slot->done_seen_ns = done_ns;
	slot->scan_in.absmax = 0.5f + (float)(mix(number) % 1000) / 2000;
	slot->scan_in.first_bad = UINT64_MAX;
	box_known(slot, RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_TASK | RW_KNOWN_LAUNCH | RW_KNOWN_RETURN |
			    RW_KNOWN_STARTED | RW_KNOWN_DONE | (call % 4 ? 0 : RW_KNOWN_SCAN_IN));
	box_publish(slot, ticket);
	box_release(slot, ticket, RW_OWNER_HOST);
	box_release(slot, ticket, RW_OWNER_GPU);
	writer->header->drain_ns = done_ns;
}

static void describe(struct box_writer *writer, const struct job *job, int rank)
{
	struct rw_box_header *header = writer->header;

	snprintf(header->host, sizeof(header->host), "node-%02d", rank / PER_HOST);
	snprintf(header->job, sizeof(header->job), "pretrain-70b");
	header->pid = 100000 + (uint32_t)rank;
	header->start_time_ticks = 1;
	header->world_rank = rank;
	header->world_size = job->ranks;
	header->local_rank = rank % PER_HOST;
	header->nccl_version = 22809;
	header->profiler_abi = 5;
	header->watchdog_ms = 600000;
	header->created_ns = BEGIN_NS - 4000 * MS;
	header->created_realtime_ns = UINT64_C(1793000000000000000);
	header->anchors[0] = (struct rw_anchor){ header->created_ns, header->created_realtime_ns, 0 };
	header->anchors_written = 1;
	snprintf(header->gpu_progress_state, sizeof(header->gpu_progress_state), "watermark");
	snprintf(header->environment, sizeof(header->environment), "NCCL_SOCKET_IFNAME=%s",
		 rank / PER_HOST == 5 ? "eth0" : "ib0");
	header->devices[0] = (struct rw_device){ .ordinal = rank % PER_HOST, .used = 1 };
	writer->communicators[0].id = 0x70b;
	snprintf(writer->communicators[0].name, sizeof(writer->communicators[0].name), "fsdp");
	writer->communicators[0].rank = rank;
	writer->communicators[0].nranks = job->ranks;
	writer->communicators[0].nnodes = (job->ranks + PER_HOST - 1) / PER_HOST;
	writer->communicators[0].created_ns = BEGIN_NS - 2000 * MS;
	header->comms_used = 1;
}

static int save(struct box_writer *writer, int directory)
{
	char name[BOX_SAVED_NAME], why[160] = "";
	struct box_reader reader;
	int err = box_reader_open(&reader, AT_FDCWD, writer->path, geteuid(), why);

	if (!err) {
		box_saved_name(&reader.header, name);
		err = box_save(&reader, directory, name, why);
		box_reader_close(&reader);
	}
	if (err)
		fprintf(stderr, "large_job: %s\n", why);
	return err;
}

/* Boxes have room for all, and hardly more: to make larger ones takes the kernel longer than all else here. */
static int make(int directory, const struct job *job, int rank)
{
	struct box_request request = { .job = "large-job", .rank = rank, .local_ranks = 1,
				       .history_bytes = 2 * job->steps * STEP_CALLS * sizeof(struct rw_operation) };
	struct box_writer writer;

	if (box_writer_create(&writer, &request)) {
		fprintf(stderr, "large_job: %s\n", writer.note);
		return 1;
	}
	describe(&writer, job, rank);
	for (uint64_t step = 0; step < job->steps; step++)
		for (unsigned call = 0; call < STEP_CALLS; call++)
			record(&writer, job, rank, step, call);
	writer.communicators[0].api_count = job->steps * STEP_CALLS;
	writer.communicators[0].launched = job->steps * STEP_CALLS;
	writer.gpu[0].gpu_started = writer.gpu[0].gpu_done = job->steps * STEP_CALLS;

	int err = save(&writer, directory);

	unlink(writer.path);
	box_writer_close(&writer);
	return err != 0;
}

int main(int argc, char **argv)
{
	int directory = argc == 4 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (directory < 0) {
		fprintf(stderr, "usage: large_job DIRECTORY RANKS SECONDS\n");
		return 2;
	}
	struct job job = { .ranks = atoi(argv[2]), .steps = strtoull(argv[3], NULL, 10) * 1000 * MS / STEP_NS };

	job.late_rank = job.ranks * 5 / 9;
	job.late_from = job.steps / 2;
	for (int rank = 0; rank < job.ranks; rank++)
		if (make(directory, &job, rank))
			return 1;
	return 0;
}
