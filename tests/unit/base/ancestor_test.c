/* SPDX-License-Identifier: MIT */
/* What an ancestor reads for a process that may not: between two children of this one, as a job and its collector are.
 * With Yama's ptrace_scope 1 and without root, that is the only way; elsewhere the kernel would let the second read the
 * first by itself. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ancestor.h"
#include "base/writer_process.h"
#include "base/yama.h"

enum { OTHER_USER = 4242 };

static char word[16] = "of the parent";
static int ends[2];

/* A process that waits in pause(2), with a word of its own at `word`. */
static pid_t start_job(const char *its_word, uid_t uid)
{
	int ready[2];
	char byte;

	cr_assert_eq(pipe(ready), 0);
	pid_t job = fork();

	if (!job) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]); /* nobody else keeps an end open */
		close(ends[1]);
		snprintf(word, sizeof(word), "%s", its_word);
		if ((uid != geteuid() && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))) || prctl(PR_SET_DUMPABLE, 1))
			_exit(1);
		if (write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return job;
}

static void end(pid_t job)
{
	kill(job, SIGKILL);
	waitpid(job, NULL, 0);
}

static struct ancestor_question question(pid_t pid)
{
	struct writer_process process;
	char why[WRITER_PROCESS_WHY];

	cr_assert_eq(writer_process_adopt(&process, (int)syscall(SYS_pidfd_open, pid, 0), (uid_t)-1, why), 0, "%s", why);
	struct ancestor_question asked = { .fd = ends[1], .pid = pid, .start_ticks = process.start_ticks };

	writer_process_close(&process);
	return asked;
}

static void answer_all(void)
{
	struct pollfd wait = { .fd = ends[0], .events = POLLIN };

	while (poll(&wait, 1, 30000) == 1 && ancestor_answer(ends[0]))
		;
}

/* Answers until nobody asks any more; the exit status of the one who asks in a child of this process. */
static int answer_for(int (*ask)(const struct ancestor_question *), const struct ancestor_question *asked)
{
	pid_t collector = fork();
	int status;

	if (!collector) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		_exit(ask(asked));
	}
	close(ends[1]);
	answer_all();
	cr_assert_eq(waitpid(collector, &status, 0), collector);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

static void set_up(void)
{
	cr_assert_eq(ancestor_pair(ends), 0);
}

TestSuite(ancestor, .init = set_up, .timeout = 60);

/* A busy machine may keep the other from answering in time. */
static int open_memory(const struct ancestor_question *asked)
{
	int fd = -ETIMEDOUT;

	for (int i = 0; i < 100 && fd == -ETIMEDOUT; i++)
		fd = ancestor_open_memory(asked);
	return fd;
}

/* 0: the word of the job is read. */
static int read_word(const struct ancestor_question *asked)
{
	char found[sizeof(word)] = "";
	int fd = open_memory(asked);
	bool right = fd >= 0 && pread(fd, found, sizeof(found), (off_t)(uintptr_t)word) == (ssize_t)sizeof(found) &&
		     !strcmp(found, "of the job");

	return !right;
}

Test(ancestor, memory_is_read_by_one_who_may_not_open_it)
{
	pid_t job = start_job("of the job", geteuid());
	struct ancestor_question asked = question(job);

	cr_expect_eq(answer_for(read_word, &asked), 0);
	end(job);
}

/* 1: the kernel lets one child open the memory of another. */
static int open_by_itself(const struct ancestor_question *asked)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)asked->pid);
	FILE *file = fopen(path, "re");

	return file ? 1 : errno == EACCES || errno == EPERM ? 0 : 2;
}

Test(ancestor, without_it_yama_refuses)
{
	if (yama_scope() != 1 || !geteuid())
		cr_skip_test("Yama's ptrace_scope is not 1 here, or this is root");
	pid_t job = start_job("of the job", geteuid());
	struct ancestor_question asked = question(job);

	cr_expect_eq(answer_for(open_by_itself, &asked), 0);
	end(job);
}

static int read_call_by_itself(const struct ancestor_question *asked)
{
	char path[64], line[ANCESTOR_LINE];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", (int)asked->pid, (int)asked->pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return errno == EACCES || errno == EPERM ? 0 : 2;
	errno = 0;
	bool read = fgets(line, sizeof(line), file);
	int status = read ? 1 : errno == EACCES || errno == EPERM ? 0 : 2;
	fclose(file);
	return status;
}

/* So samples of /proc by a collector hold no system call there: docs/host-evidence.md, "From /proc". */
Test(ancestor, without_it_yama_refuses_the_system_call)
{
	if (yama_scope() != 1 || !geteuid())
		cr_skip_test("Yama's ptrace_scope is not 1 here, or this is root");
	pid_t job = start_job("of the job", geteuid());
	struct ancestor_question asked = question(job);

	cr_expect_eq(answer_for(read_call_by_itself, &asked), 0);
	end(job);
}

/* In which pause() waits. */
#ifdef SYS_pause
enum { CALL_OF_PAUSE = SYS_pause };
#else
enum { CALL_OF_PAUSE = SYS_ppoll };
#endif

static int read_call(const struct ancestor_question *asked)
{
	char line[ANCESTOR_LINE];
	long number = -1;

	for (int i = 0; i < 500; i++) {
		int err = ancestor_read_call(asked, (uint32_t)asked->pid, line);

		if (err && err != -ETIMEDOUT)
			return 1;
		if (!err && sscanf(line, "%ld", &number) == 1 && number == CALL_OF_PAUSE)
			return 0;
		usleep(10000);
	}
	return 2;
}

Test(ancestor, system_call_of_a_thread)
{
	pid_t job = start_job("of the job", geteuid());
	struct ancestor_question asked = question(job);

	cr_expect_eq(answer_for(read_call, &asked), 0);
	end(job);
}

static int error_of_memory(const struct ancestor_question *asked)
{
	int fd = open_memory(asked);

	return fd < 0 ? -fd : 0;
}

Test(ancestor, nothing_is_read_of_a_process_that_started_at_another_time)
{
	pid_t job = start_job("of the job", geteuid());
	struct ancestor_question asked = question(job);

	asked.start_ticks++;
	cr_expect_eq(answer_for(error_of_memory, &asked), EPERM);
	end(job);
}

Test(ancestor, nothing_is_read_of_a_process_that_has_ended)
{
	pid_t job = start_job("of the job", geteuid());
	struct ancestor_question asked = question(job);

	end(job);
	cr_expect_eq(answer_for(error_of_memory, &asked), ESRCH);
}

Test(ancestor, nothing_is_read_of_another_users_process)
{
	if (geteuid())
		cr_skip_test("only root starts processes of others");
	pid_t job = start_job("of the job", OTHER_USER);
	struct ancestor_question asked = question(job);

	cr_expect_eq(answer_for(error_of_memory, &asked), EPERM);
	end(job);
}

Test(ancestor, who_gets_no_answer_goes_on)
{
	struct ancestor_question asked = question(getpid());

	cr_expect_eq(ancestor_open_memory(&asked), -ETIMEDOUT);
	close(ends[0]);
	cr_expect_eq(ancestor_open_memory(&asked), -EPIPE);
}

static int given_up[2];

/* The first question is answered when it has been given up: with what is no answer to the second. */
static int ask_again(const struct ancestor_question *asked)
{
	struct ancestor_question wrong = *asked;

	wrong.start_ticks++;
	if (ancestor_open_memory(&wrong) != -ETIMEDOUT || write(given_up[1], "", 1) != 1)
		return 1;
	return read_word(asked);
}

Test(ancestor, late_answer_is_not_taken_for_the_next_one)
{
	pid_t job = start_job("of the job", geteuid());
	struct ancestor_question asked = question(job);
	int status;
	char byte;

	cr_assert_eq(pipe(given_up), 0);
	pid_t collector = fork();

	if (!collector) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ends[0]);
		_exit(ask_again(&asked));
	}
	close(ends[1]);
	close(given_up[1]);
	cr_assert_eq(read(given_up[0], &byte, 1), 1);
	answer_all();
	cr_assert_eq(waitpid(collector, &status, 0), collector);
	cr_expect_eq(status, 0);
	end(job);
}

Test(ancestor, who_takes_no_answers_is_not_waited_for_and_who_asks_nonsense_is_left)
{
	static const char question_of_nobody[24];

	cr_expect(ancestor_answer(ends[0]), "nobody has asked");
	for (int i = 0; i < 2000; i++) {
		send(ends[1], question_of_nobody, sizeof(question_of_nobody), MSG_DONTWAIT);
		cr_assert(ancestor_answer(ends[0]));
	}
	/* When the questions are answered, as far as there is room for answers. */
	for (int i = 0; i < 2000; i++)
		cr_assert(ancestor_answer(ends[0]));
	cr_assert_eq(send(ends[1], "x", 1, MSG_DONTWAIT), 1);
	cr_expect_not(ancestor_answer(ends[0]));
}
