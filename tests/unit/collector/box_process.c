/* SPDX-License-Identifier: MIT */
#include "box_process.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blackbox/writer.h"

static char directory[64] = "";
static int answers = -1; /* a byte for each thing that the process started last has done */

const char *box_process_directory(void)
{
	if (!*directory) {
		strcpy(directory, "/dev/shm/rankwatch-test-XXXXXX");
		cr_assert(mkdtemp(directory));
	}
	return directory;
}

void box_process_cleanup(void)
{
	char command[128];

	if (!*directory)
		return;
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	cr_expect_eq(system(command), 0);
}

static void __attribute__((noreturn)) be_a_rank(const char *where, const char *job, uint64_t communicator, int ready)
{
	static struct box_writer writer;
	const struct box_request request = { .directory = where, .job = job, .rank = 3, .history_bytes = 1 << 20 };

	sigset_t asked;
	uint64_t ticket;
	int number;

	alarm(60); /* whatever becomes of the test */
	sigemptyset(&asked);
	sigaddset(&asked, SIGUSR1);
	sigprocmask(SIG_BLOCK, &asked, NULL);
	if (box_writer_create(&writer, &request) || !*writer.path)
		_exit(1);
	snprintf(writer.header->job, sizeof(writer.header->job), "%s", job);
	writer.header->world_rank = 3;
	writer.communicators[0].id = communicator;
	writer.communicators[0].nranks = 8;
	writer.header->comms_used = 1;
	writer.communicators[0].created_ns = writer.header->created_ns;
	while (write(ready, "", 1) == 1 && !sigwait(&asked, &number)) {
		struct rw_operation *slot = box_claim(&writer, RW_OWNER_HOST, &ticket);

		if (slot)
			box_publish(slot, ticket);
	}
	_exit(1);
}

pid_t box_process_start(const char *where, const char *job, uint64_t communicator)
{
	int ready[2];
	char byte;

	cr_assert_eq(pipe(ready), 0);
	pid_t pid = fork();

	if (pid == 0) {
		close(ready[0]);
		be_a_rank(where, job, communicator, ready[1]);
	}
	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 1, "the rank could not make its box in %s", where);
	if (answers >= 0)
		close(answers);
	answers = ready[0];
	return pid;
}

void box_process_call(pid_t pid)
{
	char byte;

	cr_assert_eq(kill(pid, SIGUSR1), 0);
	cr_assert_eq(read(answers, &byte, 1), 1);
}

void box_process_kill(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}
