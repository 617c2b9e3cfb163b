/* SPDX-License-Identifier: MIT */
/* Another profiler plugin behind ours: what it gets, what NCCL gets back, and what goes wrong. Criterion forks per
 * test. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/abi/player.h"
#include "tests/abi/second_plugin.h"

#define STARTS(type) (other->starts[__builtin_ctz(type)])
#define STOPS(type)  (other->stops[__builtin_ctz(type)])
#define STATES(type) (other->states[__builtin_ctz(type)])
#define SECOND_NAME  "libnccl-profiler-second-v%d.so"
#define EVERYTHING   0xffff
#define TIMER        UINT64_C(1767225600000000000)

static struct second *other;
static struct player player;
static struct box_reader reader;

/* Loads the other beforehand, so that its counters can be set; the chain finds the same library. */
static void choose_second(int abi, int mask)
{
	char path[512];

	snprintf(path, sizeof(path), SECOND_FOLDER "/" SECOND_NAME, abi);
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	cr_assert(library, "%s", dlerror());
	other = dlsym(library, "second");
	cr_assert(other);
	other->wanted_mask = mask;
	setenv("RANKWATCH_CHAIN", path, 1);
}

static void begin(int nccl_abi)
{
	const char *directory = player_directory();

	player_init(&player, player_load(), nccl_abi, 0x5eed, 1, 4);
	player_read(&reader, directory);
}

static struct rw_operation operation(uint64_t number)
{
	struct rw_operation found;

	cr_assert(player_operation(&reader, number, &found));
	return found;
}

static uint32_t owner_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.owner;
}

static uint32_t known_of(uint64_t number)
{
	struct rw_operation op = operation(number);

	return op.known;
}

static void play_network(void *task)
{
	void *op = player_proxy_op(&player, task, getpid());
	void *step = player_proxy_step(&player, op, 0);

	if (step)
		player_state(&player, step, 8, &(uint64_t){ 0 });
	player_stop(&player, step);
	player_stop(&player, op);
}

static struct criterion_test_params all_versions(void)
{
	static int versions[] = { 1, 2, 3, 4, 5, 6, 7 };

	return cr_make_param_array(int, versions, 7);
}

ParameterizedTestParameters(chain, both_get_their_own_contexts_and_handles_in_every_version)
{
	return all_versions();
}

ParameterizedTest(int *abi, chain, both_get_their_own_contexts_and_handles_in_every_version)
{
	choose_second(*abi, EVERYTHING);
	begin(*abi);
	for (int i = 0; i < 10; i++)
		play_network(player_collective(&player, "AllReduce", 7, "ncclFloat32"));
	player_p2p(&player, "Send", 9, 2);
	player_finalize(&player);
	cr_expect_eq(other->inits, 1);
	cr_expect_eq(other->finalizes, 1);
	cr_expect_eq(other->foreign, 0);
	cr_expect_eq(STARTS(PROFILER_COLL), 10);
	cr_expect_eq(STOPS(PROFILER_COLL), 10);
	cr_expect_eq(STARTS(PROFILER_P2P), 1);
	cr_expect_eq(STARTS(PROFILER_GROUP), 11);
	cr_expect_eq(STOPS(PROFILER_GROUP), 11);
	cr_expect_eq(STARTS(PROFILER_PROXY_OP), 10);
	cr_expect_eq(STOPS(PROFILER_PROXY_OP), 10);
	cr_expect_eq(STATES(PROFILER_PROXY_STEP), 10);
	cr_expect_eq(STOPS(PROFILER_PROXY_STEP), 10);
	cr_expect_eq(STARTS(PROFILER_GROUP_API), *abi >= 5 ? 11 : 0);
	cr_expect_eq(STARTS(PROFILER_COLL_API), *abi >= 5 ? 10 : 0);
	cr_expect_eq(STOPS(PROFILER_KERNEL_LAUNCH), *abi >= 5 ? 11 : 0);
	cr_expect_eq(other->count, 9);
	for (uint64_t i = 0; i < 11; i++) {
		struct rw_operation op = operation(i);

		cr_expect(op.known & RW_KNOWN_TASK);
		cr_expect_eq(op.owner, 0, "recorded as without the other");
	}
}

/* Versions of NCCL's interface, the other's, and that it is to be served with the other's. */
struct pairing {
	int nccl, second;
	bool served;
};

ParameterizedTestParameters(chain, an_older_plugin_is_served_where_nccl_would_and_layouts_allow)
{
	static struct pairing pairings[] = {
		{ 6, 5, true },  { 7, 5, true },  { 7, 6, true },  { 5, 4, true },  { 7, 4, true },  { 5, 6, false },
		{ 4, 5, false }, { 4, 3, false }, { 5, 3, false }, { 7, 1, false }, { 3, 2, false },
	};

	return cr_make_param_array(struct pairing, pairings, sizeof(pairings) / sizeof(*pairings));
}

ParameterizedTest(struct pairing *pairing, chain, an_older_plugin_is_served_where_nccl_would_and_layouts_allow)
{
	choose_second(pairing->second, EVERYTHING);
	begin(pairing->nccl);
	player_collective(&player, "AllReduce", 7, "ncclFloat32");
	player_p2p(&player, "Recv", 8, 0);
	player_finalize(&player);
	cr_expect_eq(other->inits, pairing->served);
	cr_expect_eq(other->finalizes, pairing->served);
	cr_expect_eq(STARTS(PROFILER_COLL), pairing->served);
	cr_expect_eq(STOPS(PROFILER_P2P), pairing->served);
	cr_expect_eq(other->foreign, 0);
	cr_expect_eq(other->from_group, pairing->served && pairing->second == 4 ? 2 : 0);
	cr_expect_eq(other->count, pairing->served ? 8 : 0);
	cr_expect(known_of(1) & RW_KNOWN_TASK);
}

Test(chain, the_other_is_called_for_what_it_asked_for_and_what_that_hangs_from)
{
	choose_second(5, PROFILER_PROXY_OP);
	begin(5);
	cr_expect(player.mask & PROFILER_PROXY_OP);
	cr_expect(player.mask & PROFILER_KERNEL_LAUNCH, "ours");
	play_network(player_collective(&player, "AllReduce", 1, "ncclFloat32"));
	cr_expect_eq(STARTS(PROFILER_GROUP_API), 1);
	cr_expect_eq(STARTS(PROFILER_COLL_API), 1);
	cr_expect_eq(STARTS(PROFILER_COLL), 1);
	cr_expect_eq(STARTS(PROFILER_PROXY_OP), 1);
	cr_expect_eq(STARTS(PROFILER_KERNEL_LAUNCH), 0);
	cr_expect_eq(STARTS(PROFILER_PROXY_STEP), 0);
}

Test(chain, a_mask_that_the_other_changes_counts_from_the_next_group_on)
{
	choose_second(5, 0);
	begin(5);
	cr_expect_not(player.mask & PROFILER_PROXY_STEP);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_expect_eq(STARTS(PROFILER_COLL), 0);
	*other->mask = PROFILER_PROXY_STEP;
	void *task = player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_expect(player.mask & PROFILER_PROXY_STEP);
	cr_expect_eq(STARTS(PROFILER_COLL), 1);
	*other->mask = 0;
	play_network(task);
	cr_expect_eq(STARTS(PROFILER_PROXY_STEP), 0);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_expect_not(player.mask & PROFILER_PROXY_STEP);
	cr_expect(player.mask & PROFILER_COLL, "ours stays");
}

/* The parent went by while the other had not asked. */
Test(chain, a_child_whose_parent_the_other_never_saw_is_not_passed_on)
{
	choose_second(5, 0);
	begin(5);
	void *task = player_collective(&player, "AllReduce", 1, "ncclFloat32");
	*other->mask = EVERYTHING;
	play_network(task);
	cr_expect_eq(STARTS(PROFILER_PROXY_OP), 0);
	cr_expect_eq(other->foreign, 0);
}

Test(chain, contexts_and_handles_that_the_other_leaves_null_change_nothing_for_us)
{
	choose_second(6, EVERYTHING);
	other->gives_null = 1;
	begin(6);
	play_network(player_collective(&player, "AllReduce", 1, "ncclFloat32"));
	player_finalize(&player);
	cr_expect_eq(STARTS(PROFILER_COLL), 1);
	cr_expect_eq(STARTS(PROFILER_PROXY_OP), 1, "NCCL starts children of NULL, too");
	cr_expect_eq(STOPS(PROFILER_COLL), 0);
	cr_expect_eq(other->finalizes, 0, "NCCL: only a context is finalized");
	cr_expect_eq(other->foreign, 0);
	cr_expect_eq(owner_of(0), 0);
}

Test(chain, an_init_that_fails_leaves_the_other_out_of_that_communicator_alone)
{
	struct player second_communicator;

	choose_second(5, EVERYTHING);
	other->init_result = 3;
	setenv("RANKWATCH_LOG", "/dev/null", 1);
	begin(5);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	player_finalize(&player);
	cr_expect_eq(STARTS(PROFILER_COLL), 0);
	cr_expect_eq(other->finalizes, 0);
	other->init_result = 0;
	player_init(&second_communicator, player_load(), 5, 2, 0, 2);
	player_collective(&second_communicator, "AllReduce", 1, "ncclFloat32");
	cr_expect_eq(STARTS(PROFILER_COLL), 1);
	cr_expect_eq(owner_of(1), 0);
}

Test(chain, a_captured_calls_handle_is_the_others_parent_at_every_replay)
{
	choose_second(5, EVERYTHING);
	begin(5);
	void *call = player_call(&player, NULL, "AllReduce", 1, "ncclFloat32", true);
	for (int i = 0; i < 10000; i++)
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
	unsigned int before = STARTS(PROFILER_COLL);
	for (int i = 0; i < 3; i++)
		player_stop(&player, player_task(&player, call, "AllReduce", 1));
	cr_expect_eq(STARTS(PROFILER_COLL), before + 3);
	cr_expect_eq(other->foreign, 0);
}

Test(chain, handles_of_long_ago_are_stopped_for_nobody)
{
	choose_second(5, EVERYTHING);
	begin(5);
	void *stale = player_collective(&player, "AllReduce", 1, "ncclFloat32");
	for (int i = 0; i < 20000; i++)
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
	unsigned int stops = STOPS(PROFILER_COLL);
	player_stop(&player, stale);
	player_stop(&player, (char *)stale + (1 << 20)); /* not given out yet */
	play_network(stale);
	cr_expect_eq(STOPS(PROFILER_COLL), stops);
	cr_expect_eq(STARTS(PROFILER_PROXY_OP), 0);
	cr_expect_eq(other->foreign, 0);
}

Test(chain, what_a_proxy_does_for_another_process_is_not_passed_on)
{
	choose_second(7, EVERYTHING);
	begin(7);
	void *task = player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_expect_null(player_proxy_op(&player, task, getpid() + 1));
	cr_expect_eq(STARTS(PROFILER_PROXY_OP), 0);
}

/* Plays collectives until NCCL's mask has these bits of proxy events, 10 s at most: the chain writes it at each
 * group. */
static bool plays_until_mask_has(int proxy_bits)
{
	for (int i = 0; i < 10000; i++) {
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		if ((player.mask & (PROFILER_PROXY_OP | PROFILER_PROXY_STEP)) == proxy_bits)
			return true;
		usleep(1000);
	}
	return false;
}

static void lease(uint64_t ns_from_now)
{
	struct timespec now;
	char path[48];

	clock_gettime(CLOCK_MONOTONIC, &now);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", reader.fd);
	int fd = open(path, O_RDWR);
	struct rw_lease lease = {
		.expires_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + ns_from_now,
		.communicator = 0x5eed,
		.proxy_bits = RW_LEASE_PROXY_OP | RW_LEASE_PROXY_STEP,
	};
	cr_assert_eq(pwrite(fd, &lease, sizeof(lease), (off_t)reader.header.control_offset), (ssize_t)sizeof(lease));
}

ParameterizedTestParameters(chain, network_detail_is_leased_beside_it_and_not_passed_on)
{
	return all_versions();
}

ParameterizedTest(int *abi, chain, network_detail_is_leased_beside_it_and_not_passed_on)
{
	choose_second(*abi, PROFILER_COLL);
	begin(*abi);
	void *task = player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_expect_null(player_transfer(&player, NULL, 2, 0, true));
	lease(UINT64_C(9000000000));
	cr_assert(plays_until_mask_has(PROFILER_PROXY_OP | PROFILER_PROXY_STEP));
	void *op = player_transfer(&player, task, 2, 0, true);
	cr_expect(op);
	void *step = player_proxy_step(&player, op, 0);
	cr_expect(step);
	player_step_state(&player, step, 9, 64);
	player_stop(&player, step);
	player_stop(&player, op);
	cr_expect_eq(STARTS(PROFILER_PROXY_OP), 0, "it did not ask");
	cr_expect_eq(STARTS(PROFILER_PROXY_STEP), 0);
	lease(1);
	cr_expect(plays_until_mask_has(0));
}

static uint32_t recorded_steps(void)
{
	static struct rw_wait waits[RW_BOX_WAITS];
	uint32_t steps = 0;

	for (int i = 0, count = box_reader_waits(&reader, 0, RW_BOX_WAITS, waits); i < count; i++)
		steps += waits[i].steps;
	return steps;
}

Test(chain, network_detail_reaches_both_when_it_asked_too)
{
	choose_second(5, EVERYTHING);
	begin(5);
	lease(UINT64_C(9000000000));
	unsigned int played = 0;
	while (!recorded_steps() && played++ < 10000) {
		void *task = player_collective(&player, "AllReduce", 1, "ncclFloat32");
		void *op = player_transfer(&player, task, 2, 0, true);
		player_stop(&player, player_proxy_step(&player, op, 0));
		player_stop(&player, op);
		usleep(1000);
	}
	cr_expect_eq(recorded_steps(), 1);
	cr_expect_eq(STARTS(PROFILER_PROXY_STEP), played);
	cr_expect_eq(STOPS(PROFILER_PROXY_STEP), played);
	lease(1);
	usleep(50000);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_expect(player.mask & PROFILER_PROXY_STEP, "the other wants it still");
}

Test(chain, kernel_events_reach_both)
{
	void *handles[4];

	setenv("RANKWATCH_KERNELCH", "1", 1);
	choose_second(4, EVERYTHING);
	begin(5);
	void *task = player_collective(&player, "AllReduce", 1, "ncclFloat32");
	for (uint8_t channel = 0; channel < 4; channel++)
		handles[channel] = player_channel(&player, task, channel, TIMER);
	for (int channel = 0; channel < 4; channel++)
		player_channel_stop(&player, handles[channel], TIMER + 5);
	cr_expect_eq(STATES(PROFILER_KERNEL_CH), 4);
	cr_expect_eq(STOPS(PROFILER_KERNEL_CH), 4);
	cr_expect_eq(operation(0).gpu_end_raw, TIMER + 5);
}

static void take_kernel_events_back(int mask)
{
	struct player another;

	setenv("RANKWATCH_KERNELCH", "1", 1);
	player_shared_memory(10000, 0);
	choose_second(5, mask);
	begin(5);
	cr_expect(player.mask & PROFILER_KERNEL_CH);
	player_init(&another, player_load(), 5, 0x5eed + 1, 0, 4);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_expect_eq(player.mask, another.mask);
}

Test(chain, kernel_events_are_taken_back_where_nccl_has_no_room_for_them)
{
	take_kernel_events_back(PROFILER_COLL);
	cr_expect_not(player.mask & PROFILER_KERNEL_CH);
}

Test(chain, kernel_events_that_the_other_plugin_wants_stay)
{
	take_kernel_events_back(PROFILER_KERNEL_CH);
	cr_expect(player.mask & PROFILER_KERNEL_CH, "as without us");
}

Test(chain, the_other_runs_where_we_do_not)
{
	struct player alone;

	choose_second(5, PROFILER_COLL);
	setenv("RANKWATCH", "off", 1);
	player_directory();
	player_init(&alone, player_load(), 5, 1, 0, 1);
	player_collective(&alone, "AllReduce", 1, "ncclFloat32");
	player_finalize(&alone);
	cr_expect_eq(STARTS(PROFILER_COLL), 1);
	cr_expect_eq(STOPS(PROFILER_COLL), 1);
	cr_expect_eq(other->finalizes, 1);
	cr_expect_eq(other->foreign, 0);
}

Test(chain, rounds_of_init_and_finalize_never_run_out_of_contexts)
{
	void *library;

	choose_second(5, EVERYTHING);
	begin(5);
	library = player_load();
	for (int i = 0; i < 10000; i++) {
		struct player next;

		player_init(&next, library, 5, (uint64_t)i, 0, 1);
		player_collective(&next, "AllReduce", 1, "ncclFloat32");
		player_finalize(&next);
		player_finalize(&next);
	}
	cr_expect_eq(other->inits, 10001);
	cr_expect_eq(other->finalizes, 10000);
	cr_expect_eq(STARTS(PROFILER_COLL), 10000);
	cr_expect_eq(other->foreign, 0);
}

/* What is said on standard error at the first communicator of an NCCL with version 5. */
static const char *start_and_read(const char *chain)
{
	static char text[2048];
	char log[] = "/tmp/rankwatch-test-XXXXXX";
	int fd = mkstemp(log);

	cr_assert(fd >= 0);
	setenv("RANKWATCH_CHAIN", chain, 1);
	setenv("RANKWATCH_LOG", log, 1);
	begin(5);
	ssize_t length = read(fd, text, sizeof(text) - 1);
	text[length > 0 ? length : 0] = '\0';
	close(fd);
	unlink(log);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	cr_expect_eq(owner_of(0), 0, "the job goes on, recorded");
	return text;
}

static void expect_line(const char *chain, const char *line)
{
	const char *text = start_and_read(chain);

	cr_expect(strstr(text, line), "%s", text);
	cr_expect_eq(strchr(text, '\n') + 1, text + strlen(text), "one line: %s", text);
}

Test(chain, a_line_says_that_the_other_is_loaded)
{
	expect_line(SECOND_FOLDER "/libnccl-profiler-second-v5.so",
		    "rankwatch: also runs " SECOND_FOLDER "/libnccl-profiler-second-v5.so (RANKWATCH_CHAIN)");
}

Test(chain, a_missing_file_is_one_line)
{
	expect_line("/nowhere/plugin.so", "rankwatch: RANKWATCH_CHAIN=/nowhere/plugin.so: ");
}

Test(chain, a_name_that_no_library_has_is_one_line)
{
	expect_line("nobody", "libnccl-profiler-nobody.so: cannot open shared object file");
}

Test(chain, a_library_without_a_table_is_one_line)
{
	expect_line("libm.so.6", "RANKWATCH_CHAIN=libm.so.6: it exports no ncclProfiler_vN; the job runs without it");
}

Test(chain, a_plugin_of_another_time_is_one_line)
{
	expect_line(SECOND_FOLDER "/libnccl-profiler-second-v3.so",
		    "its newest profiler ABI is v3, which cannot be served by this NCCL's v5; the job runs without it");
}

Test(chain, rankwatch_is_not_chained_behind_itself)
{
	expect_line(PLUGIN_PATH, "that is rankwatch itself");
}

Test(chain, none_names_nothing)
{
	cr_expect_str_eq(start_and_read("none"), "");
}
