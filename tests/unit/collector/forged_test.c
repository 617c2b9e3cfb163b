/* SPDX-License-Identifier: MIT */
/* Black boxes that point at processes which their owner may not look at: nothing of those is told. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/proc_stat.h"
#include "blackbox/writer.h"
#include "box_process.h"
#include "collector/watch.h"
#include "fake_analysis.h"
#include "lock_liar.h"
#include "other_user.h"

#define SECOND UINT64_C(1000000000)

static uv_loop_t loop;
static struct analysis *analysis;
static struct watch watch;
static char places[1][BOX_PLACE_PATH], secret[BOX_PLACE_PATH + 16], box[BOX_PLACE_PATH + 64];
static pid_t writer, liar; /* liar: shows the owner's copy at places[0], while it is there */

/* A process of `uid` that records, and waits in read(2) on a file. */
static void __attribute__((noreturn)) record_and_read(uid_t uid, int ready)
{
	static struct box_writer made;
	const struct box_request request = { .directory = places[0], .job = "j", .rank = 3, .history_bytes = 1 << 20 };
	int fd = open(secret, O_RDWR);
	char byte;

	alarm(60); /* whatever becomes of the test */
	if (uid != geteuid() && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid) || prctl(PR_SET_DUMPABLE, 1)))
		_exit(1);
	if (fd < 0 || box_writer_create(&made, &request) || !*made.path)
		_exit(1);
	snprintf(made.header->job, sizeof(made.header->job), "j");
	made.header->world_rank = 3;
	made.communicators[0].id = 1;
	made.communicators[0].nranks = 8;
	made.header->comms_used = 1;
	made.communicators[0].created_ns = made.header->created_ns;
	if (write(ready, "", 1) == 1)
		read(fd, &byte, 1);
	_exit(1);
}

/* What it waits for is there to be seen when it sleeps: after its last word it does so in read(2) only. */
static void await_sleep(pid_t pid)
{
	char path[64], line[1024];
	const char *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	do {
		FILE *file = fopen(path, "re");

		cr_assert(file && fgets(line, sizeof(line), file));
		fclose(file);
		state = proc_stat_text(line, PROC_STAT_STATE);
		cr_assert(state && *state != 'Z', "%s", line);
	} while (*state != 'S' && !sched_yield());
}

static void start_writer(uid_t uid)
{
	int ready[2];
	char byte;

	cr_assert_eq(pipe(ready), 0);
	writer = fork();
	if (writer == 0)
		record_and_read(uid, ready[1]);
	close(ready[1]);
	cr_assert_eq(read(ready[0], &byte, 1), 1, "the box could not be made");
	close(ready[0]);
	await_sleep(writer);
	snprintf(box, sizeof(box), "%s/rank3-%d" RW_BOX_SUFFIX, places[0], (int)writer);
}

static void set_up(void)
{
	uv_loop_init(&loop);
	analysis = analysis_new(false, NULL, NULL);
	analysis->suspect = 1;
	snprintf(places[0], sizeof(places[0]), "%s", box_process_directory());
	snprintf(secret, sizeof(secret), "%s/secret", places[0]);
	cr_assert_eq(mkfifo(secret, 0600), 0);
}

static void tear_down(void)
{
	watch_close(&watch);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
	analysis_free(analysis);
	if (liar > 0)
		lock_liar_end(liar, places[0]);
	box_process_kill(writer);
	box_process_cleanup();
}

TestSuite(forged, .init = set_up, .fini = tear_down, .timeout = 30);

/* What is said on stderr while the box is watched for some rounds, as root's collector with a directory of anybody's
 * boxes does it. */
static const char *watch_for_a_while(void)
{
	static char text[4096];
	const struct watch_request request = {
		.loop = &loop,
		.analysis = analysis,
		.root = "",
		.job = "j",
		.owner = (uid_t)-1,
		.places = places,
		.place_count = 1,
		.now_ns = 1,
		.kernel_log = "/dev/null",
	};
	int saved = dup(STDERR_FILENO);
	FILE *file = tmpfile();

	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	cr_assert_eq(watch_open(&watch, &request), 0);
	uint64_t now_ns = uv_hrtime();
	watch_catch_up(&watch, now_ns);
	for (int i = 1; i < 20; i++)
		watch_tick(&watch, now_ns + (uint64_t)i * SECOND);
	fflush(stderr);
	dup2(saved, STDERR_FILENO);
	close(saved);
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static unsigned times(const char *text, const char *part)
{
	unsigned count = 0;

	while ((text = strstr(text, part))) {
		text++;
		count++;
	}
	return count;
}

Test(forged, a_box_of_its_own_process_shows_what_that_waits_for)
{
	start_writer(geteuid());
	const char *said = watch_for_a_while();

	cr_expect_eq(times(said, "not watched"), 0, "%s", said);
	cr_expect_gt(analysis->waits, 0);
	cr_expect_str_eq(analysis->last_path, secret);
	cr_expect_not(analysis->pid_unproven);
}

Test(forged, root_sees_what_a_users_process_waits_for_and_that_user_may_see)
{
	if (geteuid() != 0)
		cr_skip_test("only root watches the processes of others");
	cr_assert_eq(chown(places[0], OTHER_USER, OTHER_USER), 0);
	start_writer(OTHER_USER);
	const char *said = watch_for_a_while();

	cr_expect_eq(times(said, "not watched"), 0, "%s", said);
	cr_expect_gt(analysis->waits, 0);
	cr_expect_str_eq(analysis->last_path, secret);
}

Test(forged, one_that_points_at_roots_process_tells_nothing_of_it)
{
	if (geteuid() != 0)
		cr_skip_test("only root can make a file of another user");
	start_writer(0);
	cr_assert_eq(chown(box, OTHER_USER, OTHER_USER), 0);
	const char *said = watch_for_a_while();

	cr_expect_eq(analysis->processes, 1, "the box itself is read");
	cr_expect_eq(analysis->waits, 0);
	cr_expect_str_empty(analysis->last_path);
	cr_expect(analysis->pid_unproven);
	cr_expect_eq(times(said, "points at a process that is not watched"), 1, "said once, with the reason: %s", said);
	cr_expect(strstr(said, "asked for as one of uid 4242's"), "%s", said);
}

Test(forged, one_whose_process_has_ended_and_whose_pid_is_anothers_tells_nothing_of_that)
{
	uint64_t start;
	start_writer(geteuid());
	int fd = open(box, O_RDWR | O_CLOEXEC);
	off_t at = offsetof(struct rw_box_header, start_time_ticks);

	cr_assert_eq(pread(fd, &start, sizeof(start), at), (ssize_t)sizeof(start));
	start--;
	cr_assert_eq(pwrite(fd, &start, sizeof(start), at), (ssize_t)sizeof(start));
	close(fd);
	const char *said = watch_for_a_while();

	cr_expect_eq(analysis->waits, 0);
	cr_expect_eq(times(said, "it is another process"), 1, "%s", said);
}

/* The owner's copy of the writer's box, on the owner's file system, which says that the writer holds its lock. What is
 * said of it is good until the next call. */
static const char *watch_through_a_liar(void)
{
	char here[BOX_PLACE_PATH + 16], by[BOX_PLACE_PATH + 32], command[4 * BOX_PLACE_PATH + 128];
	const char *why;

	snprintf(here, sizeof(here), "%s/shown", places[0]);
	snprintf(by, sizeof(by), "%s/shown.by", places[0]);
	snprintf(command, sizeof(command), "mkdir '%s' '%s' && cp '%s' '%s/' && chown -R %d '%s'", here, by, box, by,
		 OTHER_USER, by);
	cr_assert_eq(system(command), 0);
	liar = lock_liar_start(by, here, writer, &why);
	if (liar < 0)
		cr_skip_test("%s", why);
	snprintf(places[0], sizeof(places[0]), "%s", here);
	return watch_for_a_while();
}

/* What its header says of root's process everybody can read. */
Test(forged, one_whose_file_system_says_that_roots_process_holds_its_lock_tells_nothing_of_that)
{
	if (geteuid() != 0)
		cr_skip_test("only root can mount a file system for all users, and make a file of another user");
	start_writer(0);
	const char *said = watch_through_a_liar();

	cr_expect_eq(analysis->processes, 1, "the box itself is read: %s", said);
	cr_expect_eq(analysis->waits, 0);
	cr_expect_str_empty(analysis->last_path);
	cr_expect_eq(times(said, "points at a process that is not watched"), 1, "said once, with the reason: %s", said);
	cr_expect(strstr(said, "asked for as one of uid 4242's"), "%s", said);
}

/* So it is whose process it is that decides above, not the file system. */
Test(forged, one_whose_file_system_says_that_its_owners_process_holds_its_lock_is_watched)
{
	if (geteuid() != 0)
		cr_skip_test("only root can mount a file system for all users, and make a process of another user");
	cr_assert_eq(chown(places[0], OTHER_USER, OTHER_USER), 0);
	start_writer(OTHER_USER);
	const char *said = watch_through_a_liar();

	cr_expect_eq(times(said, "not watched"), 0, "%s", said);
	cr_expect_gt(analysis->waits, 0);
	cr_expect_str_eq(analysis->last_path, secret);
}
