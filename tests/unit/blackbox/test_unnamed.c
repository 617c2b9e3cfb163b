/* SPDX-License-Identifier: MIT */
/* What is left of boxes whose makers were killed goes, and nothing else does. */
#include <criterion/criterion.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blackbox/unnamed.h"
#include "blackbox/writer.h"

static char path[64];
static int directory;

static void remove_directory(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", path);
	if (system(command))
		fprintf(stderr, "%s failed\n", command);
}

static void begin(void)
{
	snprintf(path, sizeof(path), "/dev/shm/rankwatch-test-XXXXXX");
	cr_assert(mkdtemp(path));
	atexit(remove_directory);
	directory = open(path, O_PATH | O_DIRECTORY);
	cr_assert_geq(directory, 0);
}

static bool exists(const char *name)
{
	return faccessat(directory, name, F_OK, 0) == 0;
}

static void make_file(const char *name)
{
	int fd = openat(directory, name, O_RDWR | O_CREAT | O_EXCL, 0600);

	cr_assert_geq(fd, 0);
	close(fd);
}

static void make_box(struct box_writer *writer)
{
	struct box_request request = { .directory = path, .job = "test", .local_ranks = 1, .history_bytes = 1 << 20 };

	cr_assert_eq(box_writer_create(writer, &request), 0);
	cr_assert_eq(strncmp(writer->path, path, strlen(path)), 0, "%s", writer->note);
}

/* A process in the middle of making a box; its pid, and the file's name. */
static pid_t start_maker(char name[BOX_UNNAMED])
{
	int ends[2];

	cr_assert_eq(pipe(ends), 0);
	pid_t maker = fork();
	if (maker == 0) {
		if (box_unnamed_make(directory, name) < 0 || write(ends[1], name, BOX_UNNAMED) != BOX_UNNAMED)
			_exit(1);
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* must not outlive a test that is ended */
		for (;;)
			pause();
	}
	cr_assert_eq(read(ends[0], name, BOX_UNNAMED), BOX_UNNAMED);
	close(ends[0]);
	close(ends[1]);
	return maker;
}

static void end_maker(pid_t maker)
{
	cr_assert_eq(kill(maker, SIGKILL), 0);
	cr_assert_eq(waitpid(maker, NULL, 0), maker);
}

Test(unnamed, the_next_box_removes_what_a_killed_maker_left)
{
	struct box_writer writer;
	char name[BOX_UNNAMED];

	begin();
	end_maker(start_maker(name));
	cr_assert(exists(name));
	make_box(&writer);
	cr_expect_not(exists(name));
	cr_expect_eq(access(writer.path, F_OK), 0);
}

Test(unnamed, a_box_that_is_being_made_stays)
{
	struct box_writer writer;
	char name[BOX_UNNAMED];

	begin();
	pid_t maker = start_maker(name);
	make_box(&writer);
	cr_expect(exists(name));
	end_maker(maker);
}

Test(unnamed, a_pid_that_lives_again_or_in_another_namespace_does_not_keep_it)
{
	char name[BOX_UNNAMED];

	begin();
	snprintf(name, sizeof(name), ".%d-1.new", (int)getppid());
	make_file(name);
	box_unnamed_clear(directory);
	cr_expect_not(exists(name));
}

Test(unnamed, files_of_other_names_stay)
{
	static const char *const names[] = { "rank0-1.rwbox", "1-1.new", ".1-1.new.txt", ".1-.new", ".-1.new",
					     ".a-1.new",      ".1-1new", ".new",         ".1" };

	begin();
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		make_file(names[i]);
	box_unnamed_clear(directory);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect(exists(names[i]), "%s", names[i]);
}

/* One process clears without a pause while this one makes: whoever loses the race makes another. */
Test(unnamed, clearing_never_takes_a_file_from_its_maker)
{
	char name[BOX_UNNAMED];

	begin();
	pid_t clearer = fork();
	if (clearer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* must not outlive a test that is ended */
		for (;;)
			box_unnamed_clear(directory);
	}
	for (int i = 0; i < 20000; i++) {
		int fd = box_unnamed_make(directory, name);

		if (fd < 0)
			continue; /* lost every time: said, and nothing is left */
		cr_assert(exists(name), "round %d", i);
		cr_assert_eq(unlinkat(directory, name, 0), 0);
		close(fd);
	}
	end_maker(clearer);
}
