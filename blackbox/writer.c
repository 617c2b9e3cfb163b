/* SPDX-License-Identifier: MIT */
#include "blackbox/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "blackbox/directory.h"
#include "blackbox/host_memory.h"
#include "blackbox/place.h"
#include "blackbox/process.h"
#include "blackbox/unnamed.h"

/* As large as a kernel has it: 64 KiB on some of aarch64. */
enum { PAGE = 65536 };

enum {
	CONTROL_OFFSET = RW_BOX_HEADER_SIZE,
	COMMS_OFFSET = CONTROL_OFFSET + RW_BOX_CONTROL_SIZE,
	COMMS_END = COMMS_OFFSET + RW_BOX_COMMS * (int)sizeof(struct rw_communicator),
	GPU_OFFSET = (COMMS_END + PAGE - 1) / PAGE * PAGE,
	SAMPLES_OFFSET = GPU_OFFSET + RW_BOX_COMMS * (int)sizeof(struct rw_gpu_progress),
	WAITS_OFFSET = SAMPLES_OFFSET + RW_BOX_SAMPLES * (int)sizeof(struct rw_host_sample),
	RING_OFFSET = WAITS_OFFSET + RW_BOX_WAITS * (int)sizeof(struct rw_wait),
	LIMIT_MAX = RW_BOX_RING_MAX * (int)sizeof(struct rw_operation),
	LIMIT_MIN = 1 << 20,
	FREE_SHARE = 16,    /* all boxes of a node together take at most 1/16 of what is free */
	ASKED_SHARE = 2,    /* 1/2 where the user asked for a size: NCCL needs the rest */
	PLACE_TRIES = 64,   /* while others take an empty directory away */
	MEMORY_MIN = 4,     /* so many of the smallest boxes must fit into memory: below that the job needs all of it */
	SAME_NAME_MAX = 10, /* living writers of one name: equal pids in several pid namespaces */
};

static_assert(SAMPLES_OFFSET % PAGE == 0, "the GPU page is registered with the CUDA driver by whole pages");
static_assert(RING_OFFSET % 4096 == 0, "docs/black-box.md");

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The ring may have 32 MiB beside the fixed parts; below that the whole file stays within the limit. */
static uint32_t ring_slots_within(uint64_t limit)
{
	uint32_t slots = RW_BOX_RING_MAX;

	if (limit >= LIMIT_MAX)
		return slots;
	while (slots > RW_BOX_RING_MIN && RING_OFFSET + slots * sizeof(struct rw_operation) > limit)
		slots /= 2;
	return slots;
}

/* RLIM_INFINITY is the largest number. */
static uint64_t resource_limit(int resource)
{
	struct rlimit limit;

	return getrlimit((__rlimit_resource_t)resource, &limit) ? UINT64_MAX : limit.rlim_cur;
}

static uint64_t largest_file(void)
{
	return resource_limit(RLIMIT_FSIZE);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A box is charged to the memory of the machine and of the job's control group as well as to its file system. */
static uint64_t memory_left(const struct box_request *request)
{
	return host_memory_left(request->root ? request->root : "");
}

static uint32_t choose_ring_slots(const struct box_request *request, uint64_t free_bytes)
{
	uint64_t share = free_bytes / (request->local_ranks ? request->local_ranks : 1);
	uint64_t space = resource_limit(RLIMIT_AS); /* of this process, which has other things to map */
	uint64_t limit = least(share, space) / FREE_SHARE;
	uint64_t largest = largest_file();

	if (request->history_bytes)
		limit = least(request->history_bytes, least(share, space) / ASKED_SHARE);
	/* Below LIMIT_MAX the whole file stays within it. */
	if (largest < RING_OFFSET + LIMIT_MAX)
		limit = least(limit, least(largest, LIMIT_MAX - 1));
	return ring_slots_within(limit);
}

/* Above RLIMIT_FSIZE the kernel does not only refuse: it sends SIGXFSZ, and the job would die of its black box. */
static int reserve(int fd, size_t size)
{
	int err;

	if (largest_file() < size)
		return -EFBIG;
	do
		err = posix_fallocate(fd, 0, (off_t)size);
	while (err == EINTR);
	return -err;
}

static void fill_layout(struct rw_box_header *header, uint32_t ring_slots, bool limited)
{
	memcpy(header->magic, RW_BOX_MAGIC, sizeof(header->magic));
	header->layout = RW_BOX_LAYOUT;
	header->header_size = RW_BOX_HEADER_SIZE;
	header->total_size = RING_OFFSET + ring_slots * sizeof(struct rw_operation);
	header->control_offset = CONTROL_OFFSET;
	header->comms_offset = COMMS_OFFSET;
	header->gpu_offset = GPU_OFFSET;
	header->samples_offset = SAMPLES_OFFSET;
	header->ring_offset = RING_OFFSET;
	header->comm_slots = RW_BOX_COMMS;
	header->sample_slots = RW_BOX_SAMPLES;
	header->ring_slots = ring_slots;
	header->operation_size = sizeof(struct rw_operation);
	header->history_limited = limited;
	header->optional_features = RW_BOX_NETWORK;
	header->waits_offset = WAITS_OFFSET;
	header->wait_slots = RW_BOX_WAITS;
}

static void fill_identity(struct rw_box_header *header, const struct box_request *request)
{
	process_boot_id(header->boot_id);
	header->pid = (uint32_t)getpid();
	header->uid = geteuid();
	header->machine = RW_MACHINE_OWN;
	header->pid_namespace = process_pid_namespace();
	header->start_time_ticks = process_start_time(getpid());
	header->created_ns = clock_ns(CLOCK_MONOTONIC);
	header->created_realtime_ns = clock_ns(CLOCK_REALTIME);
	gethostname(header->host, sizeof(header->host) - 1);
	snprintf(header->job, sizeof(header->job), "%s", request->job ? request->job : "");
	process_read_line("/proc/self/comm", header->process_name, sizeof(header->process_name));
	header->world_rank = request->rank;
	header->world_size = -1;
	header->local_rank = -1;
}

static void point_into(struct box_writer *writer, void *map, uint32_t ring_slots)
{
	char *start = map;

	writer->map = map;
	writer->header = map;
	writer->leases = (void *)(start + CONTROL_OFFSET);
	writer->communicators = (void *)(start + COMMS_OFFSET);
	writer->gpu = (void *)(start + GPU_OFFSET);
	writer->samples = (void *)(start + SAMPLES_OFFSET);
	writer->waits = (void *)(start + WAITS_OFFSET);
	writer->ring = (void *)(start + RING_OFFSET);
	writer->ring_mask = ring_slots - 1;
}

/* Turns the empty file writer->fd into a box; -errno and `why` on failure, then the caller closes the file. */
static int build_of(struct box_writer *writer, const struct box_request *request, uint32_t ring_slots, char *why)
{
	writer->size = RING_OFFSET + ring_slots * sizeof(struct rw_operation);

	int err = reserve(writer->fd, writer->size);

	if (err) {
		snprintf(why, BOX_WHY, "cannot reserve %zu KiB for a black box: %s", writer->size >> 10,
			 strerror(-err));
		return err;
	}

	void *map = mmap(NULL, writer->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, writer->fd, 0);

	if (map == MAP_FAILED) {
		err = -errno;
		snprintf(why, BOX_WHY, "cannot map a black box: %s", strerror(-err));
		return err;
	}
	point_into(writer, map, ring_slots);
	/* A forked child that keeps running must not keep the pages, nor write into its parent's history. */
	madvise(map, writer->size, MADV_DONTFORK);
	uint64_t wanted = request->history_bytes ? request->history_bytes : LIMIT_MAX;

	fill_layout(writer->header, ring_slots, ring_slots < ring_slots_within(wanted));
	fill_identity(writer->header, request);
	return 0;
}

/* As large as it was to be, or where that cannot be mapped, as small as a box gets. */
static int build(struct box_writer *writer, const struct box_request *request, uint32_t ring_slots, char *why)
{
	int err = build_of(writer, request, ring_slots, why);

	if (err != -ENOMEM || ring_slots == RW_BOX_RING_MIN)
		return err;
	return ftruncate(writer->fd, 0) ? -errno : build_of(writer, request, RW_BOX_RING_MIN, why);
}

/* Does a living process hold the box of this name? Equal pids do happen: in pid namespaces that share /dev/shm. */
static bool is_in_use(int directory, const char *name)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1 };
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return false;

	bool held = !fcntl(fd, F_GETLK, &lock) && lock.l_type != F_UNLCK;

	close(fd);
	return held;
}

/* Gives the finished box its name; a dead box of the same name is replaced in the same step. */
static int give_name(struct box_writer *writer, const struct box_request *request, int directory, const char *path,
		     const char *unnamed)
{
	char rank[16] = "", name[64];

	if (request->rank >= 0)
		snprintf(rank, sizeof(rank), "%d", (int)request->rank);
	snprintf(name, sizeof(name), "rank%s-%d" RW_BOX_SUFFIX, rank, (int)getpid());
	for (int i = 1; i < SAME_NAME_MAX && is_in_use(directory, name); i++)
		snprintf(name, sizeof(name), "rank%s-%d-%d" RW_BOX_SUFFIX, rank, (int)getpid(), i);
	if (renameat(directory, unnamed, directory, name))
		return -errno;
	/* box_places() leaves room for the name. */
	snprintf(writer->path, sizeof(writer->path), "%.*s/%s", BOX_PLACE_PATH - (int)sizeof(name) - 1, path, name);
	return 0;
}

static int create_file(struct box_writer *writer, const struct box_request *request, int directory, const char *path,
		       char *why)
{
	char unnamed[BOX_UNNAMED];

	box_unnamed_clear(directory);
	writer->fd = box_unnamed_make(directory, unnamed);
	if (writer->fd < 0) {
		int err = writer->fd;

		snprintf(why, BOX_WHY, "%.100s: cannot make a file: %s", path, strerror(-err));
		return err;
	}

	char reason[BOX_WHY] = "";
	uint64_t free_bytes = least(box_directory_free(directory), memory_left(request));
	int err = build(writer, request, choose_ring_slots(request, free_bytes), reason);

	if (!err)
		err = give_name(writer, request, directory, path, unnamed);
	if (err) {
		snprintf(why, BOX_WHY, "%.100s: %.100s", path, *reason ? reason : strerror(-err));
		unlinkat(directory, unnamed, 0);
		box_writer_close(writer);
	}
	return err;
}

static int try_in(struct box_writer *writer, const struct box_request *request, const char *path, char *why)
{
	bool named_by_user = request->directory && !strcmp(path, request->directory);
	int directory = box_directory_open(path, named_by_user, why);

	if (directory < 0)
		return directory;

	int err = create_file(writer, request, directory, path, why);

	close(directory);
	return err;
}

/* A collector that ends, and `rankwatch clean`, take a job's empty directory away, perhaps right now. */
static int create_in(struct box_writer *writer, const struct box_request *request, const char *path, char *why)
{
	int err = -ENOENT;

	for (int i = 0; i < PLACE_TRIES && err == -ENOENT; i++)
		err = try_in(writer, request, path, why);
	return err;
}

/* Nobody can read it after the process: the least that works is enough. */
static int create_memory(struct box_writer *writer, const struct box_request *request, char *why)
{
	writer->fd = memfd_create("rankwatch", MFD_CLOEXEC);
	if (writer->fd < 0) {
		snprintf(why, BOX_WHY, "memfd: %s", strerror(errno));
		return -errno;
	}

	int err = build(writer, request, RW_BOX_RING_MIN, why);

	if (err)
		box_writer_close(writer);
	return err;
}

/* Near its limit a control group kills one of its processes for the next page, and the machine does the same. */
static int check_memory(struct box_writer *writer, const struct box_request *request)
{
	uint64_t left = memory_left(request);

	if (left >= MEMORY_MIN * (RING_OFFSET + RW_BOX_RING_MIN * sizeof(struct rw_operation)))
		return 0;
	*writer = (struct box_writer){ 0 };
	snprintf(writer->note, sizeof(writer->note),
		 "only %llu KiB of memory are left here or in the control group: the job needs them",
		 (unsigned long long)left >> 10);
	return -ENOMEM;
}

int box_writer_create(struct box_writer *writer, const struct box_request *request)
{
	char paths[BOX_PLACES][BOX_PLACE_PATH];
	char first[BOX_WHY] = "", why[BOX_WHY];
	int count = box_places(request->directory, getenv("XDG_RUNTIME_DIR"), geteuid(), request->job, paths);
	int none = check_memory(writer, request);

	if (none)
		return none;
	*writer = (struct box_writer){ .fd = -1 };
	for (int i = 0; i < count; i++) {
		char *reason = *first ? why : first;

		if (create_in(writer, request, paths[i], reason))
			continue;
		if (*first)
			snprintf(writer->note, sizeof(writer->note), "%.160s; it records in %.70s instead", first,
				 paths[i]);
		return 0;
	}

	int err = create_memory(writer, request, why);

	if (err) {
		*writer = (struct box_writer){ 0 };
		snprintf(writer->note, sizeof(writer->note), "%.150s; not even memory is left (%.60s)", first, why);
		return err;
	}
	snprintf(writer->note, sizeof(writer->note), "%.160s; the black box does not outlive the process", first);
	return 0;
}

void box_writer_close(struct box_writer *writer)
{
	if (writer->map)
		munmap(writer->map, writer->size);
	if (writer->fd >= 0)
		close(writer->fd);
	*writer = (struct box_writer){ .fd = -1 };
}

void box_writer_sample(struct box_writer *writer, const struct rw_host_sample *sample)
{
	uint64_t number = atomic_load_explicit(&writer->header->samples_head, memory_order_relaxed);
	struct rw_host_sample *slot = &writer->samples[number % RW_BOX_SAMPLES];
	size_t skip = sizeof(slot->ticket);

	atomic_store_explicit(&slot->ticket, 0, memory_order_relaxed);
	/* As in box_take(): ticket 0 before the new bytes. Pairs with the second acquire fence of the reader. */
	atomic_thread_fence(memory_order_release);
	memcpy((char *)slot + skip, (const char *)sample + skip, sizeof(*slot) - skip);
	/* Pairs with the first acquire fence of the reader. */
	atomic_store_explicit(&slot->ticket, number + 1, memory_order_release);
	/* Pairs with the same: the number is not seen before its slot. */
	atomic_store_explicit(&writer->header->samples_head, number + 1, memory_order_release);
}

static bool is_pending(const struct rw_operation *slot)
{
	return atomic_load_explicit(&slot->owner, memory_order_relaxed) & RW_OWNER_PENDING;
}

static uint32_t count_pending(const struct box_writer *writer)
{
	uint32_t pending = 0;

	for (uint64_t i = 0; i <= writer->ring_mask; i++)
		pending += is_pending(&writer->ring[i]);
	return pending;
}

/* False when the slot is free, or still being claimed and filled. */
static bool expire_slot(struct box_writer *writer, struct rw_operation *slot)
{
	/* Acquire: pairs with the release in box_publish(). */
	uint64_t ticket = atomic_load_explicit(&slot->ticket, memory_order_acquire);

	if (!ticket || !is_pending(slot))
		return false;
	atomic_fetch_or_explicit(&slot->flags, RW_FLAG_UNTRACKED | RW_UNTRACKED_EXPIRED << RW_FLAG_UNTRACKED_SHIFT,
				 memory_order_relaxed);
	atomic_fetch_add_explicit(&writer->header->untracked[RW_UNTRACKED_EXPIRED], 1, memory_order_relaxed);
	box_release(slot, ticket, RW_OWNER_PENDING);
	return true;
}

uint32_t box_writer_expire(struct box_writer *writer, uint64_t oldest)
{
	uint64_t quarter = (writer->ring_mask + 1) / 4;
	uint64_t head = atomic_load_explicit(&writer->header->head, memory_order_relaxed);
	uint32_t expired = 0;

	if (head - oldest <= quarter || count_pending(writer) <= quarter)
		return 0;
	for (uint64_t i = 0; i <= writer->ring_mask; i++)
		expired += expire_slot(writer, &writer->ring[i]);
	return expired;
}
