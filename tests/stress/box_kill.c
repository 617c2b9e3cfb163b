/* SPDX-License-Identifier: MIT */
/*
 * Kills a writer at random moments with SIGKILL and reads its box: it must be orphaned and hold every operation as far
 * as the writer had got with it. The writer notes each step in a page of its own after the step's store: the box may be
 * ahead of that page by one step, never behind.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "blackbox/reader.h"
#include "tests/stress/stress_directory.h"
#include "tests/stress/pattern.h"

enum { KILLS = 60, MICROSECONDS = 3000 };

/* Steps of one operation, in order. */
static const uint32_t steps[] = { RW_KNOWN_API, RW_KNOWN_LAUNCH, RW_KNOWN_RETURN, RW_KNOWN_DONE };

enum { STEPS = sizeof(steps) / sizeof(*steps) };

struct note {
	char path[512];
	_Atomic uint64_t ready;
	_Atomic uint64_t steps_done; /* ticket - 1 full operations, then steps of the last */
};

static void write_forever(struct note *note)
{
	struct box_writer writer;

	stress_directory_create(&writer);
	strcpy(note->path, writer.path);
	note->ready = 1;
	for (uint64_t done = 0;;) {
		uint64_t ticket;
		struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST, &ticket);

		if (!slot)
			_exit(1);
		for (int step = 0; step < STEPS; step++) {
			pattern_fill(slot, ticket, steps[step]);
			box_known(slot, steps[step]);
			if (!step)
				box_publish(slot, ticket);
			atomic_store(&note->steps_done, ++done);
		}
		box_release(slot, ticket, RW_OWNER_HOST);
	}
}

static uint32_t known_after(uint64_t steps_done)
{
	uint32_t known = 0;

	for (uint64_t step = 0; step < steps_done && step < STEPS; step++)
		known |= steps[step];
	return known;
}

/* 0 when every operation is there as far as it was noted. */
static int check(const struct box_reader *reader, uint64_t steps_done)
{
	uint64_t head = reader->header.head, begun = (steps_done + STEPS - 1) / STEPS;
	uint64_t first = head > RW_BOX_RING_MIN ? head - RW_BOX_RING_MIN : 0;

	if (begun > head)
		return fprintf(stderr, "head %llu is behind\n", (unsigned long long)head);
	for (uint64_t claim = first; claim < begun; claim++) {
		struct rw_operation slot;
		enum box_slot state;
		uint32_t known = known_after(steps_done - claim * STEPS);

		if (box_reader_operations(reader, claim, 1, &slot, &state) != 1)
			return fprintf(stderr, "cannot be read\n");
		if (state != BOX_SLOT_OK || !pattern_holds(&slot) || (slot.known & known) != known)
			return fprintf(stderr, "claim %llu of %llu: state %d known %#x, not %#x\n",
				       (unsigned long long)claim, (unsigned long long)head, state, slot.known, known);
	}
	return 0;
}

static int check_box(const struct note *note)
{
	struct box_reader reader;
	char why[160] = "";
	int failed;

	if (box_reader_open(&reader, AT_FDCWD, note->path, geteuid(), why))
		return fprintf(stderr, "%s\n", why);
	failed = check(&reader, note->steps_done);
	if (box_reader_life(&reader, NULL) != BOX_ORPHANED)
		failed = fprintf(stderr, "not orphaned\n");
	box_reader_close(&reader);
	return failed;
}

static int kill_one(struct note *note)
{
	struct timespec moment = { .tv_nsec = rand() % MICROSECONDS * 1000L };

	*note = (struct note){ 0 };

	pid_t writer = fork();

	if (!writer)
		write_forever(note);
	while (!note->ready && !waitpid(writer, NULL, WNOHANG))
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	nanosleep(&moment, NULL);
	kill(writer, SIGKILL);
	waitpid(writer, NULL, 0);
	return check_box(note);
}

int main(void)
{
	struct note *note = mmap(NULL, sizeof(*note), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned seed = (unsigned)time(NULL);
	int failed = 0;
	uint64_t operations = 0;

	stress_directory_make();
	srand(seed);
	for (int i = 0; i < KILLS && !failed; i++) {
		failed = kill_one(note);
		operations += note->steps_done / STEPS;
	}
	printf("seed %u: %d writers killed after %llu operations in all, %s\n", seed, KILLS,
	       (unsigned long long)operations, failed ? "a box is not complete" : "every box complete");
	stress_directory_remove();
	return failed != 0;
}
