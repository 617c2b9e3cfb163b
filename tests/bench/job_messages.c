/* SPDX-License-Identifier: MIT */
#include "job_messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rankwatch/operation.h>

double job_cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

void job_messages_init(struct job_messages *job, int ranks)
{
	*job = (struct job_messages){
		.ranks = ranks,
		.hosts = ranks / JOB_PER_HOST,
		.own_us = calloc((size_t)ranks, sizeof(*job->own_us)),
		.inside_us = calloc((size_t)ranks, sizeof(*job->inside_us)),
	};
	if (!job->own_us || !job->inside_us)
		abort();
}

void job_messages_free(struct job_messages *job)
{
	free(job->own_us);
	free(job->inside_us);
}

void job_begin_batch(struct job_messages *job)
{
	job->batch.header =
	    (struct rw_batch){ .magic = RW_BATCH_MAGIC, .version = RW_BATCH_VERSION, .start = 1, .job = "bench" };
}

static struct rw_message *add(struct job_messages *job, enum rw_message_type type, int rank)
{
	struct rw_message *message = &job->batch.messages[job->batch.header.count++];

	*message = (struct rw_message){ .type = (uint8_t)type, .rank = rank };
	return message;
}

static uint64_t comm_of_place(int rank)
{
	return JOB_OF_PLACE + (uint64_t)(rank % JOB_PER_HOST);
}

static void add_member(struct job_messages *job, int rank, uint64_t comm, int size, int number)
{
	add(job, RW_MESSAGE_MEMBER, rank)->member =
	    (struct rw_message_member){ .comm = comm, .size = size, .comm_rank = number, .hosts = job->hosts };
}

void job_introduce(struct job_messages *job, int rank)
{
	add(job, RW_MESSAGE_RANK, rank)->of_rank =
	    (struct rw_message_rank){ .pid = rank, .world_size = job->ranks, .exit_status = -1 };
	add_member(job, rank, JOB_OF_ALL, job->ranks, rank);
	add_member(job, rank, comm_of_place(rank), job->hosts, rank / JOB_PER_HOST);
}

static void add_row(struct job_messages *job, int rank, uint64_t comm, uint64_t number)
{
	struct rw_message *message = add(job, RW_MESSAGE_ROW, rank);

	message->function = RW_FUNCTION_ALL_REDUCE;
	message->row = (struct rw_message_row){
		.comm = comm,
		.row = (uint32_t)number,
		.calls = 16,
		.own_us = (uint32_t)job->own_us[rank],
		.inside_us = (uint32_t)job->inside_us[rank],
		.operations = (uint16_t)(number * 400),
		.steps = 1,
	};
}

void job_row(struct job_messages *job, int rank, uint64_t number)
{
	add_row(job, rank, JOB_OF_ALL, number);
	add_row(job, rank, comm_of_place(rank), number);
}

static void add_order(struct job_messages *job, int rank, uint64_t comm, uint64_t number)
{
	add(job, RW_MESSAGE_CALLS, rank)->calls =
	    (struct rw_message_calls){ .comm = comm, .calls = number * 64, .hash = comm + number };
}

void job_order(struct job_messages *job, int rank, uint64_t number)
{
	add_order(job, rank, JOB_OF_ALL, number);
	add_order(job, rank, comm_of_place(rank), number);
}

size_t job_seal(struct job_messages *job, int host, uint64_t number)
{
	struct rw_batch *header = &job->batch.header;
	size_t length = sizeof(*header) + header->count * sizeof(struct rw_message);

	header->number = number;
	snprintf(header->host, sizeof(header->host), "node-%05d", host);
	job->count += header->count;
	job->bytes += length;
	return length;
}

double job_send(struct job_messages *job, struct job_half *half, int host, uint64_t number, uint64_t now_ns)
{
	size_t length = job_seal(job, host, number);
	double began_s = job_cpu_s();
	if (job_half_take(half, &job->batch, length, now_ns, NULL))
		abort();
	return job_cpu_s() - began_s;
}
