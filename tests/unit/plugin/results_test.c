/* SPDX-License-Identifier: MIT */
/* What becomes of a scan's result: in the slot, in the log, and of the process. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/scanning/results.h"
#include "plugin/scanning/state.h"

#define SECOND UINT64_C(1000000000)

static struct recording recording;
static struct rw_box_header header;
static struct rw_communicator entries[2];
static struct rw_operation slot;
static int log_fd;
static uint64_t tickets;

static void setup(void)
{
	char path[] = "/tmp/rankwatch-results.XXXXXX";

	recording.box.header = &header;
	recording.box.communicators = entries;
	header.world_rank = 3;
	entries[1].id = 0xbeef;
	slot.comm = 1;
	slot.function = RW_FUNCTION_ALL_REDUCE;
	slot.sequence = 41;
	budget_open(&scanning.budget, 2500, 0, SECOND, &(struct budget_cost){ 0 });
	scanning.budget.scan_every = 16;
	log_fd = mkstemp(path);
	cr_assert_geq(log_fd, 0);
	unlink(path);
	dup2(log_fd, STDERR_FILENO);
}

TestSuite(results, .init = setup);

/* What was written since the last time. */
static const char *written(void)
{
	static char text[4096];
	static off_t from;
	ssize_t got = pread(log_fd, text, sizeof(text) - 1, from);

	cr_assert_geq(got, 0);
	text[got] = '\0';
	from += got;
	return text;
}

static void record(uint32_t sides, uint32_t nan, uint32_t inf, uint64_t now_ns)
{
	struct scan_result result = { .nan = nan, .inf = inf, .first_bad = 12, .absmax = 1.5f, .saturated = 6, .digest = 7,
				      .lane_sum = 8 };

	scanning_record(
	    &recording, &slot,
	    &(struct scanning_found){
		.sides = sides, .is_before = true, .ticket = ++tickets, .elements = 1000, .result = &result },
	    now_ns);
}

Test(results, a_result_goes_to_the_side_that_was_scanned)
{
	static const struct rw_scan none,
	    scan = { .nan = 2, .inf = 3, .first_bad = 12, .absmax = 1.5f, .saturated = 6, .digest = 7, .lane_sum = 8 };

	record(RW_OWNER_SCAN_IN, 2, 3, SECOND);
	cr_expect_eq(memcmp(&slot.scan_in, &scan, sizeof(scan)), 0);
	cr_expect_eq(memcmp(&slot.scan_out, &none, sizeof(none)), 0);
	cr_expect_eq(slot.known, RW_KNOWN_SCAN_IN);
	slot.scan_in = none;
	slot.known = 0;
	record(RW_OWNER_SCAN_OUT, 2, 3, SECOND);
	cr_expect_eq(memcmp(&slot.scan_out, &scan, sizeof(scan)), 0);
	cr_expect_eq(memcmp(&slot.scan_in, &none, sizeof(none)), 0);
	cr_expect_eq(slot.known, RW_KNOWN_SCAN_OUT);
	record(RW_OWNER_SCAN_IN | RW_OWNER_SCAN_OUT, 2, 3, SECOND);
	cr_expect_eq(memcmp(&slot.scan_in, &scan, sizeof(scan)), 0);
	cr_expect_eq(slot.known, RW_KNOWN_SCAN_IN | RW_KNOWN_SCAN_OUT);
	cr_expect_str_empty(written(), "nobody asked to be told");
}

Test(results, neither_a_nan_nor_an_infinity_has_more_scanned)
{
	record(RW_OWNER_SCAN_IN, 0, 1, 400 * SECOND);
	record(RW_OWNER_SCAN_IN, 1, 0, 900 * SECOND);
	cr_expect_eq(scanning.budget.scan_every, 16);
}

Test(results, who_wants_to_be_warned_reads_where_the_nan_is_once_a_minute)
{
	recording.config.on_nan = CONFIG_ON_NAN_WARN;
	record(RW_OWNER_SCAN_IN, 0, 9, 100 * SECOND);
	cr_expect_str_empty(written(), "an infinity is no NaN");
	record(RW_OWNER_SCAN_IN, 2, 0, 100 * SECOND);
	cr_expect_str_eq(written(),
			 "rankwatch: rank 3: 2 NaN in the input of AllReduce 41 of communicator 0xbeef, first at 12 of "
			 "1000 elements\n");
	record(RW_OWNER_SCAN_OUT, 2, 0, 160 * SECOND);
	cr_expect_str_empty(written());
	record(RW_OWNER_SCAN_OUT, 4, 0, 160 * SECOND + 1);
	cr_expect_not_null(strstr(written(), "4 NaN in the output of AllReduce 41"));
	cr_expect_eq(scanning.on_nan.ticket, 0);
}

Test(results, a_line_names_the_communicators_own_rank_and_name_and_a_replay)
{
	recording.config.on_nan = CONFIG_ON_NAN_WARN;
	header.world_rank = -1;
	entries[1].rank = 6;
	strcpy(entries[1].name, "tp");
	slot.sequence = rw_captured_sequence(5, 70);
	record(RW_OWNER_SCAN_OUT, 1, 0, SECOND);
	cr_expect_str_eq(written(), "rankwatch: rank 6: 1 NaN in the output of AllReduce 5 in CUDA graphs, replay 70, of "
				    "communicator 0xbeef (tp), first at 12 of 1000 elements\n");
	scanning.reported_ns = 0;
	header.world_rank = 0;
	slot.sequence = 0;
	record(RW_OWNER_SCAN_OUT, 1, 0, SECOND);
	cr_expect_not_null(strstr(written(), "rank 0: 1 NaN in the output of AllReduce 0 of"));
}

Test(results, a_nan_that_is_to_end_the_process_is_told_whatever_was_said_before)
{
	recording.config.on_nan = CONFIG_ON_NAN_ABORT;
	scanning.reported_ns = 100 * SECOND;
	slot.sequence = 2000;
	record(RW_OWNER_SCAN_OUT, 0, 0, 101 * SECOND);
	record(RW_OWNER_SCAN_IN, 1, 0, 101 * SECOND);
	cr_expect_eq(scanning.on_nan.ticket, 0, "this buffer was never seen clean");
	cr_expect_str_empty(written());
	slot.send_address = 4096;
	record(RW_OWNER_SCAN_IN, 0, 0, 101 * SECOND);
	record(RW_OWNER_SCAN_IN, 1, 0, 101 * SECOND);
	cr_expect_eq(scanning.on_nan.ticket, tickets);
	cr_expect_not_null(strstr(written(), "1 NaN in the input"));
	record(RW_OWNER_SCAN_OUT, 1, 0, 101 * SECOND + 5);
	cr_expect_str_empty(written());
	cr_expect_eq(scanning.on_nan.ticket, tickets - 1, "its own result is no reason against it");
}

Test(results, who_only_wants_to_be_warned_has_nothing_remembered)
{
	recording.config.on_nan = CONFIG_ON_NAN_WARN;
	slot.sequence = 2000;
	record(RW_OWNER_SCAN_IN, 0, 0, SECOND);
	record(RW_OWNER_SCAN_IN, 1, 0, SECOND);
	cr_expect_eq(scanning.on_nan.ticket, 0);
}

Test(results, the_cost_is_what_was_measured_and_what_each_launch_and_write_takes)
{
	recording.usual_ns = 1;
	header.scan_gpu_ns = 300;
	scanning.scanner.all = (struct scanner_costs){ .launches = 4, .host_ns = 20, .gpu_ns = 200 };
	scanning.scanner.first = (struct scanner_costs){ .launches = 3, .host_ns = 15, .gpu_ns = 100 };
	scanning.scanner.launch_ns = 1000;
	recording.progress.writes = 5;
	recording.progress.write_ns = 10000;
	struct budget_cost cost = scanning_cost(&recording);
	cr_expect_eq(cost.scans, 4320);
	cr_expect_eq(cost.progress, 50000);
	cr_expect_eq(cost.first, 3115);
	cr_expect_eq(cost.total, 54321);
}
