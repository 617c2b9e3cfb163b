/* SPDX-License-Identifier: MIT */
/* Ranks of different hosts: who waits for whom is in the states of their steps, and nothing is sent without room. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "sim/nccl/bootstrap/interface.h"
#include "sim/nccl/network/link.h"
#include "network_watch.h"
#include "sim/nccl/profiler/profiler_abi.h"

#define NETWORK (EVENT_PROXY_OP | EVENT_PROXY_STEP)
#define STEPS   40 /* far more than may be on their way */
#define BIG     (STEPS * LINK_STEP_BYTES)

TestSuite(network, .timeout = 90);

static atomic_int *wire_free; /* in a rank: while it is 0 the connections take nothing */

/* In place of the C library's, for libnccl, too. */
__attribute__((visibility("default"))) ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	if (!wire_free || atomic_load(wire_free))
		return syscall(SYS_sendmsg, fd, message, flags);
	usleep(1000); /* poll() knows nothing of this */
	errno = EAGAIN;
	return -1;
}

static void wait_for_go(void *go)
{
	while (!atomic_load((atomic_int *)go))
		usleep(1000);
}

/* What the rank enqueues from now on waits until the test lets it go. */
static void occupy_gpu(const struct rank *rank)
{
	CU(cuLaunchHostFunc(rank->stream, wait_for_go, &watched(rank->rank)->go));
}

/* Rank 0 sends, rank 1 receives; all of it has come, and every step was told from its start to its end. */
static void transfer(const struct rank *rank)
{
	struct watched *mine = watched(rank->rank);
	char *buffer = device_alloc(BIG);

	memset(buffer, rank->rank == 0 ? 7 : 0, BIG);
	if (rank->rank == 0)
		NCCL(ncclSend(buffer, BIG, ncclInt8, 1, rank->comm, rank->stream));
	else
		NCCL(ncclRecv(buffer, BIG, ncclInt8, 0, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < BIG; i += 4093)
		CHECK(buffer[i] == 7);
	CHECK(watched_reaches(&mine->transfers_ended, 1));
	CHECK(mine->steps_ended == STEPS && mine->most_open <= LINK_STEPS);
	CHECK((rank->rank ? mine->bytes_received : mine->bytes_sent) == (long long)BIG);
}

static void busy_sender_main(struct rank *rank)
{
	if (rank->rank == 0)
		occupy_gpu(rank);
	transfer(rank);
}

Test(network, a_sender_whose_gpu_is_late_waits_for_its_gpu_and_the_receiver_for_data)
{
	struct ranks ranks;

	network_watch("2", NETWORK);
	ranks_start(&ranks, 2, busy_sender_main);
	cr_assert(watched_reaches(&watched(0)->steps_in[STATE_SEND_GPU_WAIT], LINK_STEPS));
	cr_assert(watched_reaches(&watched(1)->steps_in[STATE_RECV_WAIT], LINK_STEPS));
	cr_expect_eq(watched(0)->steps_started, LINK_STEPS);
	cr_expect_eq(watched(0)->peer_waits, 0);
	atomic_store(&watched(0)->go, 1);
	ranks_join(&ranks);
}

static void busy_receiver_main(struct rank *rank)
{
	if (rank->rank == 1)
		occupy_gpu(rank);
	transfer(rank);
}

/* The receiver takes what it has buffers for; then the sender has no credit, and sends nothing more. */
Test(network, a_receiver_whose_gpu_is_late_lets_the_sender_wait_for_its_peer)
{
	struct ranks ranks;

	network_watch("2", NETWORK);
	ranks_start(&ranks, 2, busy_receiver_main);
	cr_assert(watched_reaches(&watched(1)->steps_in[STATE_RECV_GPU_WAIT], LINK_STEPS));
	cr_assert(watched_reaches(&watched(0)->steps_started, 2 * LINK_STEPS));
	cr_assert(watched_reaches(&watched(0)->steps_in[STATE_SEND_PEER_WAIT], 1));
	cr_expect_eq(watched(0)->steps_ended, LINK_STEPS);
	cr_expect_eq(watched(0)->steps_in[STATE_SEND_WAIT], 0);
	cr_expect_eq(watched(1)->steps_started, LINK_STEPS);
	atomic_store(&watched(1)->go, 1);
	ranks_join(&ranks);
}

static void late_receiver_main(struct rank *rank)
{
	if (rank->rank == 1)
		wait_for_go(&watched(1)->go);
	transfer(rank);
}

Test(network, a_receiver_that_has_not_called_gives_no_credit_at_all)
{
	struct ranks ranks;

	network_watch("2", NETWORK);
	ranks_start(&ranks, 2, late_receiver_main);
	cr_assert(watched_reaches(&watched(0)->steps_started, LINK_STEPS));
	cr_assert(watched_reaches(&watched(0)->steps_in[STATE_SEND_PEER_WAIT], 1));
	cr_expect_eq(watched(0)->steps_ended + watched(0)->steps_in[STATE_SEND_WAIT], 0);
	cr_expect_eq(watched(1)->steps_started, 0);
	atomic_store(&watched(1)->go, 1);
	ranks_join(&ranks);
}

static void slow_link_main(struct rank *rank)
{
	if (rank->rank == 0)
		wire_free = &watched(0)->go;
	transfer(rank);
}

/* Both GPUs and the receiver are ready: what is not done is on the wire. */
Test(network, a_slow_link_shows_as_bytes_on_the_wire_and_nowhere_else)
{
	struct ranks ranks;

	network_watch("2", NETWORK);
	ranks_start(&ranks, 2, slow_link_main);
	cr_assert(watched_reaches(&watched(1)->steps_in[STATE_RECV_WAIT], LINK_STEPS));
	cr_assert(watched_reaches(&watched(0)->steps_in[STATE_SEND_WAIT], LINK_STEPS));
	cr_expect_eq(watched(0)->steps_started, LINK_STEPS);
	atomic_store(&watched(0)->go, 1);
	ranks_join(&ranks);
}

static void collectives_main(struct rank *rank)
{
	size_t count = 200000;
	float *buffer = device_alloc(count * sizeof(*buffer));

	CHECK(watched(rank->rank)->nodes == 2);
	for (size_t i = 0; i < count; i++)
		buffer[i] = 1;
	for (int i = 0; i < 3; i++)
		NCCL(ncclAllReduce(buffer, buffer, count, ncclFloat32, ncclSum, rank->comm, rank->stream));
	CU(cuStreamSynchronize(rank->stream));
	for (size_t i = 0; i < count; i++)
		CHECK(buffer[i] == 64);
	/* One to and one from the rank of the other host that has the same place there. */
	CHECK(watched_reaches(&watched(rank->rank)->transfers_ended, 6));
	CHECK(watched(rank->rank)->bytes_sent == watched(rank->rank)->bytes_received);
}

Test(network, a_collective_has_one_transfer_each_way_between_two_hosts)
{
	network_watch("2", NETWORK | EVENT_PROXY_CTRL);
	ranks_run(4, collectives_main);
	for (int rank = 0; rank < 4; rank++) {
		const struct watched *seen = watched(rank);
		cr_expect_eq(seen->transfers_started, 6);
		cr_expect_eq(seen->foreign + seen->restarts, 0);
		cr_expect_geq(seen->control_states[STATE_APPEND], 1);
		cr_expect_eq(seen->control_states[STATE_APPEND], seen->control_states[STATE_APPEND_END]);
		cr_expect_geq(seen->control_states[STATE_SLEEP], 1);
		cr_expect_eq(seen->control_states[STATE_SLEEP], seen->control_states[STATE_WAKEUP]);
		cr_expect_geq(seen->control_states[STATE_ACTIVE], 1);
	}
}

static void survivor_main(struct rank *rank)
{
	float *buffer = device_alloc(sizeof(*buffer));
	uint64_t until = now_ns() + 30000000000u;
	ncclResult_t error = ncclSuccess;

	connect_ranks(rank);
	if (rank->rank == 2)
		for (;;)
			pause();
	NCCL(ncclAllReduce(buffer, buffer, 1, ncclFloat32, ncclSum, rank->comm, rank->stream));
	atomic_store(&watched(rank->rank)->ready, 1);
	while (error == ncclSuccess && now_ns() < until) {
		NCCL(ncclCommGetAsyncError(rank->comm, &error));
		usleep(1000);
	}
	CHECK(error == ncclRemoteError);
	NCCL(ncclCommAbort(rank->comm));
	rank->comm = NULL;
	atomic_store(&watched(rank->rank)->ready, 2);
}

Test(network, the_death_of_a_rank_on_another_host_is_an_asynchronous_error_of_all_who_wait_for_it)
{
	struct ranks ranks;

	network_watch("3", NETWORK);
	ranks_start(&ranks, 3, survivor_main);
	for (int rank = 0; rank < 2; rank++)
		cr_assert(watched_reaches(&watched(rank)->ready, 1));
	kill(ranks.pids[2], SIGKILL);
	for (int rank = 0; rank < 2; rank++)
		cr_assert(watched_reaches(&watched(rank)->ready, 2));
}

static int run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int run(const char *format, ...)
{
	char command[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	return system(command);
}

/* A process whose network namespace lives as long as this test. */
static pid_t hold_network(void)
{
	int ready[2];
	char byte;

	cr_assert_eq(pipe(ready), 0);
	pid_t holder = fork();
	if (holder == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET) == 0 && write(ready[1], "", 1) == 1)
			pause();
		_Exit(1);
	}
	close(ready[1]);
	ssize_t got = read(ready[0], &byte, 1);
	close(ready[0]);
	return got == 1 ? holder : -1;
}

/* A link that was set up runs a moment later, and NCCL takes none that does not. */
static bool links_run(pid_t holder)
{
	return run("for i in $(seq 200); do ip link show rwa%d | grep -q 'state UP' && "
		   "nsenter -t %d -n ip link show rwb%d | grep -q 'state UP' && exit 0; sleep 0.05; done; exit 1",
		   holder, holder, holder) == 0;
}

static bool join_networks(pid_t holder)
{
	int net = holder / 64 % 256, first = holder % 64 * 4;

	return run("ip link add rwa%d type veth peer name rwb%d netns %d", holder, holder, holder) == 0 &&
	       run("ip addr add 10.213.%d.%d/30 dev rwa%d && ip link set rwa%d up", net, first + 1, holder, holder) ==
		   0 &&
	       run("nsenter -t %d -n ip addr add 10.213.%d.%d/30 dev rwb%d", holder, net, first + 2, holder) == 0 &&
	       run("nsenter -t %d -n ip link set rwb%d up", holder, holder) == 0 && links_run(holder);
}

static void send_main(struct rank *rank)
{
	transfer(rank);
}

Test(network, ranks_of_different_network_namespaces_find_each_other)
{
	struct ranks ranks;
	char text[64];

	if (geteuid() != 0)
		cr_skip_test("needs root: a network namespace");
	pid_t holder = hold_network();
	if (holder < 0 || !join_networks(holder))
		cr_skip_test("no network namespace, ip or veth here");
	snprintf(text, sizeof(text), "/proc/%d/ns/net", holder);
	setenv("TEST_NETNS", text, 1);
	snprintf(text, sizeof(text), "=rwa%d,rwb%d", holder, holder);
	setenv("NCCL_SOCKET_IFNAME", text, 1);
	network_watch("2", NETWORK);
	ranks_start(&ranks, 2, send_main);
	cr_expect(watched_reaches(&watched(0)->transfers_ended, 1));
	kill(holder, SIGKILL); /* the last rank is in the namespace now */
	ranks_join(&ranks);
}

Test(network, interfaces_are_chosen_by_prefix_by_name_or_by_what_they_are_not)
{
	cr_expect(interface_matches("eth", "eth0"));
	cr_expect(interface_matches("ib,eth0", "eth0:1"));
	cr_expect(!interface_matches("eth0", "eth"));
	cr_expect(interface_matches("=eth0,=eth1", "eth0"));
	cr_expect(!interface_matches("=eth0", "eth01"));
	cr_expect(!interface_matches("^docker,lo", "lo"));
	cr_expect(interface_matches("^docker,lo", "eth0"));
	cr_expect(interface_matches("^=eth0", "eth01"));
	cr_expect(interface_matches("eth0:4711", "eth0"));
}
