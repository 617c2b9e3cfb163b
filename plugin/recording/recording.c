/* SPDX-License-Identifier: MIT */
#include "plugin/recording/recording.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugin/guest/message.h"

struct recording_page recording_no_page;
_Atomic(struct recording_page *) recording_page = &recording_no_page;

static _Atomic bool interposed;

/*
 * By the page a child knows what it is, also after a bare clone(). It is there before anybody takes a lock of ours: a
 * child that inherits a lock that is taken also inherits the page, and never waits for the lock.
 */
static int make_page(void)
{
	size_t size = (size_t)getpagesize();
	struct recording_page *none = &recording_no_page;

	if (atomic_load(&recording_page) != none)
		return 0;
	struct recording_page *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return -errno;
	int err = madvise(page, size, MADV_WIPEONFORK) ? -errno : 0;
	atomic_store(&page->alive, true);
	if (err || !atomic_compare_exchange_strong(&recording_page, &none, page))
		munmap(page, size); /* or another thread was first */
	return err;
}

bool recording_is_possible(void)
{
	static atomic_flag reported = ATOMIC_FLAG_INIT;
	int err = make_page();

	if (!err)
		return atomic_load(&atomic_load(&recording_page)->alive);
	if (!atomic_flag_test_and_set(&reported))
		message("not recording: %s",
			err == -ENOMEM ? "no memory" : "no memory that fork() wipes (needs Linux 4.14)");
	return false;
}

void recording_begin(struct recording *recording)
{
	/* Release: pairs with the acquire in recording_get(). */
	atomic_store_explicit(&atomic_load(&recording_page)->recording, recording, memory_order_release);
}

void recording_interpose(void)
{
	atomic_store_explicit(&interposed, true, memory_order_relaxed);
}

bool recording_is_interposed(void)
{
	return atomic_load_explicit(&interposed, memory_order_relaxed);
}

void recording_sum_costs(struct recording *recording)
{
	struct rw_box_header *header = recording->box.header;
	uint64_t own_ns = 0, usual_ns = 0, callbacks = 0;

	for (uint32_t lane = 0; lane < RECORDING_LANES; lane++) {
		own_ns += atomic_load_explicit(&recording->lanes[lane].cost.own_ns, memory_order_relaxed);
		usual_ns += atomic_load_explicit(&recording->lanes[lane].cost.usual_ns, memory_order_relaxed);
		callbacks += atomic_load_explicit(&recording->lanes[lane].cost.callbacks, memory_order_relaxed);
	}
	/* Relaxed: numbers of their own. */
	atomic_store_explicit(&header->own_ns, own_ns, memory_order_relaxed);
	atomic_store_explicit(&recording->usual_ns, usual_ns, memory_order_relaxed);
	atomic_store_explicit(&header->callbacks, callbacks, memory_order_relaxed);
}
