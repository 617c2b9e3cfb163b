/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "collector/sources/machine/port_files.h"
#include "collector/sources/machine/port_source.h"
#include "port_tree.h"

struct seen {
	unsigned count;
	struct analysis_port_state last;
};

TestSuite(port_source, .init = port_tree_make, .fini = port_tree_remove);

static void note(void *argument, const struct analysis_port_state *state)
{
	struct seen *seen = argument;

	seen->count++;
	seen->last = *state;
}

Test(port_source, a_recorded_machine_is_read_every_two_seconds_of_the_time_that_it_is_told)
{
	struct port_source *source;
	struct seen seen = { 0 };

	port_tree_add_rdma("mlx5_0");
	cr_assert_eq(port_source_open(&source, port_tree_root), 0);
	for (uint64_t ms = 10000; ms < 15000; ms += 50)
		port_source_poll(source, ms * 1000000, note, &seen);
	cr_expect_eq(seen.count, 3);
	cr_expect_eq(seen.last.at_ns, UINT64_C(14000000000));
	cr_expect_str_eq(seen.last.name, "mlx5_0");
	port_source_close(source);
}

Test(port_source, this_machine_is_read_on_a_thread_and_each_round_is_told_once)
{
	struct analysis_port_state states[64];
	size_t expected = port_files_read("", NULL, states, 64);
	uint64_t begin_ns = clock_monotonic_ns();
	struct port_source *source;
	struct seen seen = { 0 };

	cr_assert_eq(port_source_open(&source, ""), 0);
	/* A minute, for a machine that is very busy: the thread begins with a round. */
	while (expected && !seen.count && clock_monotonic_ns() < begin_ns + UINT64_C(60000000000)) {
		poll(NULL, 0, 5);
		port_source_poll(source, 0, note, &seen);
	}
	cr_expect_eq(seen.count, expected);
	if (expected) {
		cr_expect(seen.last.at_ns >= begin_ns && seen.last.at_ns <= clock_monotonic_ns());
		port_source_poll(source, 0, note, &seen);
		cr_expect(seen.count == expected || seen.last.at_ns > begin_ns + UINT64_C(2000000000));
	}
	port_source_close(source);
	port_source_close(NULL);
}
