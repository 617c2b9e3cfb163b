/* SPDX-License-Identifier: MIT */
#include "two_ranks.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct two_ranks_board {
	ncclUniqueId id;
	int have_id;
	unsigned int turns; /* that rank 0 has decided about */
	unsigned int over;  /* the turn that is none */
};

void two_ranks_need(ncclResult_t result, const char *what)
{
	if (result == ncclSuccess)
		return;
	fprintf(stderr, "%s: %s: %s\n", what, ncclGetErrorString(result), ncclGetLastError(NULL));
	exit(1);
}

static void set_number(const char *name, int value)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", value);
	setenv(name, text, 1);
}

static void set_environment(const struct two_ranks *self, bool hosts)
{
	char host[16];

	set_number("RANK", self->number);
	set_number("LOCAL_RANK", hosts ? 0 : self->number);
	set_number("WORLD_SIZE", self->size);
	if (!hosts)
		return;
	snprintf(host, sizeof(host), "host-%d", self->number);
	setenv("NCCL_HOSTID", host, 1);
}

static void wait_for(const int *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		usleep(200);
}

static int (*rank_of_connected)(struct two_ranks *self);

static int connect_and_be(struct two_ranks *self)
{
	two_ranks_connect(self);
	return rank_of_connected(self);
}

void two_ranks_connect(struct two_ranks *self)
{
	if (self->number == 0) {
		NCCL_CHECK(ncclGetUniqueId(&self->board->id));
		__atomic_store_n(&self->board->have_id, 1, __ATOMIC_RELEASE);
	}
	wait_for(&self->board->have_id);
	NCCL_CHECK(ncclCommInitRank(&self->comm, self->size, self->board->id, self->number));
}

static int start(struct two_ranks *self, bool hosts, int (*be_rank)(struct two_ranks *self))
{
	set_environment(self, hosts);
	device_open(&self->device, self->number);
	self->stream = device_stream();
	int status = be_rank(self);

	if (self->comm)
		NCCL_CHECK(ncclCommDestroy(self->comm));
	return status;
}

int two_ranks_run(int size, bool hosts, int (*be_rank)(struct two_ranks *self))
{
	rank_of_connected = be_rank;
	return two_ranks_run_apart(size, hosts, connect_and_be);
}

int two_ranks_run_apart(int size, bool hosts, int (*be_rank)(struct two_ranks *self))
{
	struct two_ranks self = { .size = size };
	int status, worst = 0;

	self.board = mmap(NULL, sizeof(*self.board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (self.board == MAP_FAILED)
		return 1;
	for (; self.number < size; self.number++) {
		pid_t pid = fork();

		if (pid < 0)
			return 1;
		if (pid > 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(TWO_RANKS_LIMIT_S);
		exit(start(&self, hosts, be_rank));
	}
	while (wait(&status) > 0) {
		if (WIFSIGNALED(status))
			fprintf(stderr, "a rank was ended by signal %d\n", WTERMSIG(status));
		worst |= status;
	}
	return worst != 0;
}

void two_ranks_begin(struct two_ranks *self, double seconds)
{
	self->end_ns = device_host_ns() + (uint64_t)(seconds * 1e9);
}

bool two_ranks_again(struct two_ranks *self)
{
	struct two_ranks_board *board = self->board;

	self->turns++;
	if (self->number == 0) {
		if (device_host_ns() >= self->end_ns)
			board->over = self->turns;
		__atomic_store_n(&board->turns, self->turns, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(&board->turns, __ATOMIC_ACQUIRE) < self->turns)
		usleep(50);
	return board->over != self->turns;
}
