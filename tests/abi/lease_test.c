/* SPDX-License-Identifier: MIT */
/* Leases of network detail: who gets them, how they end, and what NCCL's progress threads do meanwhile. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/abi/player.h"

enum {
	ID = 0x5eed,
	OTHER_ID = 0xbee,
	PROXY = PROFILER_PROXY_OP | PROFILER_PROXY_STEP,
	SEND_GPU_WAIT = 8,
	SEND_WAIT,
	RECV_WAIT,
	RECV_FLUSH_WAIT,
	RECV_GPU_WAIT,
	SEND_PEER_WAIT = 20,
	BYTES = 1 << 17,
	MS = 1000000,
};

static struct player player;
static struct box_reader reader;
static int control = -1; /* the box, for writing: what a collector has */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS }, NULL);
}

static void begin(int abi)
{
	const char *directory = player_directory();
	char path[64];

	player_init(&player, player_load(), abi, ID, 1, 4);
	cr_assert_eq(player.mask & PROXY, 0);
	player_read(&reader, directory);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", reader.fd);
	control = open(path, O_RDWR);
	cr_assert_geq(control, 0);
}

static void write_lease(int slot, uint64_t communicator, uint32_t bits, uint64_t expires_ns)
{
	struct rw_lease lease = { .expires_ns = expires_ns, .communicator = communicator, .proxy_bits = bits };
	off_t at = (off_t)(reader.header.control_offset + (uint64_t)slot * sizeof(lease));

	cr_assert_eq(pwrite(control, &lease, sizeof(lease), at), (ssize_t)sizeof(lease));
}

/* Until the mask is that, 10 s at most. */
static bool mask_becomes(int proxy_bits)
{
	for (uint64_t end = now_ns() + 10000ull * MS; now_ns() < end; pause_ms(1))
		if ((__atomic_load_n(&player.mask, __ATOMIC_RELAXED) & PROXY) == proxy_bits)
			return true;
	return false;
}

static void *task(void)
{
	return player_collective(&player, "AllReduce", 8, "ncclFloat32");
}

static void *transfer(int peer, uint8_t channel, bool sends)
{
	return player_transfer(&player, task(), peer, channel, sends);
}

static void lease(void)
{
	/* Of the versions before 4 the communicator is known with its first task. */
	task();
	write_lease(0, ID, PROXY, now_ns() + 8000ull * MS);
	cr_assert(mask_becomes(PROXY));
	for (uint64_t end = now_ns() + 10000ull * MS; !transfer(3, 63, false) && now_ns() < end;)
		pause_ms(1);
}

/* What the box says of the channel; key 0: nothing. */
static struct rw_wait waits_of(int peer, uint8_t channel, bool sends)
{
	static struct rw_wait waits[RW_BOX_WAITS];

	cr_assert_eq(box_reader_waits(&reader, 0, RW_BOX_WAITS, waits), RW_BOX_WAITS);
	for (int i = 0; i < RW_BOX_WAITS; i++) {
		uint64_t key = waits[i].key;

		if (key && RW_WAIT_PEER(key) == (uint32_t)peer && RW_WAIT_CHANNEL(key) == channel &&
		    !!(key & RW_WAIT_SENDS) == sends)
			return waits[i];
	}
	return (struct rw_wait){ 0 };
}

static struct criterion_test_params abi_versions(void)
{
	static int versions[] = { 1, 2, 3, 4, 5, 6, 7 };

	return cr_make_param_array(int, versions, 7);
}

ParameterizedTestParameters(lease, nothing_is_asked_for_until_a_lease_and_after_it)
{
	return abi_versions();
}

ParameterizedTest(int *abi, lease, nothing_is_asked_for_until_a_lease_and_after_it)
{
	begin(*abi);
	int before = player.mask;
	cr_expect_null(transfer(2, 0, true));
	lease();
	cr_expect_eq(player.mask, before | PROXY, "and never KernelCh");
	void *op = transfer(2, 0, true);
	cr_expect(op);
	cr_expect(player_proxy_step(&player, op, 0));
	write_lease(0, ID, PROXY, now_ns() + 30ull * MS);
	cr_expect(mask_becomes(0), "it lapses by itself");
	cr_expect_eq(player.mask, before);
	cr_expect_null(transfer(2, 0, true));
}

ParameterizedTestParameters(lease, each_wait_of_a_send_goes_to_whom_it_is_for)
{
	return abi_versions();
}

ParameterizedTest(int *abi, lease, each_wait_of_a_send_goes_to_whom_it_is_for)
{
	begin(*abi);
	lease();
	void *op = transfer(2, 5, true);
	void *step = player_proxy_step(&player, op, 0);
	player_step_state(&player, step, SEND_GPU_WAIT, 0);
	pause_ms(20);
	if (*abi >= 4) {
		player_step_state(&player, step, SEND_PEER_WAIT, 0);
		player_step_state(&player, step, SEND_PEER_WAIT, 0); /* once an attempt */
	} else {
		player_step_state(&player, op, 1, 0); /* SendRemFifoWait, of the operation */
	}
	pause_ms(40);
	player_step_state(&player, step, SEND_WAIT, BYTES);
	pause_ms(80);
	player_stop(&player, step);
	pause_ms(20);
	player_stop(&player, op);
	struct rw_wait waits = waits_of(2, 5, true);
	cr_expect(waits.key & RW_WAIT_USED);
	cr_expect_geq(waits.gpu_ns, 20 * MS);
	cr_expect_geq(waits.peer_ns, 40 * MS);
	cr_expect_geq(waits.network_ns, 80 * MS);
	cr_expect_leq(waits.gpu_ns + waits.peer_ns + waits.network_ns, waits.last_ns - waits.first_ns);
	cr_expect_eq(waits.steps, 1);
	cr_expect_eq(waits.bytes, BYTES);
}

Test(lease, each_wait_of_a_receive_goes_to_whom_it_is_for)
{
	begin(5);
	lease();
	void *op = transfer(3, 1, false);
	void *step = player_proxy_step(&player, op, 0);
	cr_expect_eq(player_proxy_step(&player, op, 0), step, "a start that NCCL repeats is the same step");
	player_step_state(&player, step, RECV_WAIT, 0);
	pause_ms(30);
	player_step_state(&player, step, RECV_FLUSH_WAIT, BYTES);
	pause_ms(5);
	player_step_state(&player, step, RECV_GPU_WAIT, BYTES);
	pause_ms(10);
	player_stop(&player, step);
	struct rw_wait waits = waits_of(3, 1, false);
	cr_expect_geq(waits.network_ns, 30 * MS);
	cr_expect_geq(waits.flush_us, 5000);
	cr_expect_geq(waits.gpu_ns, 10 * MS);
	cr_expect_eq(waits.peer_ns, 0);
	cr_expect_eq(waits.bytes, BYTES);
}

/* NCCL leaves them in SendGPUWait until the one before them is on its way, though they are filled. */
Test(lease, steps_behind_the_oldest_count_nothing)
{
	void *steps[8];

	begin(5);
	lease();
	void *op = transfer(0, 0, true);
	for (int i = 0; i < 8; i++) {
		steps[i] = player_proxy_step(&player, op, i);
		player_step_state(&player, steps[i], SEND_GPU_WAIT, 0);
	}
	player_step_state(&player, steps[0], SEND_WAIT, BYTES);
	struct rw_wait waits = waits_of(0, 0, true);
	uint64_t before_ns = waits.gpu_ns;
	pause_ms(50);
	player_stop(&player, steps[0]);
	waits = waits_of(0, 0, true);
	cr_expect_geq(waits.network_ns, 50 * MS);
	cr_expect_eq(waits.gpu_ns, before_ns);
	pause_ms(10);
	player_step_state(&player, steps[7], SEND_WAIT, BYTES);
	waits = waits_of(0, 0, true);
	cr_expect_geq(waits.gpu_ns, before_ns + 10 * MS, "the second waits for its GPU now");
}

Test(lease, steps_that_never_stop_are_over_with_the_next_operation)
{
	begin(5);
	lease();
	void *first = transfer(0, 0, true), *second = transfer(0, 0, true);
	void *lost = player_proxy_step(&player, first, 0);
	player_step_state(&player, lost, SEND_WAIT, BYTES);
	void *step = player_proxy_step(&player, second, 0);
	player_step_state(&player, step, SEND_GPU_WAIT, 0);
	struct rw_wait waits = waits_of(0, 0, true);
	uint64_t before_ns = waits.network_ns;
	player_step_state(&player, lost, SEND_WAIT, BYTES); /* stale */
	cr_expect_null(player_proxy_step(&player, first, 1));
	pause_ms(10);
	player_stop(&player, lost);
	player_stop(&player, first);
	player_stop(&player, step);
	waits = waits_of(0, 0, true);
	cr_expect_eq(waits.network_ns, before_ns);
	cr_expect_geq(waits.gpu_ns, 10 * MS);
	cr_expect_eq(waits.steps, 1);
}

Test(lease, one_of_an_hour_lasts_ten_seconds_at_most)
{
	begin(5);
	write_lease(0, ID, PROXY, now_ns() + 3600000ull * MS);
	cr_assert(mask_becomes(PROXY));
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_leq(reader.header.leased_until_ns, now_ns() + RW_LEASE_MAX_NS);
	pause_ms(10300);
	cr_expect_eq(player.mask & PROXY, 0, "the page still says the same");
	write_lease(0, ID, PROXY, now_ns() + 3600001ull * MS);
	cr_expect(mask_becomes(PROXY), "what it says anew counts anew");
}

Test(lease, other_communicators_are_left_alone)
{
	struct player other;

	begin(5);
	player_init(&other, player_load(), 5, OTHER_ID, 0, 2);
	write_lease(3, OTHER_ID, PROXY, now_ns() + 8000ull * MS);
	for (uint64_t end = now_ns() + 10000ull * MS; !(other.mask & PROXY) && now_ns() < end;)
		pause_ms(1);
	cr_expect(other.mask & PROXY);
	cr_expect_null(transfer(2, 0, true));
	cr_expect(player_transfer(&other, NULL, 1, 0, true));
	player_finalize(&other);
	cr_expect_null(player_transfer(&other, NULL, 1, 0, true));
}

Test(lease, what_is_no_lease_is_none)
{
	char garbage[RW_BOX_CONTROL_SIZE];

	begin(5);
	int before = player.mask;
	memset(garbage, 0xff, sizeof(garbage));
	cr_assert_gt(pwrite(control, garbage, sizeof(garbage), (off_t)reader.header.control_offset), 0);
	pause_ms(60);
	cr_expect_eq(player.mask, before, "no such communicator");
	write_lease(0, ID, PROFILER_PROXY_OP, now_ns() + 8000ull * MS);
	write_lease(1, ID, PROFILER_KERNEL_CH | PROFILER_PROXY_CTRL, now_ns() + 8000ull * MS);
	write_lease(2, ID, PROXY, now_ns() - 1);
	write_lease(3, 0, PROXY, now_ns() + 8000ull * MS);
	pause_ms(60);
	cr_expect_eq(player.mask, before);
	write_lease(15, ID, ~0u, now_ns() + 8000ull * MS);
	cr_assert(mask_becomes(PROXY));
	cr_expect_eq(player.mask, before | PROXY, "of all bits these two");
}

Test(lease, bits_that_somebody_else_asked_for_stay)
{
	begin(5);
	__atomic_fetch_or(&player.mask, PROFILER_PROXY_OP, __ATOMIC_RELAXED);
	write_lease(0, ID, PROXY, now_ns() + 50ull * MS);
	cr_assert(mask_becomes(PROXY));
	cr_expect(mask_becomes(PROFILER_PROXY_OP));
}

Test(lease, handles_of_nobody_and_of_other_processes_do_nothing)
{
	static void *const nonsense[] = { NULL, (void *)8, (void *)-1, (void *)0x7f0012345678, (void *)0x5dffffffffffffff,
					  (void *)0x5effffffffffffff };

	begin(5);
	lease();
	void *foreign = player_proxy_op(&player, task(), getpid() + 1);
	cr_expect_null(foreign, "PXN");
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++) {
		cr_expect_null(player_proxy_step(&player, nonsense[i], 0), "%zu", i);
		player_step_state(&player, nonsense[i], SEND_WAIT, 1);
		player_stop(&player, nonsense[i]);
	}
	void *op = transfer(2, 0, true);
	cr_expect_null(player_proxy_step(&player, op, -1));
	cr_expect_null(player_proxy_step(&player, op, 1 << 20));
	cr_expect_null(transfer(-1, 0, true));
	cr_expect_null(transfer(4, 0, true), "of four ranks");
	void *step = player_proxy_step(&player, op, 0);
	player_step_state(&player, step, SEND_WAIT, UINT64_MAX);
	player_step_state(&player, step, RECV_WAIT, 1);
	player_step_state(&player, step, 99, 1);
	player_step_state(&player, step, -1, 1);
	player_state(&player, step, SEND_WAIT, NULL);
	player_stop(&player, step);
	player_stop(&player, step);
	struct rw_wait waits = waits_of(2, 0, true);
	cr_expect_eq(waits.bytes, 0, "a size that no step has");
	cr_expect_eq(waits.steps, 1);
}

Test(lease, a_full_table_refuses_and_counts_and_is_new_with_the_next_lease)
{
	int refused = 0;

	begin(5);
	player_finalize(&player);
	player_init(&player, player_load(), 5, ID, 1, 1000);
	lease();
	for (int peer = 0; peer < 700; peer++)
		refused += !transfer(peer, 0, true);
	cr_assert_eq(box_reader_refresh(&reader), 0);
	cr_expect_geq(refused, 700 - RW_BOX_WAITS);
	cr_expect_eq(reader.header.waits_refused, (uint32_t)refused);
	void *stale = transfer(0, 0, true);
	write_lease(0, ID, PROXY, 0);
	cr_assert(mask_becomes(0));
	lease();
	cr_expect_null(player_proxy_step(&player, stale, 0));
	struct rw_wait waits = waits_of(1, 0, true);
	cr_expect_eq(waits.key, 0);
	void *op = transfer(999, 0, true);
	cr_expect(player_proxy_step(&player, op, 0));
}
