/* SPDX-License-Identifier: MIT */
/* How the plugin comes into a process, leaves it, and lives through a fork. Criterion forks per test. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/abi/player.h"

static int count_entries(const char *path)
{
	DIR *entries = opendir(path);
	int count = 0;

	cr_assert(entries, "%s", path);
	while (readdir(entries))
		count++;
	closedir(entries);
	return count;
}

static int count_lines(const char *path)
{
	FILE *file = fopen(path, "re");
	int count = 0;

	cr_assert(file, "%s", path);
	for (int c; (c = fgetc(file)) != EOF;)
		count += c == '\n';
	fclose(file);
	return count;
}

static bool has_box(const char *directory)
{
	return count_entries(directory) > 2; /* . and .. */
}

static uint32_t end_of_box(const char *directory)
{
	struct box_reader reader;

	player_read(&reader, directory);
	uint32_t end = reader.header.end;
	box_reader_close(&reader);
	return end;
}

Test(life, a_killed_process_leaves_a_box_that_says_running)
{
	const char *directory = player_directory();
	pid_t child = fork();

	if (child == 0) {
		struct player player;

		player_init(&player, player_load(), 5, 1, 0, 2);
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		raise(SIGKILL);
	}
	cr_assert_eq(waitpid(child, NULL, 0), child);
	cr_expect_eq(end_of_box(directory), RW_BOX_RUNNING);
}

/* Its pages in KiB that smaps says of mappings of the plugin's file: all that can be read, and those that are there. */
static void count_pages_of_plugin(long *all, long *present)
{
	FILE *file = fopen("/proc/self/smaps", "re");
	char line[512], rights[8];
	bool ours = false;
	long kib;

	cr_assert(file);
	*all = *present = 0;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%*x-%*x %7s", rights) == 1)
			ours = rights[0] == 'r' && strstr(line, "/libnccl-profiler-rankwatch.so");
		else if (ours && sscanf(line, "Size: %ld kB", &kib) == 1)
			*all += kib;
		else if (ours && sscanf(line, "Rss: %ld kB", &kib) == 1)
			*present += kib;
	}
	fclose(file);
}

Test(life, its_file_may_go_away_while_it_records)
{
	long all, present;
	struct player player;

	player_directory();
	player_init(&player, player_load(), 5, 1, 0, 2);
	count_pages_of_plugin(&all, &present);
	cr_expect_gt(all, 100);
	cr_expect_eq(present, all, "%ld of %ld KiB are there", present, all);
	player_finalize(&player);
}

Test(life, a_communicator_of_one_rank_makes_no_box)
{
	const char *directory = player_directory();
	struct player player;

	player_init(&player, player_load(), 5, 1, 0, 1);
	cr_expect(player.context, "NCCL calls finalize only for a context");
	cr_expect_eq(player.mask, 0);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	player_finalize(&player);
	cr_expect_not(has_box(directory));
}

Test(life, rankwatch_off_records_nothing)
{
	const char *directory = player_directory();
	struct player player;

	setenv("RANKWATCH", "off", 1);
	player_init(&player, player_load(), 6, 1, 0, 2);
	player_collective(&player, "AllReduce", 1, "ncclFloat32");
	player_finalize(&player);
	cr_expect_eq(player.mask, 0);
	cr_expect_not(has_box(directory));
}

Test(life, kernel_events_are_asked_for_only_on_request)
{
	struct player player;

	player_directory();
	setenv("RANKWATCH_KERNELCH", "1", 1);
	player_init(&player, player_load(), 5, 1, 0, 2);
	cr_expect(player.mask & PROFILER_KERNEL_CH);
}

Test(life, a_hundred_rounds_of_load_and_unload_grow_nothing)
{
	int descriptors = 0, threads = 0, maps = 0;
	struct player player;

	player_directory();
	for (int round = 0; round < 100; round++) {
		void *library = player_load();

		player_init(&player, library, 5, (uint64_t)round, 0, 2);
		cr_assert(player.mask);
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		player_p2p(&player, "Send", 1, 1);
		player_finalize(&player);
		dlclose(library);
		if (round != 9)
			continue;
		descriptors = count_entries("/proc/self/fd");
		threads = count_entries("/proc/self/task");
		maps = count_lines("/proc/self/maps");
	}
	cr_expect_eq(count_entries("/proc/self/fd"), descriptors);
	cr_expect_eq(count_entries("/proc/self/task"), threads);
	cr_expect_leq(count_lines("/proc/self/maps"), maps + 2, "malloc's own arenas may move");
}

Test(life, a_forked_child_touches_nothing_and_does_not_end_the_box)
{
	const char *directory = player_directory();
	struct player player;
	int status;

	player_init(&player, player_load(), 5, 1, 0, 2);
	pid_t child = fork();
	if (child == 0) {
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
		player_finalize(&player);
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect_eq(status, 0);
	cr_expect_eq(end_of_box(directory), RW_BOX_RUNNING);
}

Test(life, more_living_communicators_than_the_table_holds_are_counted_and_harmless)
{
	const char *directory = player_directory();
	void *library = player_load();
	struct box_reader reader;
	struct player player;

	for (int i = 0; i < RW_BOX_COMMS + 3; i++) {
		player_init(&player, library, 5, (uint64_t)i, 0, 2);
		player_collective(&player, "AllReduce", 1, "ncclFloat32");
	}
	player_read(&reader, directory);
	cr_expect_eq(reader.header.comms_used, RW_BOX_COMMS);
	cr_expect_eq(reader.header.comms_refused, 3);
	cr_expect_eq(reader.header.head, RW_BOX_COMMS);
}

/* What a start says on standard error, with the environment as it is. */
static void start_and_read(char *text, size_t size)
{
	char log[] = "/tmp/rankwatch-test-XXXXXX";
	int fd = mkstemp(log);
	struct player player;

	cr_assert(fd >= 0);
	setenv("RANKWATCH_LOG", log, 1);
	player_init(&player, player_load(), 5, 1, 0, 2);
	ssize_t length = read(fd, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
	close(fd);
	unlink(log);
}

Test(life, the_start_line_says_where_and_how_to_look)
{
	const char *directory = player_directory();
	char text[1024];

	unsetenv("RANKWATCH_QUIET");
	start_and_read(text, sizeof(text));
	cr_expect_eq(strncmp(text, "rankwatch: ", 11), 0);
	cr_expect(strstr(text, directory), "%s", text);
	cr_expect(strstr(text, "rankwatch findings"), "%s", text);
	cr_expect(strstr(text, "RANKWATCH=off"), "%s", text);
	const char *second = strchr(text, '\n') + 1;
	cr_expect_eq(strncmp(second, "rankwatch: note: ", 17), 0, "what is not seen: %s", text);
	cr_expect(strstr(second, "NaN and Inf are not looked for (scan: none: no CUDA driver)"), "%s", text);
	cr_expect_eq(strchr(second, '\n') + 1, text + strlen(text), "two lines: %s", text);
}

Test(life, a_misspelt_variable_and_a_wrong_value_are_one_line_each)
{
	char text[1024];

	player_directory();
	setenv("RANKWATCH_HISTROY", "8M", 1);
	setenv("RANKWATCH_GPU_TIME", "maybe", 1);
	start_and_read(text, sizeof(text));
	cr_expect(strstr(text, "RANKWATCH_HISTROY is not a variable of rankwatch; did you mean RANKWATCH_HISTORY?"),
		  "%s", text);
	cr_expect(strstr(text, "RANKWATCH_GPU_TIME=maybe is not one of auto|watermark|off; auto is used"), "%s",
		  text);
}

Test(life, a_rank_other_than_the_first_of_its_node_says_nothing)
{
	char text[1024];

	player_directory();
	unsetenv("RANKWATCH_QUIET");
	setenv("LOCAL_RANK", "3", 1);
	setenv("RANKWATCH_GPU_TIME", "maybe", 1);
	start_and_read(text, sizeof(text));
	cr_expect_str_eq(text, "");
}
