/* SPDX-License-Identifier: MIT */
/* Which boxes of ended runs stay: boxes of real processes that have ended or live, in a directory of the test's own. */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "blackbox/evidence.h"
#include "blackbox/reader.h"
#include "blackbox/run_mark.h"
#include "console/boxes/box_removal.h"
#include "console/boxes/kept_boxes.h"
#include "protocol/lock.h"
#include "crafted_box.h"

static const char *top;

static void begin(void)
{
	top = crafted_directory();
	setenv("RANKWATCH_DIR", top, 1);
	unsetenv("XDG_RUNTIME_DIR");
}

TestSuite(kept_boxes, .init = begin, .timeout = 60);

struct made {
	char directory[128], path[PATH_MAX];
	pid_t process; /* that lives; 0 */
};

/* What a made box says of itself besides. */
struct looks {
	bool lives, beats, of_another_boot;
};

static void make_in_child(struct made *made, const char *job, int rank, uint64_t run, struct looks looks, int ready)
{
	struct box_writer writer;

	crafted_box(&writer, made->directory, job, rank, run);
	writer.header->created_realtime_ns = run * 1000000000;
	if (looks.beats) {
		struct timespec now;

		clock_gettime(CLOCK_MONOTONIC, &now);
		writer.header->drain_ns = (uint64_t)now.tv_sec * 1000000000;
	}
	if (looks.of_another_boot)
		writer.header->boot_id[0] ^= 1;
	if (write(ready, writer.path, strlen(writer.path)) < 0)
		_exit(1);
	while (looks.lives)
		pause();
	_exit(0);
}

/* A box of a run that began at second `run` of the epoch, by a process of its own. */
static struct made make(const char *job, int rank, uint64_t run, struct looks looks)
{
	struct made made = { 0 };
	int ends[2];

	snprintf(made.directory, sizeof(made.directory), "%s/%s", top, job);
	cr_assert_eq(pipe(ends), 0);
	pid_t child = fork();

	if (!child)
		make_in_child(&made, job, rank, run, looks, ends[1]);
	close(ends[1]);
	ssize_t length = read(ends[0], made.path, sizeof(made.path) - 1);

	cr_assert_gt(length, 0);
	close(ends[0]);
	if (looks.lives)
		made.process = child;
	else
		waitpid(child, NULL, 0);
	return made;
}

static void end(struct made *made)
{
	kill(made->process, SIGKILL);
	waitpid(made->process, NULL, 0);
}

static bool is_there(const struct made *made)
{
	return access(made->path, F_OK) == 0;
}

static struct kept_boxes trim(uint64_t limit)
{
	struct kept_boxes kept;

	cr_assert_eq(kept_boxes_trim(limit, &kept), 0);
	return kept;
}

static const struct looks ended = { 0 }, living = { .lives = true };

static uint64_t size_of(const struct made *made)
{
	struct stat status;

	cr_assert_eq(stat(made->path, &status), 0);
	return (uint64_t)status.st_blocks * 512;
}

Test(kept_boxes, the_newest_within_the_limit_stay_and_older_ones_go)
{
	struct made made[4];

	for (int i = 0; i < 4; i++) {
		char job[16];

		snprintf(job, sizeof(job), "job-%d", i);
		made[i] = make(job, 0, 1000 + (uint64_t)i, ended);
	}
	uint64_t one = size_of(&made[0]);
	struct kept_boxes kept = trim(2 * one + one / 2);

	cr_expect_eq(kept.removed, 2);
	cr_expect_eq(kept.removed_runs, 2);
	cr_expect_eq(kept.removed_bytes, 2 * one);
	cr_expect_eq(kept.held, 2);
	cr_expect_eq(kept.held_bytes, 2 * one);
	cr_expect_not(is_there(&made[0]));
	cr_expect_not(is_there(&made[1]));
	cr_expect(is_there(&made[2]));
	cr_expect(is_there(&made[3]));
	cr_expect_neq(access(made[0].directory, F_OK), 0, "an empty directory goes, too");
	cr_expect_eq(trim(2 * one + one / 2).removed, 0);
	cr_expect_eq(trim(KEPT_BOXES_ALL).removed, 0);
}

Test(kept_boxes, the_newest_and_the_newest_with_findings_stay_however_large)
{
	struct made old = make("old", 0, 1000, ended), found = make("found", 0, 2000, ended);
	struct made later = make("later", 0, 3000, ended), newest = make("newest", 0, 4000, ended);

	cr_assert_eq(run_mark_leave(old.directory, RUN_MARK_FINDINGS), 0);
	cr_assert_eq(run_mark_leave(found.directory, RUN_MARK_FINDINGS), 0);
	cr_assert_eq(run_mark_leave(later.directory, RUN_MARK_FAILED), 0);
	struct kept_boxes kept = trim(0);

	cr_expect_eq(kept.removed, 2);
	cr_expect_not(is_there(&old));
	cr_expect(is_there(&found));
	cr_expect_not(is_there(&later));
	cr_expect(is_there(&newest));
}

Test(kept_boxes, in_one_directory_a_mark_is_of_the_run_that_was_the_newest_when_it_was_left)
{
	struct made first = make("local", 0, 1000, ended), second = make("local", 1, 2000, ended);

	cr_assert_eq(run_mark_leave(second.directory, RUN_MARK_FINDINGS), 0);
	struct made other = make("other", 0, 3000, ended);

	trim(0);
	cr_expect_not(is_there(&first));
	cr_expect(is_there(&second));
	cr_expect(is_there(&other));
}

Test(kept_boxes, nothing_of_a_job_is_touched_of_which_a_process_lives)
{
	struct made newest = make("newest", 0, 9000, ended);
	struct made alive = make("running", 0, 1000, living), dead = make("running", 1, 500, ended);
	struct kept_boxes kept = trim(0);

	cr_expect_eq(kept.removed, 0);
	cr_expect_eq(kept.held, 1, "only what has ended counts");
	cr_expect(is_there(&alive));
	cr_expect(is_there(&dead));
	end(&alive);
	cr_expect_eq(trim(0).removed, 2);
	cr_expect(is_there(&newest));
}

Test(kept_boxes, a_job_whose_collector_works_is_not_touched)
{
	struct made newest = make("newest", 0, 9000, ended), quiet = make("restarting", 0, 1000, ended);
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/" LOCK_NAME, quiet.directory);
	int lock = open(path, O_RDWR | O_CREAT, 0600);

	cr_assert_eq(flock(lock, LOCK_EX), 0);
	cr_expect_eq(trim(0).removed, 0);
	close(lock);
	cr_expect_eq(trim(0).removed, 1);
	cr_expect(is_there(&newest));
	cr_expect_neq(access(quiet.directory, F_OK), 0);
}

Test(kept_boxes, a_heartbeat_of_the_last_seconds_is_life_and_another_boots_box_is_not_ours)
{
	struct made newest = make("newest", 0, 9000, ended);
	struct made beats = make("beats", 0, 1000, (struct looks){ .beats = true });
	struct made copied = make("copied", 0, 1000, (struct looks){ .of_another_boot = true });

	cr_expect_eq(trim(0).removed, 0);
	cr_expect(is_there(&newest));
	cr_expect(is_there(&beats));
	cr_expect(is_there(&copied));
}

static void write_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);

	cr_assert_geq(fd, 0, "%s", path);
	close(fd);
}

Test(kept_boxes, what_lies_there_besides_is_neither_waited_for_nor_touched)
{
	struct made newest = make("newest", 0, 9000, ended), old = make("old", 0, 1000, ended);
	char outside[128], name[256], link_to_directory[256], long_name[PATH_MAX];
	char many[NAME_MAX + 1] = "";

	/* A box that is to stay, and names that lead to it. */
	snprintf(outside, sizeof(outside), "%s-elsewhere", top);
	cr_assert_eq(mkdir(outside, 0700), 0);
	snprintf(name, sizeof(name), "%s/rank0-1.rwbox", outside);
	cr_assert_eq(rename(make("moved", 0, 100, ended).path, name), 0);
	snprintf(link_to_directory, sizeof(link_to_directory), "%s/linked", top);
	cr_assert_eq(symlink(outside, link_to_directory), 0);

	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/rank1-1.rwbox", old.directory);
	cr_assert_eq(symlink(name, path), 0);
	snprintf(path, sizeof(path), "%s/rank2-1.rwbox", old.directory);
	cr_assert_eq(mkfifo(path, 0600), 0);
	snprintf(path, sizeof(path), "%s/rank3-1.rwbox", old.directory);
	cr_assert_eq(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/rank4-1.rwbox", old.directory);
	write_file(path);
	memset(many, 'x', NAME_MAX - strlen(RW_BOX_SUFFIX));
	snprintf(long_name, sizeof(long_name), "%s/%s" RW_BOX_SUFFIX, old.directory, many);
	write_file(long_name);
	snprintf(path, sizeof(path), "%s/notes.txt", old.directory);
	write_file(path);

	cr_expect_eq(trim(0).removed, 1);
	cr_expect_not(is_there(&old));
	cr_expect(is_there(&newest));
	cr_expect_eq(access(name, F_OK), 0);
	cr_expect_eq(access(long_name, F_OK), 0);
	cr_expect_eq(access(path, F_OK), 0);
	unlink(name);
	rmdir(outside);
}

static void write_evidence(const struct made *made, char path[PATH_MAX])
{
	int directory = open(made->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_eq(evidence_write(directory, "job-host" EVIDENCE_SUFFIX, 1, "", 0), 0);
	snprintf(path, PATH_MAX, "%s/job-host" EVIDENCE_SUFFIX, made->directory);
	close(directory);
}

Test(kept_boxes, what_was_seen_live_goes_with_the_last_box_of_its_directory)
{
	struct made newest = make("newest", 0, 9000, ended), gone = make("old", 0, 1000, ended),
		    stays = make("older", 0, 900, ended);
	char with_none[PATH_MAX], with_another[PATH_MAX], other[PATH_MAX];

	write_evidence(&gone, with_none);
	write_evidence(&stays, with_another);
	snprintf(other, sizeof(other), "%s/rank9-1.rwbox", stays.directory);
	write_file(other);
	cr_expect_eq(trim(0).removed, 2);
	cr_expect(is_there(&newest));
	cr_expect_neq(access(with_none, F_OK), 0);
	cr_expect_neq(access(gone.directory, F_OK), 0);
	cr_expect_eq(access(with_another, F_OK), 0);
}

Test(kept_boxes, another_users_box_and_a_top_directory_that_is_a_link_are_not_touched)
{
	struct made newest = make("newest", 0, 9000, ended), foreign = make("foreign", 0, 1000, ended);
	struct made old = make("old", 0, 500, ended);
	char alias[PATH_MAX];

	if (geteuid() == 0)
		cr_assert_eq(chown(foreign.path, 65534, 65534), 0);
	snprintf(alias, sizeof(alias), "%s-alias", top);
	cr_assert_eq(symlink(top, alias), 0);
	setenv("RANKWATCH_DIR", alias, 1);
	/* Then the usual places are looked at: in a directory of our own there is nothing. */
	setenv("XDG_RUNTIME_DIR", top, 1);
	kept_boxes_remove_run("old", 0, &(struct kept_boxes){ 0 });
	unlink(alias);
	cr_expect(is_there(&old));
	setenv("RANKWATCH_DIR", top, 1);
	trim(0);
	cr_expect_not(is_there(&old));
	cr_expect_eq(is_there(&foreign), geteuid() == 0);
	cr_expect(is_there(&newest));
}

Test(kept_boxes, who_reads_a_box_reads_on)
{
	struct made newest = make("newest", 0, 9000, ended), old = make("old", 0, 1000, ended);
	struct rw_communicator communicator;
	struct box_reader reader;

	cr_assert_eq(box_reader_open(&reader, AT_FDCWD, old.path, (uid_t)-1, NULL), 0);
	cr_expect_eq(trim(0).removed, 1);
	cr_expect_eq(box_reader_communicators(&reader, 0, 1, &communicator), 1);
	cr_expect_eq(communicator.id, 1000);
	box_reader_close(&reader);
	cr_expect(is_there(&newest));
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static struct kept_boxes remove_run(const char *job, uint64_t began_ns)
{
	struct kept_boxes kept;

	cr_assert_eq(kept_boxes_remove_run(job, began_ns, &kept), 0);
	return kept;
}

Test(kept_boxes, a_run_that_ended_well_takes_its_own_boxes_and_no_earlier_ones)
{
	struct made earlier = make("job", 0, 1000, ended), other = make("other", 0, 1000, ended);
	uint64_t began_ns = now_ns();
	struct made own = make("job", 1, 2000, ended);
	struct kept_boxes kept = remove_run("job", began_ns);

	cr_expect_eq(kept.removed, 1);
	cr_expect_not(is_there(&own));
	cr_expect(is_there(&earlier));
	cr_expect(is_there(&other));
}

Test(kept_boxes, ranks_of_other_launchers_go_with_those_that_they_shared_communicators_with)
{
	struct made theirs = make("job", 0, 2000, ended);
	uint64_t began_ns = now_ns();
	struct made own = make("job", 1, 2000, ended);

	cr_expect_eq(remove_run("job", began_ns).removed, 2);
	cr_expect_not(is_there(&theirs));
	cr_expect_not(is_there(&own));
}

Test(kept_boxes, what_another_launcher_marked_or_still_runs_stays)
{
	uint64_t began_ns = now_ns();
	struct made own = make("job", 0, 2000, ended), alive = make("job", 1, 2000, living);

	cr_expect_eq(remove_run("job", began_ns).removed, 0);
	end(&alive);
	kept_boxes_mark("job", RUN_MARK_FAILED); /* RANKWATCH_DIR is not the job's own here */
	cr_assert_eq(run_mark_leave(own.directory, RUN_MARK_FAILED), 0);
	cr_expect_eq(remove_run("job", began_ns).removed, 0);
	cr_expect(is_there(&own));
}

Test(kept_boxes, what_was_to_be_kept_is_not_removed_by_a_later_run)
{
	struct made kept = make("kept", 0, 1000, ended), older = make("other", 0, 900, ended),
		    newest = make("newest", 0, 9000, ended);

	cr_assert_eq(run_mark_leave(kept.directory, RUN_MARK_KEPT), 0);
	cr_expect_eq(trim(1).removed, 1);
	cr_expect(is_there(&kept));
	cr_expect(is_there(&newest));
	cr_expect_not(is_there(&older));
}

Test(kept_boxes, a_file_that_got_the_name_meanwhile_is_not_removed)
{
	struct made made = make("job", 0, 1000, ended);
	struct boxes boxes;
	uint64_t bytes;

	cr_assert_eq(boxes_open_in_memory(&boxes), 0);
	cr_assert_eq(boxes.count, 1);
	unlink(made.path);
	write_file(made.path);
	cr_expect_eq(box_remove(&boxes.entries[0], &bytes), -EBUSY);
	cr_expect_eq(bytes, 0);
	cr_expect(is_there(&made));
	boxes_close(&boxes);
}

Test(kept_boxes, limits_are_sizes_or_all)
{
	uint64_t limit;

	cr_expect_eq(kept_boxes_parse("4G", &limit), 0);
	cr_expect_eq(limit, UINT64_C(4) << 30);
	cr_expect_eq(kept_boxes_parse("all", &limit), 0);
	cr_expect_eq(limit, KEPT_BOXES_ALL);
	cr_expect_eq(kept_boxes_parse("everything", &limit), -EINVAL);
}
