/* SPDX-License-Identifier: MIT */
#include "tests/preload/job.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "blackbox/reader.h"

enum { IDS = 8, SHARED = 8192, RANKS = 16 };

struct shared {
	uint64_t words[512];
	atomic_int arrived;
	ncclUniqueId ids[IDS];
};
static_assert(sizeof(struct shared) <= SHARED, "shared memory");

static struct shared *shared;
static int expected_signals[RANKS]; /* 0: exit 0 */
static char directory[] = "/dev/shm/preload-test-XXXXXX";

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static float *allocate(int nranks)
{
	CUdeviceptr pointer;

	CU(cuMemAlloc(&pointer, (size_t)nranks * JOB_COUNT * sizeof(float)));
	return (float *)(uintptr_t)pointer;
}

static void open_device(struct job *job)
{
	CUcontext context;

	CU(cuInit(0));
	CU(cuDevicePrimaryCtxRetain(&context, job->rank));
	CU(cuCtxSetCurrent(context));
	CU(cuStreamCreate(&job->stream, CU_STREAM_NON_BLOCKING));
	CU(cuStreamCreate(&job->other_stream, CU_STREAM_NON_BLOCKING));
	job->send = allocate(job->nranks);
	job->recv = allocate(job->nranks);
}

static void run_rank(int rank, int nranks, bool communicator, job_main *main)
{
	static struct job job;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(100);
	job = (struct job){ .rank = rank, .nranks = nranks, .shared = shared->words };
	open_device(&job);
	if (communicator)
		NCCL(ncclCommInitRank(&job.comm, nranks, job_id(&job, 0), rank));
	main(&job);
	if (job.comm)
		NCCL(ncclCommDestroy(job.comm));
	exit(0);
}

static void remove_directory(void)
{
	DIR *list = opendir(directory);
	struct dirent *file;

	while (list && (file = readdir(list)))
		unlinkat(dirfd(list), file->d_name, 0);
	if (list)
		closedir(list);
	rmdir(directory);
}

void job_expect_signal(int rank, int signal)
{
	expected_signals[rank] = signal;
}

static bool has_failed(int rank, int status)
{
	if (expected_signals[rank])
		return !WIFSIGNALED(status) || WTERMSIG(status) != expected_signals[rank] || WCOREDUMP(status);
	return !WIFEXITED(status) || WEXITSTATUS(status);
}

static int await_rank(const pid_t *pids)
{
	int status, rank = 0;
	pid_t pid = wait(&status);

	CHECK(pid > 0);
	while (pids[rank] != pid)
		rank++;
	if (!has_failed(rank, status))
		return 0;
	fprintf(stderr, "rank %d ended with %#x\n", rank, status);
	return 1;
}

int job_run(int nranks, bool communicator, job_main *main)
{
	pid_t pids[RANKS];
	int failed = 0;

	shared = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED && mkdtemp(directory));
	setenv("RANKWATCH_DIR", directory, 1);
	setenv("RANKWATCH_QUIET", "1", 1);
	for (int rank = 0; rank < nranks; rank++) {
		pids[rank] = fork();
		if (pids[rank] == 0)
			run_rank(rank, nranks, communicator, main);
	}
	for (int i = 0; i < nranks; i++)
		failed |= await_rank(pids);
	remove_directory();
	return failed;
}

ncclUniqueId job_id(struct job *job, int number)
{
	if (job->rank == 0)
		NCCL(ncclGetUniqueId(&shared->ids[number]));
	job_meet(job);
	return shared->ids[number];
}

void job_meet(struct job *job)
{
	int mine = atomic_fetch_add(&shared->arrived, 1);
	int all = (mine / job->nranks + 1) * job->nranks;

	while (atomic_load(&shared->arrived) < all)
		pause_ms(1);
}

void job_use_buffers(struct job *job, int device)
{
	static float *buffers[RANKS][2];

	CUcontext context;

	CU(cuDevicePrimaryCtxRetain(&context, device));
	CU(cuCtxPushCurrent(context));
	for (int i = 0; i < 2; i++)
		if (!buffers[device][i])
			buffers[device][i] = allocate(RANKS);
	CU(cuCtxPopCurrent(&context));
	job->send = buffers[device][0];
	job->recv = buffers[device][1];
}

void job_note(struct job *job, const struct entry *entry)
{
	CHECK(job->calls < JOB_LEDGER);
	job->ledger[job->calls++] = *entry;
}

static ncclResult_t make(const struct job *job, uint8_t function, ncclComm_t comm, CUstream stream, int root)
{
	const float *send = job->send;
	float *recv = job->recv;

	switch (function) {
	case RW_FUNCTION_ALL_REDUCE:
		return ncclAllReduce(send, recv, JOB_COUNT, ncclFloat, ncclSum, comm, stream);
	case RW_FUNCTION_REDUCE:
		return ncclReduce(send, recv, JOB_COUNT, ncclFloat, ncclMin, root, comm, stream);
	case RW_FUNCTION_REDUCE_SCATTER:
		return ncclReduceScatter(send, recv, JOB_COUNT, ncclFloat, ncclSum, comm, stream);
	case RW_FUNCTION_ALL_GATHER:
		return ncclAllGather(send, recv, JOB_COUNT, ncclFloat, comm, stream);
	case RW_FUNCTION_BROADCAST:
		return ncclBroadcast(send, recv, JOB_COUNT, ncclFloat, root, comm, stream);
	case RW_FUNCTION_SEND:
		return ncclSend(send, JOB_COUNT, ncclFloat, root, comm, stream);
	case RW_FUNCTION_RECV:
		return ncclRecv(recv, JOB_COUNT, ncclFloat, root, comm, stream);
	default:
		return ncclInvalidArgument;
	}
}

void job_call(struct job *job, uint8_t function, ncclComm_t comm, CUstream stream, int root_or_peer)
{
	struct entry entry = {
		.function = function,
		.dtype = RW_DTYPE_FLOAT32,
		.root_or_peer = root_or_peer,
		.stream = (uintptr_t)stream,
		.send = function == RW_FUNCTION_RECV ? 0 : (uintptr_t)job->send,
		.recv = function == RW_FUNCTION_SEND ? 0 : (uintptr_t)job->recv,
	};

	job_note(job, &entry);
	ncclResult_t result = make(job, function, comm, stream, root_or_peer);
	CHECK(result == ncclSuccess || result == ncclInProgress);
}

/* This process's own. */
static struct box_reader open_box(void)
{
	struct box_reader reader = { .fd = -1 };
	char end[32], why[160] = "";
	DIR *list = opendir(directory);
	struct dirent *file;

	snprintf(end, sizeof(end), "-%d.rwbox", (int)getpid());
	while (list && (file = readdir(list)))
		if (strstr(file->d_name, end) && box_reader_open(&reader, dirfd(list), file->d_name, (uid_t)-1, why))
			fprintf(stderr, "%s\n", why);
	if (list)
		closedir(list);
	CHECK(reader.fd >= 0);
	return reader;
}

int job_abi(void)
{
	struct box_reader reader = open_box();
	int abi = (int)reader.header.profiler_abi;

	box_reader_close(&reader);
	return abi;
}

static bool is_finished(const struct rw_operation *operations, const enum box_slot *states, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (states[i] != BOX_SLOT_OK || operations[i].owner & RW_OWNER_PENDING)
			return false;
	return true;
}

/* What of the operations is unfinished, and what the thread that finishes them saw last. */
static void show_unfinished(const struct box_reader *reader, const struct rw_operation *operations,
			    const enum box_slot *states, size_t count)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	fprintf(stderr, "the drain thread's last poll was %.3f s ago\n",
		(double)now.tv_sec + (double)now.tv_nsec / 1e9 - (double)reader->header.drain_ns / 1e9);
	for (size_t i = 0; i < count; i++)
		if (!is_finished(&operations[i], &states[i], 1))
			fprintf(stderr, "operation %zu: state %d, owner %#x, known %#x, flags %#x, progress %" PRIu64 "\n", i,
				states[i], (unsigned int)operations[i].owner, (unsigned int)operations[i].known,
				(unsigned int)operations[i].flags, operations[i].progress);
}

size_t job_operations(struct rw_operation *operations, size_t room)
{
	static enum box_slot states[JOB_LEDGER];
	struct box_reader reader = open_box();
	int count = 0;

	CHECK(room <= JOB_LEDGER);
	for (int tries = 0; tries < 10000; tries++) {
		CHECK(box_reader_refresh(&reader) == 0 && reader.header.head <= room);
		count = box_reader_operations(&reader, 0, (uint32_t)reader.header.head, operations, states);
		CHECK(count == (int)reader.header.head);
		if (is_finished(operations, states, (size_t)count))
			break;
		pause_ms(1);
	}
	if (!is_finished(operations, states, (size_t)count))
		show_unfinished(&reader, operations, states, (size_t)count);
	CHECK(is_finished(operations, states, (size_t)count));
	box_reader_close(&reader);
	return (size_t)count;
}

struct rw_communicator job_communicator(uint32_t index)
{
	struct box_reader reader = open_box();
	struct rw_communicator communicator;

	CHECK(box_reader_communicators(&reader, index, 1, &communicator) == 1 && communicator.created_ns);
	box_reader_close(&reader);
	return communicator;
}

void job_header(struct rw_box_header *header)
{
	struct box_reader reader = open_box();
	*header = reader.header;
	box_reader_close(&reader);
}

int job_device(uint32_t communicator)
{
	uint32_t device = job_communicator(communicator).device;
	struct box_reader reader = open_box();
	int ordinal = reader.header.devices[device].ordinal;

	CHECK(reader.header.devices[device].used);
	box_reader_close(&reader);
	return ordinal;
}

/* As make() reduces. */
static uint8_t reduction_of(uint8_t function)
{
	static const uint8_t reductions[RW_FUNCTION_COUNT] = {
		[RW_FUNCTION_ALL_REDUCE] = RW_OPERATOR_SUM,
		[RW_FUNCTION_REDUCE] = RW_OPERATOR_MIN,
		[RW_FUNCTION_REDUCE_SCATTER] = RW_OPERATOR_SUM,
	};

	return reductions[function];
}

static void check_operation(const struct entry *entry, const struct rw_operation *operation, size_t number)
{
	uint32_t known = RW_KNOWN_IDENT | RW_KNOWN_API | RW_KNOWN_CALL;
	bool has_root = entry->function != RW_FUNCTION_ALL_REDUCE && entry->function != RW_FUNCTION_ALL_GATHER &&
			entry->function != RW_FUNCTION_REDUCE_SCATTER;
	bool same = (operation->known & known) == known && operation->function == entry->function &&
		    operation->dtype == entry->dtype && operation->count == JOB_COUNT &&
		    operation->stream == entry->stream && operation->send_address == entry->send &&
		    operation->recv_address == entry->recv &&
		    rw_operator(operation->flags) == reduction_of(entry->function) &&
		    (!has_root || operation->root_or_peer == entry->root_or_peer);

	if (same)
		return;
	fprintf(
	    stderr,
	    "operation %zu: known %#x function %u/%u dtype %u/%u count %lu root %d/%d addresses %d %d %d flags %#x\n",
	    number, operation->known, operation->function, entry->function, operation->dtype, entry->dtype,
	    operation->count, operation->root_or_peer, entry->root_or_peer, operation->stream == entry->stream,
	    operation->send_address == entry->send, operation->recv_address == entry->recv, operation->flags);
	exit(1);
}

void job_check(struct job *job)
{
	static struct rw_operation operations[JOB_LEDGER];
	size_t all = job_operations(operations, JOB_LEDGER), count = 0;

	for (size_t i = 0; i < all; i++) /* a replay is no call */
		if (!(operations[i].flags & RW_FLAG_CAPTURED))
			operations[count++] = operations[i];
	if (count != job->calls)
		fprintf(stderr, "%zu calls, %zu operations\n", job->calls, count);
	CHECK(count == job->calls);
	for (size_t i = 0; i < count; i++)
		check_operation(&job->ledger[i], &operations[i], i);
}
