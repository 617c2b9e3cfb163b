/* SPDX-License-Identifier: MIT */
/*
 * The plugin's thread, poll by poll, on the thread of the test and in virtual time. That an operation is published
 * between two instructions of a poll is forced: the page of its slot faults, and the fault's handler lets the poll go
 * on by one instruction and then publishes.
 */
#include <criterion/criterion.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "plugin/drain/drain.h"
#include "plugin/guest/clock.h"
#include "plugin/guest/own_thread.h"
#include "plugin/recording/recording.h"

uint64_t __wrap_clock_ns(void);
int __wrap_own_thread_start(const struct own_thread *own);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *pause, struct timespec *left);

#define SECOND_NS UINT64_C(1000000000)

static struct recording recording;
static uint64_t now_ns = 1000 * SECOND_NS;
static jmp_buf between_polls;
static int polls_left;
static const struct own_thread *thread;

uint64_t __wrap_clock_ns(void)
{
	return now_ns;
}

int __wrap_own_thread_start(const struct own_thread *own)
{
	thread = own;
	return 0;
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *pause, struct timespec *left)
{
	(void)clock, (void)flags, (void)left;
	now_ns += (uint64_t)pause->tv_sec * SECOND_NS + (uint64_t)pause->tv_nsec;
	if (--polls_left == 0)
		longjmp(between_polls, 1);
	return 0;
}

static void poll_times(int polls)
{
	polls_left = polls;
	if (!setjmp(between_polls))
		thread->run(thread->argument);
}

static void begin(void)
{
	struct box_request request = {
		.job = "test", .rank = -1, .local_ranks = 1, .history_bytes = 1 << 20, .directory = "/dev/shm"
	};

	cr_assert_eq(box_writer_create(&recording.box, &request), 0, "%s", recording.box.note);
	if (recording.box.path[0])
		unlink(recording.box.path);
	recording_open_lanes(&recording);
	recording.progress.on = true;
	cr_assert_eq(drain_start(&recording), 0);
}

static struct rw_operation *claim(uint64_t *ticket)
{
	struct rw_operation *slot = box_claim(&recording.box, RW_OWNER_HOST | RW_OWNER_GPU, ticket);

	cr_assert(slot);
	return slot;
}

static void publish(struct rw_operation *slot, uint64_t ticket)
{
	slot->api_ns = now_ns;
	slot->known = RW_KNOWN_IDENT | RW_KNOWN_API;
	box_publish(slot, ticket);
}

/* Its launch, its end on the host, and on the GPU. */
static void complete(struct rw_operation *slot, uint64_t ticket)
{
	slot->progress = 1;
	box_known(slot, RW_KNOWN_TASK | RW_KNOWN_LAUNCH);
	box_release(slot, ticket, RW_OWNER_HOST);
	atomic_store(&recording.box.gpu[0].gpu_started, 1);
	atomic_store(&recording.box.gpu[0].gpu_done, 1);
}

static void expect_followed(const struct rw_operation *slot)
{
	cr_expect_eq(slot->owner, 0, "nothing is pending");
	cr_expect(slot->known & RW_KNOWN_DONE);
	cr_expect_neq(slot->done_seen_ns, 0);
}

Test(drain, follows_an_operation_to_its_end_on_the_gpu)
{
	uint64_t ticket;

	begin();
	struct rw_operation *slot = claim(&ticket);
	publish(slot, ticket);
	poll_times(1);
	cr_expect_eq(slot->owner & RW_OWNER_PENDING, RW_OWNER_HOST | RW_OWNER_GPU);
	complete(slot, ticket);
	poll_times(1);
	expect_followed(slot);
}

/* Its thread may have no processor meanwhile. */
Test(drain, waits_for_a_slot_that_is_being_filled_for_as_long_as_that_takes)
{
	uint64_t ticket;

	begin();
	struct rw_operation *slot = claim(&ticket);
	poll_times(1);
	now_ns += 60 * SECOND_NS;
	poll_times(2);
	publish(slot, ticket);
	complete(slot, ticket);
	poll_times(2);
	expect_followed(slot);
}

Test(drain, waits_a_second_for_a_claim_that_has_not_taken_its_slot)
{
	const uint32_t pending = RW_OWNER_HOST | RW_OWNER_GPU;
	uint64_t late;

	begin();
	struct rw_operation *slot = recording.box.ring;
	atomic_store(&recording.box.header->head, 1);
	poll_times(1);
	now_ns += SECOND_NS / 2;
	poll_times(1);
	cr_assert(box_take(slot, 1, pending));
	publish(slot, 1);
	complete(slot, 1);
	poll_times(1);
	expect_followed(slot);
	late = atomic_fetch_add(&recording.box.header->head, 1) + 1;
	poll_times(1);
	now_ns += SECOND_NS;
	poll_times(1);
	cr_assert(box_take(slot + 1, late, pending));
	publish(slot + 1, late);
	complete(slot + 1, late);
	poll_times(1);
	cr_expect_neq(slot[1].owner, 0, "given up: it could have been skipped for good");
}

Test(drain, does_not_wait_for_a_claim_that_found_its_slot_taken)
{
	uint64_t first, ticket;

	begin();
	uint64_t size = recording.box.ring_mask + 1;
	struct rw_operation *slot = claim(&first);
	publish(slot, first);
	poll_times(1);
	/* A turn of the ring later it is still in flight, and is skipped. */
	atomic_store(&recording.box.header->head, size);
	struct rw_operation *next = claim(&ticket);
	cr_assert_eq(ticket, size + 2);
	publish(next, ticket);
	poll_times(1);
	complete(slot, first);
	poll_times(1);
	expect_followed(slot);
	now_ns += 2 * SECOND_NS;
	poll_times(1);
	complete(next, ticket);
	poll_times(1);
	expect_followed(next);
	cr_expect_eq(slot->ticket, first);
}

#ifdef __x86_64__
enum { TRAP_FLAG = 1 << 8 };

static struct forced {
	struct rw_operation *slot;
	uint64_t ticket;
	void *page;
	size_t size;
	bool reads_ticket; /* the instruction that faulted */
	int published;
} forced;

static void protect(int protection)
{
	if (mprotect(forced.page, forced.size, protection))
		_exit(2);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	protect(PROT_READ | PROT_WRITE);
	forced.reads_ticket = info->si_addr == (void *)&forced.slot->ticket;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	(void)signal, (void)info;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
	if (!forced.reads_ticket) {
		protect(PROT_NONE);
		return;
	}
	publish(forced.slot, forced.ticket);
	forced.published++;
}

static void handle(int signal, void (*handler)(int signal, siginfo_t *info, void *context))
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	cr_assert_eq(sigaction(signal, &action, NULL), 0);
}

Test(drain, follows_an_operation_that_is_published_just_when_its_ticket_has_been_read)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at;

	begin();
	forced.slot = claim(&forced.ticket);
	at = (uintptr_t)forced.slot & ~(page - 1);
	forced.page = (void *)at;
	forced.size = (uintptr_t)(forced.slot + 1) - at;
	handle(SIGSEGV, on_fault);
	handle(SIGTRAP, on_step);
	protect(PROT_NONE);
	poll_times(1);
	cr_assert_eq(forced.published, 1, "the poll read the ticket, and then it was published");
	complete(forced.slot, forced.ticket);
	poll_times(2);
	expect_followed(forced.slot);
}
#endif
