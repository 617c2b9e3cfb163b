/* SPDX-License-Identifier: MIT */
#include "sim/nccl/bootstrap/segment.h"

#include <linux/futex.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE                4096u
#define MAILBOXES           2
#define MAILBOX_BYTES_MAX   (256u << 10)
#define MAILBOXES_BYTES_MAX (4u << 20) /* of all ranks, one turn */
#define CHANNEL_BYTES_MAX   (32u << 10)
#define CHANNELS_BYTES_MAX  (64u << 20)

static size_t page_clamp(size_t share, size_t most)
{
	size_t size = share < most ? share : most;

	size -= size % PAGE;
	return size ? size : PAGE;
}

static size_t round_to_page(size_t size)
{
	return (size + PAGE - 1) / PAGE * PAGE;
}

static size_t mailbox_bytes(int nranks)
{
	return page_clamp(MAILBOXES_BYTES_MAX / (size_t)nranks, MAILBOX_BYTES_MAX);
}

static size_t channel_bytes(int nranks)
{
	return page_clamp(CHANNELS_BYTES_MAX / ((size_t)nranks * (size_t)nranks), CHANNEL_BYTES_MAX);
}

static size_t mailboxes_offset(void)
{
	return round_to_page(sizeof(struct segment_shared));
}

static size_t channels_offset(int nranks)
{
	return mailboxes_offset() + MAILBOXES * (size_t)nranks * mailbox_bytes(nranks);
}

static size_t slots_offset(int nranks)
{
	return channels_offset(nranks) + round_to_page((size_t)nranks * (size_t)nranks * sizeof(struct channel));
}

static size_t segment_size(int nranks)
{
	size_t pairs = (size_t)nranks * (size_t)nranks;

	return slots_offset(nranks) + pairs * SEGMENT_CHANNEL_SLOTS * channel_bytes(nranks);
}

int segment_new(int nranks)
{
	int fd = memfd_create("rankwatch-sim-nccl", MFD_CLOEXEC);

	if (fd >= 0 && ftruncate(fd, (off_t)segment_size(nranks)) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

ncclResult_t segment_map(struct segment *segment, int fd, int nranks)
{
	void *map = mmap(NULL, segment_size(nranks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return ncclSystemError;
	*segment = (struct segment){
		.shared = map,
		.size = segment_size(nranks),
		.nranks = nranks,
		.mailbox_bytes = mailbox_bytes(nranks),
		.channel_bytes = channel_bytes(nranks),
	};
	return ncclSuccess;
}

void segment_unmap(struct segment *segment)
{
	if (segment->shared)
		munmap(segment->shared, segment->size);
	segment->shared = NULL;
}

void *segment_mailbox(const struct segment *segment, int rank, unsigned int turn)
{
	size_t index = (size_t)rank * MAILBOXES + turn % MAILBOXES;

	return (char *)segment->shared + mailboxes_offset() + index * segment->mailbox_bytes;
}

static size_t pair(const struct segment *segment, int from, int to)
{
	return (size_t)from * (size_t)segment->nranks + (size_t)to;
}

struct channel *segment_channel(const struct segment *segment, int from, int to)
{
	struct channel *channels = (void *)((char *)segment->shared + channels_offset(segment->nranks));

	return &channels[pair(segment, from, to)];
}

void *segment_channel_slot(const struct segment *segment, int from, int to, uint32_t piece)
{
	size_t index = pair(segment, from, to) * SEGMENT_CHANNEL_SLOTS + piece % SEGMENT_CHANNEL_SLOTS;

	return (char *)segment->shared + slots_offset(segment->nranks) + index * segment->channel_bytes;
}

/* Not for ever: the wake of an abort may come between the look at the stop flag and the wait. */
static void futex_wait(_Atomic uint32_t *word, uint32_t seen)
{
	static const struct timespec look_again = { .tv_nsec = 100000000 };

	syscall(SYS_futex, word, FUTEX_WAIT, seen, &look_again, NULL, 0);
}

static void futex_wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool gate_pass(struct gate *gate, int nranks, const atomic_bool *stop)
{
	uint32_t before = atomic_load_explicit(&gate->opened, memory_order_acquire);

	if (atomic_load(stop))
		return false;
	if (atomic_fetch_add(&gate->arrived, 1) + 1 == (uint32_t)nranks) {
		/* Nobody arrives for the next time before opened has grown. */
		atomic_store(&gate->arrived, 0);
		/* Publishes what all wrote before they arrived; pairs with the acquire below. */
		atomic_store_explicit(&gate->opened, before + 1, memory_order_release);
		futex_wake_all(&gate->opened);
		return true;
	}
	while (atomic_load_explicit(&gate->opened, memory_order_acquire) == before) {
		if (atomic_load(stop))
			return false;
		futex_wait(&gate->opened, before);
	}
	return true;
}

void bell_wait(_Atomic uint32_t *bell, uint32_t seen)
{
	futex_wait(bell, seen);
}

void bell_ring(_Atomic uint32_t *bell)
{
	atomic_fetch_add(bell, 1);
	futex_wake_all(bell);
}

void segment_wake(struct segment *segment, int rank)
{
	futex_wake_all(&segment->shared->stream_gate.opened);
	bell_ring(&segment->shared->ranks[rank].bell);
}
