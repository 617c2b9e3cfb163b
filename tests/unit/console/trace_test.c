/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "console/trace/event.h"
#include "console/trace/flow_table.h"
#include "console/trace/group_table.h"
#include "console/trace/operation_arguments.h"
#include "console/trace/output.h"
#include "console/trace/rank_tracks.h"
#include "console/trace/slices.h"
#include "console/trace/stays.h"

/* Slices */

static struct slices ordered(const uint64_t (*times)[2], size_t count)
{
	struct slices slices = { 0 };

	for (size_t i = 0; i < count; i++)
		slices_add(&slices, &(struct slice){
					.begin_ns = times[i][0], .end_ns = times[i][1], .about = (uint32_t)i });
	slices_order(&slices);
	cr_assert_eq(slices.count, count);
	return slices;
}

static uint16_t lane_of(const struct slices *slices, uint32_t about)
{
	for (size_t i = 0; i < slices->count; i++)
		if (slices->list[i].about == about)
			return slices->list[i].lane;
	cr_assert_fail("no slice %u", about);
	return 0;
}

Test(slices, what_lies_inside_or_apart_shares_a_lane)
{
	static const uint64_t times[][2] = { { 0, 100 }, { 10, 20 }, { 10, 30 }, { 30, 100 }, { 100, 200 } };
	struct slices slices = ordered(times, 5);

	for (uint32_t i = 0; i < 5; i++)
		cr_expect_eq(lane_of(&slices, i), 0, "%u", i);
	cr_expect_eq(slices.list[1].about, 2, "the longer of two that begin together comes first");
	slices_free(&slices);
}

Test(slices, what_crosses_gets_a_lane_of_its_own)
{
	static const uint64_t times[][2] = { { 0, 100 }, { 50, 150 }, { 100, 110 }, { 120, 160 } };
	struct slices slices = ordered(times, 4);

	cr_expect_eq(lane_of(&slices, 0), 0);
	cr_expect_eq(lane_of(&slices, 1), 1);
	cr_expect_eq(lane_of(&slices, 2), 0);
	cr_expect_eq(lane_of(&slices, 3), 0);
	slices_free(&slices);
}

/* Of a damaged box: thousands that cross. Those that find no lane are clipped, and say how long they are. */
Test(slices, lanes_are_bounded)
{
	uint64_t times[1000][2];

	for (uint64_t i = 0; i < 1000; i++)
		times[i][0] = i, times[i][1] = 5000 + i;
	struct slices slices = ordered(times, 1000);
	size_t clipped = 0;

	for (size_t i = 0; i < slices.count; i++) {
		cr_expect(slices.list[i].lane < SLICES_LANES);
		clipped += slices.list[i].clipped_ns == 5000;
	}
	cr_expect_eq(clipped, 1000 - SLICES_LANES);
	slices_free(&slices);
}

Test(slices, an_end_before_the_begin_is_none)
{
	static const uint64_t times[][2] = { { 50, 10 } };
	struct slices slices = ordered(times, 1);

	cr_expect_eq(slices.list[0].end_ns, 50);
	slices_free(&slices);
}

/* Flows */

Test(flow_table, first_and_last_are_told_at_the_end_and_the_others_at_once)
{
	static const uint64_t times[] = { 50, 10, 90, 60 };
	struct flow_table table = { 0 };
	struct flow_point between;
	uint64_t told[4];
	size_t count = 0;

	for (size_t i = 0; i < 4; i++)
		if (flow_table_add(&table, 7, &(struct flow_point){ times[i], 1, (uint32_t)i }, &between) == 1)
			told[count++] = between.at_ns;
	cr_assert_eq(count, 2);
	cr_expect_eq(told[0], 50);
	cr_expect_eq(told[1], 60);
	for (size_t i = 0; i < table.room; i++) {
		if (!table.flows[i].id)
			continue;
		cr_expect_eq(table.flows[i].first.at_ns, 10);
		cr_expect_eq(table.flows[i].last.at_ns, 90);
		cr_expect_not(table.flows[i].single);
	}
	flow_table_free(&table);
}

Test(flow_table, grows_and_finds_all_again)
{
	struct flow_table table = { 0 };
	struct flow_point between;
	size_t found = 0;

	for (int round = 0; round < 3; round++)
		for (uint64_t id = 1; id <= 10000; id++)
			found += flow_table_add(&table, id * UINT64_C(0x9e3779b97f4a7c15),
						&(struct flow_point){ (uint64_t)round, 1, 1 }, &between) == 1;
	cr_expect_eq(table.count, 10000);
	cr_expect_eq(found, 10000, "of each the middle one of three");
	flow_table_free(&table);
}

static struct rw_operation operation_of(uint8_t function, int32_t peer)
{
	return (struct rw_operation){
		.known = RW_KNOWN_IDENT | RW_KNOWN_TASK, .function = function, .sequence = 5, .root_or_peer = peer, .count = 8
	};
}

Test(operation_flow, is_equal_for_those_who_meet)
{
	struct rw_communicator first = { .id = 9, .rank = 0, .nranks = 2 }, second = { .id = 9, .rank = 1, .nranks = 2 };
	struct rw_communicator other = { .id = 10, .rank = 1, .nranks = 2 };
	struct rw_operation gather = operation_of(RW_FUNCTION_ALL_GATHER, -1), reduce = operation_of(RW_FUNCTION_REDUCE, 0);
	struct rw_operation send = operation_of(RW_FUNCTION_SEND, 1), recv = operation_of(RW_FUNCTION_RECV, 0);

	cr_expect_eq(operation_flow(&gather, &first), operation_flow(&gather, &second));
	cr_expect_neq(operation_flow(&gather, &first), operation_flow(&gather, &other));
	cr_expect_neq(operation_flow(&gather, &first), operation_flow(&reduce, &first));
	cr_expect_eq(operation_flow(&send, &first), operation_flow(&recv, &second));
	cr_expect_neq(operation_flow(&send, &first), operation_flow(&send, &second));
	cr_expect_eq(operation_flow(&gather, NULL), 0, "of a communicator that is not known");
	recv.flags = RW_FLAG_PEER_UNKNOWN;
	cr_expect_eq(operation_flow(&recv, &second), 0, "whom it meets is not known");
}

static int64_t argument(const struct trace_arguments *arguments, enum trace_key key)
{
	for (size_t i = 0; i < arguments->count; i++)
		if (arguments->list[i].key == key)
			return arguments->list[i].number;
	return -1;
}

Test(operation_arguments, elements_are_those_of_the_buffers)
{
	struct rw_communicator communicator = { .id = 9, .rank = 0, .nranks = 4 };
	struct rw_operation gather = operation_of(RW_FUNCTION_ALL_GATHER, -1);
	struct operation_texts texts = { .device = -1 };
	struct trace_arguments arguments = { 0 };

	operation_arguments_add(&arguments, &gather, &communicator, &texts, OPERATION_ENDED);
	cr_expect_eq(argument(&arguments, TRACE_IN_ELEMENTS), 8);
	cr_expect_eq(argument(&arguments, TRACE_OUT_ELEMENTS), 32);
	cr_expect_eq(argument(&arguments, TRACE_GROUP_SIZE), 4);
	cr_expect_eq(argument(&arguments, TRACE_DEVICE), -1, "what is not known is left out");
	gather.count = UINT64_MAX / 2;
	arguments.count = 0;
	operation_arguments_add(&arguments, &gather, &communicator, &texts, OPERATION_ENDED);
	cr_expect_eq(argument(&arguments, TRACE_OUT_ELEMENTS), -1, "no product that is none");
}

/* Groups */

Test(group_table, members_are_known_when_all_were_seen_once)
{
	struct rw_communicator communicator = { .id = 9, .nranks = 3, .created_ns = 1 };
	struct group_table table = { 0 };

	for (int32_t rank = 2; rank >= 1; rank--) {
		communicator.rank = rank;
		cr_assert_eq(group_table_add(&table, &communicator, 1, rank + 10), 0);
	}
	group_table_order(&table);
	cr_expect_null(group_table_find(&table, 9, 3), "one was not seen");
	communicator.rank = 0;
	cr_assert_eq(group_table_add(&table, &communicator, 1, 10), 0);
	group_table_order(&table);
	int32_t *ranks = group_table_find(&table, 9, 3);

	cr_assert(ranks);
	for (int32_t i = 0; i < 3; i++)
		cr_expect_eq(ranks[i], i + 10);
	free(ranks);
	cr_expect_null(group_table_find(&table, 9, 2));
	cr_expect_null(group_table_find(&table, 8, 3));
	group_table_free(&table);
}

/* Tracks */

Test(rank_tracks, are_shown_by_what_they_are_about)
{
	static struct rank_tracks tracks;
	uint32_t order[RANK_TRACKS_MOST];
	uint32_t idle = rank_tracks_find(&tracks, RANK_TRACK_BLOCKED, 40, 0);
	uint32_t stood = rank_tracks_find(&tracks, RANK_TRACK_BLOCKED, 30, 0);
	uint32_t calls = rank_tracks_find(&tracks, RANK_TRACK_CALLS, 30, 0);
	uint32_t second = rank_tracks_find(&tracks, RANK_TRACK_GPU, 0, 0xb);
	uint32_t third = rank_tracks_find(&tracks, RANK_TRACK_GPU, 1, 0xb);

	cr_expect_eq(rank_tracks_find(&tracks, RANK_TRACK_CALLS, 30, 0), calls);
	rank_tracks_order(&tracks, order);
	cr_expect_eq(order[0], second);
	cr_expect_eq(order[1], third);
	cr_expect_eq(order[2], calls);
	cr_expect_eq(order[3], stood);
	cr_expect_eq(order[4], idle);
	cr_expect_eq(rank_tracks_stream_number(&tracks, second), 1);
	cr_expect_eq(rank_tracks_stream_number(&tracks, third), 1, "one stream under two communicators");
}

Test(rank_tracks, are_bounded)
{
	static struct rank_tracks tracks;

	for (uint32_t i = 0; i < 10 * RANK_TRACKS_MOST; i++)
		cr_assert(rank_tracks_find(&tracks, RANK_TRACK_GPU, 0, i) < RANK_TRACKS_MOST);
	cr_expect_eq(tracks.count, RANK_TRACKS_MOST);
}

Test(stays, say_where_a_thread_was)
{
	struct stay stay = { .system_call = 1, .fd = 5, .path = "/x/events.out" };
	char text[64];

	cr_expect_str_eq(stay_text(&stay, text, sizeof(text)), "write(5) events.out");
	stay = (struct stay){ .system_call = -2, .fd = -1, .state = 'R' };
	cr_expect_str_eq(stay_text(&stay, text, sizeof(text)), "running");
	stay = (struct stay){ .system_call = 9999, .fd = -1, .state = 'S' };
	cr_expect_str_eq(stay_text(&stay, text, sizeof(text)), "system call 9999");
}

/* The JSON of Chrome; Perfetto's bytes are read by somebody else's library in tests/tapes/trace.py. */

static json_t *chrome_of(void (*write)(struct trace_sink *sink))
{
	struct trace_head head = { .realtime_offset_ns = 5, .rank = 3, .world_size = 8, .job = "a \"job\"" };
	struct trace_sink sink = { .format = &trace_chrome };
	char *text;
	size_t size;
	json_error_t error;

	sink.out = open_memstream(&text, &size);
	cr_assert_eq(trace_chrome.open(&sink, &head), 0);
	write(&sink);
	trace_chrome.close(&sink);
	fclose(sink.out);
	cr_expect(strstr(text, "\"rank\": 3"), "as Holistic Trace Analysis looks for it");
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	cr_assert(json, "%s: %s", error.text, text);
	free(text);
	return json;
}

static void write_nothing(struct trace_sink *sink)
{
	(void)sink;
}

Test(chrome, a_trace_of_nothing_is_json)
{
	json_t *json = chrome_of(write_nothing);

	cr_expect_eq(json_array_size(json_object_get(json, "traceEvents")), 0);
	json_decref(json);
}

static void write_slice(struct trace_sink *sink)
{
	struct trace_track track = { .process = 2, .number = 7, .name = "quote \" back \\ ü" };
	struct trace_arguments arguments = { 0 };

	trace_add_text(&arguments, TRACE_PATH, "/a\"b");
	trace_add_number(&arguments, TRACE_SEQUENCE, INT64_MIN);
	trace_chrome.track(sink, &track);
	trace_chrome.slice(sink, &(struct trace_slice){ .track = &track,
							.category = TRACE_KERNEL,
							.begin_ns = 1000007,
							.end_ns = 1002009,
							.name = "AllGather",
							.open = true,
							.arguments = &arguments });
}

Test(chrome, a_slice_is_told_exactly)
{
	json_t *json = chrome_of(write_slice), *events = json_object_get(json, "traceEvents");
	json_t *name = json_array_get(events, 0), *slice = json_array_get(events, 2);

	cr_expect_str_eq(json_string_value(json_object_get(json_object_get(name, "args"), "name")), "quote \" back \\ ü");
	cr_expect_float_eq(json_number_value(json_object_get(slice, "ts")), 1000.007, 1e-9);
	cr_expect_float_eq(json_number_value(json_object_get(slice, "dur")), 2.002, 1e-9);
	cr_expect_str_eq(json_string_value(json_object_get(slice, "name")), "ncclAllGather (in flight)");
	cr_expect_str_eq(json_string_value(json_object_get(json_object_get(slice, "args"), "file")), "/a\"b");
	cr_expect_eq(json_integer_value(json_object_get(json_object_get(slice, "args"), "Seq")), INT64_MIN);
	json_decref(json);
}

/* The file */

static char directory[] = "/tmp/rankwatch-trace-test-XXXXXX";
static char path[64];

static void make_directory(void)
{
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/job.json", directory);
}

static void remove_directory(void)
{
	unlink(path);
	cr_expect_eq(rmdir(directory), 0, "nothing else is left");
}

TestSuite(output, .init = make_directory, .fini = remove_directory);

static bool ends_when_it_is_made;

/* The C library's, and a signal as soon as the file is there. */
int mkostemp(char *name, int flags)
{
	int fd = mkostemps(name, 0, flags);

	if (ends_when_it_is_made)
		raise(SIGINT);
	return fd;
}

static const char *content(void)
{
	static char text[64];
	int fd = open(path, O_RDONLY);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[size < 0 ? 0 : size] = '\0';
	return size < 0 ? NULL : text;
}

static void open_and_write(struct output *output, const char *text)
{
	cr_assert_eq(output_open(output, path, false), 0);
	fputs(text, output->stream);
	fflush(output->stream);
}

Test(output, has_its_name_when_it_is_whole)
{
	static struct output output;

	open_and_write(&output, "first");
	cr_expect_null(content(), "not yet");
	cr_expect_eq(output_finish(&output), 0);
	cr_expect_str_eq(content(), "first");
	open_and_write(&output, "second");
	cr_expect_str_eq(content(), "first", "the earlier one stays");
	output_abandon(&output);
	cr_expect_str_eq(content(), "first");
}

Test(output, of_a_link_replaces_what_it_names)
{
	static struct output output;
	char link[80];
	struct stat status;

	snprintf(link, sizeof(link), "%s.link", path);
	cr_assert_eq(symlink(path, link), 0);
	open_and_write(&output, "first");
	output_finish(&output);
	cr_assert_eq(output_open(&output, link, false), 0);
	fputs("second", output.stream);
	cr_expect_eq(output_finish(&output), 0);
	cr_expect_str_eq(content(), "second");
	cr_assert_eq(lstat(link, &status), 0);
	cr_expect(S_ISLNK(status.st_mode));
	unlink(link);
}

Test(output, of_a_device_is_written_to_it)
{
	static struct output output;
	struct stat status;

	cr_assert_eq(output_open(&output, "/dev/full", false), 0);
	fputs("something", output.stream);
	cr_expect_eq(output_finish(&output), -ENOSPC);
	cr_assert_eq(output_open(&output, "/dev/full", true), 0);
	fputs("something", output.stream);
	cr_expect_eq(output_finish(&output), -ENOSPC, "compressed");
	cr_assert_eq(stat("/dev/full", &status), 0);
	cr_expect(S_ISCHR(status.st_mode), "the device is still one");
}

Test(output, of_somebody_who_is_ended_is_removed)
{
	int ready[2];
	char byte;

	cr_assert_eq(pipe(ready), 0);
	pid_t child = fork();

	if (!child) {
		static struct output output;

		signal(SIGINT, SIG_DFL);
		open_and_write(&output, "half");
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	kill(child, SIGINT);
	int status;

	waitpid(child, &status, 0);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT, "it ends as it would have");
	cr_expect_null(content());
}

Test(output, of_somebody_who_is_ended_when_it_was_just_made_is_removed)
{
	pid_t child = fork();

	if (!child) {
		static struct output output;

		signal(SIGINT, SIG_DFL);
		ends_when_it_is_made = true;
		output_open(&output, path, false);
		_exit(1);
	}
	int status;

	waitpid(child, &status, 0);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT, "it ends as it would have");
}
