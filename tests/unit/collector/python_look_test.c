/* SPDX-License-Identifier: MIT */
/* Looks at the machine's own Python interpreter, skipped aloud where there is none, or none that may be read.
 * RANKWATCH_TEST_PYTHON=/path/to/python3.13: at another one. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ancestor.h"
#include "base/clock.h"
#include "base/yama.h"
#include "collector/sources/python/python_sampler.h"

static const char *interpreter(void)
{
	const char *other = getenv("RANKWATCH_TEST_PYTHON");

	return other ? other : "/usr/bin/python3";
}

struct rank {
	pid_t child, pid;
	FILE *words;
	int input;
	struct writer_process writer;
};

static void skip_without(void)
{
	if (access(interpreter(), X_OK))
		cr_skip("no %s", interpreter());
	if (yama_scope() && geteuid())
		cr_skip("Yama's ptrace_scope is %u, and this is not root", yama_scope());
}

static struct rank begin(const char *what)
{
	struct rank rank = { 0 };
	int out[2], in[2];
	char line[64], why[WRITER_PROCESS_WHY];

	cr_assert_eq(pipe(out), 0);
	cr_assert_eq(pipe(in), 0);
	rank.child = fork();
	if (!rank.child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		for (int i = 0; i < 2; i++) {
			close(in[i]);
			close(out[i]);
		}
		execl(interpreter(), interpreter(), "-X", "utf8", PYTHON_RANK, what, (char *)NULL);
		_exit(127);
	}
	close(out[1]);
	close(in[0]);
	rank.input = in[1];
	rank.words = fdopen(out[0], "r");
	rank.pid = rank.child;
	while (fgets(line, sizeof(line), rank.words) && strcmp(line, "ready\n"))
		sscanf(line, "pid %d", &rank.pid);
	cr_assert_str_eq(line, "ready\n", "%s has not begun", what);
	int pidfd = (int)syscall(SYS_pidfd_open, rank.pid, 0);

	cr_assert_geq(pidfd, 0);
	cr_assert_eq(writer_process_adopt(&rank.writer, pidfd, getuid(), why), 0, "%s", why);
	return rank;
}

static void end(struct rank *rank)
{
	kill(rank->pid, SIGKILL);
	kill(rank->child, SIGKILL);
	waitpid(rank->child, NULL, 0);
	writer_process_close(&rank->writer);
	fclose(rank->words);
	close(rank->input);
}

static void look(const struct rank *rank, struct python_seen *seen)
{
	struct python_sampler request;

	cr_assert_eq(python_sampler_open(&request, &rank->writer, (uint32_t)rank->pid, -1), 0);
	int err = python_sampler_take(&request, seen);

	/* A busy machine may give the look less than its second: the next is another. */
	cr_assert(!err || err == -ETIMEDOUT, "%s", strerror(-err));
	python_sampler_close(&request);
	if (err)
		seen->error = err;
	if (seen->error == -ENOTSUP) {
		fprintf(stderr, "skipped: version 0x%08x of Python is not known\n", seen->view.version);
		exit(0);
	}
}

/* Looks until the main thread stands in this function: it says that it is ready just before. */
static const struct python_thread *await(const struct rank *rank, const char *function, struct python_seen *seen)
{
	for (int i = 0; i < 600; i++) {
		look(rank, seen);
		const struct python_thread *main = python_view_thread(&seen->view, (uint32_t)rank->pid);

		if (!seen->error && main && !strcmp(main->own.function, function) && main->own.line)
			return main;
		usleep(50000);
	}
	cr_assert_fail("its main thread never stood in %s", function);
	return NULL;
}

/* The line of the script that says "NAME is here". */
static int line_of(const char *name)
{
	char line[256], mark[64];
	FILE *script = fopen(PYTHON_RANK, "re");
	int number = 0;

	snprintf(mark, sizeof(mark), "# %s is here", name);
	for (bool found = false; script && !found && fgets(line, sizeof(line), script); number++)
		found = strstr(line, mark) != NULL;
	if (script)
		fclose(script);
	return number;
}

static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), tail = strlen(end);

	return length >= tail && !strcmp(text + length - tail, end);
}

Test(python_sampler, function_and_line_of_a_thread_that_waits)
{
	static struct python_seen seen;
	uint64_t before_ns = clock_monotonic_ns();

	skip_without();
	struct rank rank = begin("lock");
	const struct python_thread *main = await(&rank, "Trainer.save_checkpoint", &seen);

	while (main->own.line != line_of("save_checkpoint"))
		main = await(&rank, "Trainer.save_checkpoint", &seen);
	cr_expect(ends_with(main->own.file, "/python_rank.py"), "%s", main->own.file);
	cr_expect_str_eq(main->inner.function, "Trainer.save_checkpoint");
	cr_expect_eq(seen.view.holder, 0, "lock.acquire() lets the interpreter's lock go");
	cr_expect_not(seen.waits, "it waits for another lock");
	cr_expect_eq(seen.view.thread_count, 1);
	cr_expect_gt(seen.at_ns, before_ns);
	cr_expect_lt(seen.at_ns, clock_monotonic_ns());
	end(&rank);
}

Test(python_sampler, thread_that_holds_the_lock_of_the_interpreter)
{
	static struct python_seen seen;
	const struct python_thread *holder = NULL;

	skip_without();
	struct rank rank = begin("held");
	for (int i = 0; i < 600 && !(holder && seen.waits); i++) {
		await(&rank, "crunch", &seen);
		holder = python_view_thread(&seen.view, seen.view.holder);
		if (!holder || !seen.waits)
			usleep(20000);
	}
	cr_assert(seen.waits, "its main thread never waited for the lock");
	cr_assert_neq(holder, NULL);
	cr_expect_neq(holder->tid, (uint32_t)rank.pid);
	cr_expect_str_eq(holder->inner.function, "prefetch");
	cr_expect_eq(holder->inner.line, line_of("prefetch"));
	cr_expect_eq(seen.view.thread_count, 2);
	end(&rank);
}

/* Of a child that the rank forked, too: its interpreter's main thread has another number than its parent's. */
Test(python_sampler, child_of_a_fork)
{
	static struct python_seen seen;

	skip_without();
	struct rank rank = begin("fork");

	cr_assert_neq(rank.pid, rank.child);
	const struct python_thread *main = await(&rank, "read_socket", &seen);

	while (main->own.line != line_of("read_socket"))
		main = await(&rank, "read_socket", &seen);
	end(&rank);
}

Test(python_sampler, names_that_are_long_and_not_ascii)
{
	static struct python_seen seen;

	skip_without();
	struct rank rank = begin("name");
	/* Cut where no more bytes fit, between two characters. */
	const struct python_thread *main =
	    await(&rank, "da\xc3\x9f_ist_ein_sehr_langer_name_einer_funktion_die_niemand_je_so_", &seen);

	cr_expect_lt(strlen(main->own.function), (size_t)PYTHON_VIEW_FUNCTION);
	end(&rank);
}

Test(python_sampler, garbage_collection)
{
	static struct python_seen seen;

	skip_without();
	struct rank rank = begin("gc");

	await(&rank, "Slow.__del__", &seen);
	cr_expect(seen.view.collecting, "version 0x%08x", seen.view.version);
	end(&rank);
}

/* Of the library's frames the innermost is told; what called them lies in the program. */
Test(python_sampler, wait_deep_in_calls)
{
	static struct python_seen seen;

	skip_without();
	struct rank rank = begin("deep");
	const struct python_thread *main = await(&rank, "deep", &seen);

	for (int i = 0; i < 600 && strcmp(main->inner.function, "Condition.wait"); i++) {
		usleep(20000);
		main = await(&rank, "deep", &seen);
	}
	cr_expect_str_eq(main->inner.function, "Condition.wait");
	cr_expect(ends_with(main->inner.file, "/threading.py"), "%s", main->inner.file);
	end(&rank);
}

static bool is_one_of(const char *function, const char *const *begins, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strncmp(function, begins[i], strlen(begins[i])))
			return true;
	return false;
}

/* All that a thread of the script can be in while it starts and runs, by where that is. */
static bool is_possible(const struct python_place *place)
{
	static const char *const own[] = { "crunch", "main", "<module>" };
	static const char *const library[] = { "Thread.", "Event.", "Condition." };

	if (!*place->function)
		return true;
	if (ends_with(place->file, "/python_rank.py"))
		return is_one_of(place->function, own, sizeof(own) / sizeof(*own));
	return ends_with(place->file, "/threading.py") &&
	       is_one_of(place->function, library, sizeof(library) / sizeof(*library));
}

/* Forty threads that run and pass the lock on: whatever is said of any of them is one of the functions that they can be
 * in. */
Test(python_sampler, threads_that_run_are_seen_in_what_they_run_or_nowhere)
{
	static struct python_seen seen;
	unsigned named = 0;

	skip_without();
	struct rank rank = begin("busy");
	for (int i = 0; i < 30 || (!named && i < 600); i++) {
		look(&rank, &seen);
		for (uint32_t k = 0; !seen.error && k < seen.view.thread_count; k++) {
			const struct python_place *place = &seen.view.threads[k].inner;

			cr_expect(is_possible(place), "%s (%s:%d)", place->function, place->file, place->line);
			named += *place->function != '\0';
		}
	}
	cr_expect_gt(named, 0);
	end(&rank);
}

static void *answer(void *argument)
{
	const int *fd = argument;
	struct pollfd wait = { .fd = *fd, .events = POLLIN };

	while (poll(&wait, 1, 30000) == 1 && ancestor_answer(*fd))
		;
	return NULL;
}

/* As where Yama closes it to us. */
Test(python_sampler, memory_that_an_ancestor_opens_for_us)
{
	static struct python_seen seen;
	struct python_sampler request;
	pthread_t thread;
	int ends[2];
	bool waited = false;

	skip_without();
	struct rank rank = begin("held");

	await(&rank, "crunch", &seen);
	cr_assert_eq(ancestor_pair(ends), 0);
	cr_assert_eq(pthread_create(&thread, NULL, answer, &ends[0]), 0);
	cr_assert_eq(python_sampler_open(&request, &rank.writer, (uint32_t)rank.pid, ends[1]), 0);
	close(request.files[PYTHON_SAMPLER_MEMORY]);
	request.files[PYTHON_SAMPLER_MEMORY] = -1;
	request.files[PYTHON_SAMPLER_ANCESTOR] = ends[1];
	for (int i = 0; i < 600 && !waited; i++) {
		if (python_sampler_take(&request, &seen) || seen.error)
			continue;
		const struct python_thread *main = python_view_thread(&seen.view, (uint32_t)rank.pid);

		waited = main && !strcmp(main->own.function, "crunch") && seen.waits && seen.view.holder;
	}
	cr_expect(waited, "its function, and that it waits for the interpreter's lock");
	python_sampler_close(&request);
	pthread_join(thread, NULL);
	end(&rank);
}

Test(python_sampler, process_without_an_interpreter)
{
	static struct python_seen seen;
	struct rank rank = { .pid = fork() };
	struct python_sampler request;
	char why[WRITER_PROCESS_WHY];

	if (!rank.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	if (yama_scope() && geteuid())
		cr_skip("Yama's ptrace_scope is %u, and this is not root", yama_scope());
	cr_assert_eq(writer_process_adopt(&rank.writer, (int)syscall(SYS_pidfd_open, rank.pid, 0), getuid(), why), 0);
	cr_assert_eq(python_sampler_open(&request, &rank.writer, (uint32_t)rank.pid, -1), 0);
	cr_assert_eq(python_sampler_take(&request, &seen), 0);
	cr_expect_eq(seen.error, -ENOENT);
	cr_expect_eq(seen.view.thread_count, 0);
	/* What has ended reads as nothing. */
	kill(rank.pid, SIGKILL);
	waitpid(rank.pid, NULL, 0);
	cr_assert_eq(python_sampler_take(&request, &seen), 0);
	cr_expect_neq(seen.error, 0);
	python_sampler_close(&request);
	cr_expect_eq(python_sampler_open(&request, &rank.writer, (uint32_t)rank.pid, -1), -ESRCH);
	cr_expect_eq(request.files[0], -1);
	writer_process_close(&rank.writer);
}
