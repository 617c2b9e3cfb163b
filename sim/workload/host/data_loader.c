/* SPDX-License-Identifier: MIT */
#include "sim/workload/host/data_loader.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/workload/job/clock.h"

enum { BATCH_BYTES = 16 << 10 };

struct data_loader {
	int ask, get; /* our ends */
	int take, give; /* the loader's */
	pid_t pid;
};

struct request {
	enum data_loader_work work;
	int ms;
};

static bool receive_all(int fd, void *data, size_t size)
{
	for (size_t have = 0; have < size;) {
		ssize_t count = read(fd, (char *)data + have, size - have);

		if (count <= 0)
			return false;
		have += count;
	}
	return true;
}

static bool send_all(int fd, const void *data, size_t size)
{
	for (size_t sent = 0; sent < size;) {
		ssize_t count = write(fd, (const char *)data + sent, size - sent);

		if (count <= 0)
			return false;
		sent += count;
	}
	return true;
}

/* Two ends of one TCP connection. */
static int connect_by_tcp(int ends[2])
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ends[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	ends[1] = -1;
	if (listener >= 0 && ends[0] >= 0 && !bind(listener, (struct sockaddr *)&address, size) &&
	    !listen(listener, 1) && !getsockname(listener, (struct sockaddr *)&address, &size) &&
	    !connect(ends[0], (struct sockaddr *)&address, size))
		ends[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	int err = ends[1] < 0 ? -errno : 0;
	if (listener >= 0)
		close(listener);
	return err;
}

static int connect_ends(struct data_loader *loader, bool remote)
{
	int ends[2], back[2];

	if (remote) {
		int err = connect_by_tcp(ends);

		loader->ask = loader->get = ends[0];
		loader->take = loader->give = ends[1];
		return err;
	}
	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	if (pipe2(back, O_CLOEXEC))
		return -errno;
	loader->take = ends[0];
	loader->ask = ends[1];
	loader->get = back[0];
	loader->give = back[1];
	return 0;
}

static void prepare(const struct request *request)
{
	uint64_t end_ns = clock_now_ns(CLOCK_MONOTONIC) + (uint64_t)request->ms * 1000000;

	while (request->work == DATA_LOADER_HANGS)
		pause();
	while (request->work == DATA_LOADER_COMPUTES && clock_now_ns(CLOCK_MONOTONIC) < end_ns)
		continue;
	if (request->work == DATA_LOADER_SLEEPS)
		clock_sleep_ms(request->ms);
}

static _Noreturn void serve(const struct data_loader *loader, pid_t parent)
{
	static const char batch[BATCH_BYTES];
	struct request request;

	prctl(PR_SET_NAME, "dataloader");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent && receive_all(loader->take, &request, sizeof(request))) {
		prepare(&request);
		if (!send_all(loader->give, batch, sizeof(batch)))
			break;
	}
	_exit(0);
}

int data_loader_start(struct data_loader **loader, bool remote)
{
	struct data_loader *started = calloc(1, sizeof(*started));
	pid_t self = getpid();

	*loader = started;
	if (!started)
		return -ENOMEM;
	int err = connect_ends(started, remote);
	if (err)
		return err;
	started->pid = fork();
	if (started->pid == 0)
		serve(started, self);
	return started->pid < 0 ? -errno : 0;
}

void data_loader_stop(struct data_loader *loader)
{
	if (!loader)
		return;
	kill(loader->pid, SIGKILL);
	waitpid(loader->pid, NULL, 0);
	free(loader);
}

void data_loader_next(struct data_loader *loader, enum data_loader_work work, int ms)
{
	const struct request request = { work, ms };
	char batch[BATCH_BYTES];

	if (send_all(loader->ask, &request, sizeof(request)) && receive_all(loader->get, batch, sizeof(batch)))
		return;
	fputs("workload: the data loader is gone\n", stderr);
	exit(1);
}
