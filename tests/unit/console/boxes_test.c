/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "console/boxes/box_runs.h"
#include "console/boxes/boxes.h"
#include "console/dump/box_json.h"
#include "crafted_box.h"

struct refusals {
	int count;
	char path[512], why[512];
};

static void refuse(void *argument, const char *path, const char *why)
{
	struct refusals *refusals = argument;

	refusals->count++;
	snprintf(refusals->path, sizeof(refusals->path), "%s", path);
	snprintf(refusals->why, sizeof(refusals->why), "%s", why);
}

static void open_all(struct boxes *boxes, const char *directory, struct refusals *refusals)
{
	char *paths[] = { (char *)directory };

	*refusals = (struct refusals){ 0 };
	cr_assert_eq(boxes_open(boxes, paths, 1, refuse, refusals), 0);
}

static void make(const char *directory, const char *job, int32_t rank, uint64_t comm_id, uint64_t created)
{
	struct box_writer writer;
	char made[512], named[512];

	crafted_box(&writer, directory, job, rank, comm_id);
	writer.header->created_realtime_ns = created;
	/* Of one process only one box has the usual name. */
	snprintf(made, sizeof(made), "%s", writer.path);
	snprintf(named, sizeof(named), "%s/%s-%d-%llu" RW_BOX_SUFFIX, directory, job, rank,
		 (unsigned long long)created);
	box_writer_close(&writer);
	cr_assert_eq(rename(made, named), 0);
}

Test(boxes, that_share_a_communicator_are_one_run_and_the_newest_run_comes_first)
{
	const char *directory = crafted_directory();
	struct refusals refusals;
	struct boxes boxes;
	size_t first;

	make(directory, "local", 1, 0xaaaa, 100);
	make(directory, "local", 0, 0xaaaa, 101);
	make(directory, "local", 1, 0xbbbb, 201);
	make(directory, "local", 0, 0xbbbb, 200);
	open_all(&boxes, directory, &refusals);
	cr_assert_eq(boxes.count, 4);
	cr_expect_eq(boxes.run_count, 2);
	cr_expect_eq(box_runs_entries(&boxes, 0, &first), 2);
	cr_expect_eq(boxes.entries[first].reader.header.created_realtime_ns, 200);
	cr_expect_eq(boxes.entries[first + 1].reader.header.world_rank, 1);
	boxes_close(&boxes);
}

static void make_start(const char *directory, const char *job, int32_t generation, uint64_t comm, uint64_t created)
{
	char made[512], named[512];
	struct box_writer writer;

	crafted_box(&writer, directory, job, 0, comm);
	writer.header->created_realtime_ns = created;
	writer.header->generation = generation;
	snprintf(made, sizeof(made), "%s", writer.path);
	snprintf(named, sizeof(named), "%s/%s-start-%llu" RW_BOX_SUFFIX, directory, job, (unsigned long long)created);
	box_writer_close(&writer);
	cr_assert_eq(rename(made, named), 0);
}

/* The times at which the starts that are told with the newest run began. */
static size_t earlier_starts(const struct boxes *boxes, uint64_t times[8])
{
	size_t count = 0, first;

	for (size_t run = 0; count < 8 && (run = box_runs_earlier(boxes, run)) != 0;) {
		box_runs_entries(boxes, run, &first);
		times[count++] = boxes->entries[first].reader.header.created_realtime_ns;
	}
	return count;
}

Test(boxes, of_a_job_that_was_started_again_its_earlier_starts_are_found_and_no_other_launch_of_its_name)
{
	const char *directory = crafted_directory();
	uint64_t times[8] = { 0 };
	struct refusals refusals;
	struct boxes boxes;

	make_start(directory, "local", 0, 0xa, 100); /* yesterday, */
	make_start(directory, "local", 1, 0xb, 110); /* … */
	make_start(directory, "local", 2, 0xc, 120);
	make_start(directory, "local", 0, 0xd, 200); /* and today */
	make_start(directory, "other", 1, 0xe, 205);
	make_start(directory, "local", 1, 0xf, 210);
	make_start(directory, "local", 2, 0x10, 220);
	/* a group of the same start that shares no communicator with the rest */
	make_start(directory, "local", 2, 0x11, 221);
	open_all(&boxes, directory, &refusals);
	cr_assert_eq(boxes.run_count, 8);
	cr_assert_eq(earlier_starts(&boxes, times), 2);
	cr_expect_eq(times[0], 210);
	cr_expect_eq(times[1], 200);
	boxes_close(&boxes);
}

Test(boxes, of_a_first_start_there_is_no_earlier_one)
{
	const char *directory = crafted_directory();
	struct refusals refusals;
	struct boxes boxes;

	make_start(directory, "local", 1, 0xa, 100);
	make_start(directory, "local", 0, 0xb, 200);
	open_all(&boxes, directory, &refusals);
	cr_expect_eq(box_runs_earlier(&boxes, 0), 0);
	boxes_close(&boxes);
}

static void make_waiting(const char *directory, int rank, uint64_t init, uint64_t created)
{
	char made[512], named[512];
	struct box_writer writer;

	crafted_box(&writer, directory, "local", rank, 0);
	writer.header->comms_used = 0;
	writer.communicators[0].created_ns = 0;
	writer.header->created_realtime_ns = created;
	writer.header->init.id = init;
	writer.header->init.since_ns = 1;
	snprintf(made, sizeof(made), "%s", writer.path);
	/* Of one process only one box has the usual name. */
	snprintf(named, sizeof(named), "%s/waiting%d" RW_BOX_SUFFIX, directory, rank);
	box_writer_close(&writer);
	cr_assert_eq(rename(made, named), 0);
}

Test(boxes, that_wait_for_the_same_communicator_to_be_made_are_one_run)
{
	const char *directory = crafted_directory();
	struct refusals refusals;
	struct boxes boxes;

	make_waiting(directory, 0, 0xaaaa, 100);
	make_waiting(directory, 1, 0xaaaa, 150);
	make_waiting(directory, 2, 0xbbbb, 300);
	open_all(&boxes, directory, &refusals);
	cr_assert_eq(boxes.count, 3);
	cr_expect_eq(boxes.run_count, 2);
	cr_expect_eq(boxes.entries[0].reader.header.world_rank, 2);
	boxes_close(&boxes);
}

Test(boxes, of_two_jobs_stay_apart_and_can_be_chosen)
{
	const char *directory = crafted_directory();
	struct refusals refusals;
	struct boxes boxes;

	make(directory, "one", 0, 0xaaaa, 100);
	make(directory, "two", 0, 0xaaaa, 101);
	open_all(&boxes, directory, &refusals);
	cr_expect_eq(boxes.run_count, 2);
	box_runs_keep_job(&boxes, "one");
	cr_assert_eq(boxes.count, 1);
	cr_expect_eq(boxes.run_count, 1);
	cr_expect_str_eq(boxes.entries[0].reader.header.job, "one");
	box_runs_keep_job(&boxes, "none");
	cr_expect_eq(boxes.count, 0);
	boxes_close(&boxes);
}

Test(boxes, are_found_one_directory_down_and_a_foreign_file_is_refused_by_name)
{
	const char *directory = crafted_directory();
	struct refusals refusals;
	struct boxes boxes;
	char path[512];

	snprintf(path, sizeof(path), "%s/job", directory);
	cr_assert_eq(mkdir(path, 0700), 0);
	make(path, "one", 0, 0xaaaa, 100);
	snprintf(path, sizeof(path), "%s/not-a-box" RW_BOX_SUFFIX, directory);
	FILE *file = fopen(path, "w");

	cr_assert(file);
	fputs("hello\n", file);
	fclose(file);
	open_all(&boxes, directory, &refusals);
	cr_expect_eq(boxes.count, 1);
	cr_expect_eq(boxes.refused, 1);
	cr_expect_eq(refusals.count, 1);
	cr_expect_str_eq(refusals.path, path);
	cr_expect_gt(strlen(refusals.why), 10);
	cr_expect_null(strstr(refusals.why, path), "the path is said once");
	boxes_close(&boxes);
}

Test(boxes, of_a_directory_that_is_not_there_are_none_and_it_is_said)
{
	struct refusals refusals;
	struct boxes boxes;

	open_all(&boxes, "/nonexistent/rankwatch", &refusals);
	cr_expect_eq(boxes.count, 0);
	cr_expect_eq(refusals.count, 1);
	boxes_close(&boxes);
}

Test(boxes, rank_is_the_launchers_else_that_of_the_largest_communicator)
{
	const char *directory = crafted_directory();
	struct box_writer writer;
	struct box_reader reader;

	crafted_box(&writer, directory, "one", 3, 0xaaaa);
	writer.header->world_rank = -1;
	cr_assert_eq(box_reader_open(&reader, AT_FDCWD, writer.path, (uid_t)-1, NULL), 0);
	cr_expect_eq(box_rank(&reader), 3);
	box_reader_close(&reader);
	box_writer_close(&writer);
}

Test(boxes, realtime_offset_is_that_of_the_newest_anchor)
{
	struct rw_box_header header = { .created_ns = 10, .created_realtime_ns = 110 };

	cr_expect_eq(box_realtime_offset(&header), 100);
	header.anchors_written = RW_BOX_ANCHORS + 1;
	header.anchors[0] = (struct rw_anchor){ .monotonic_ns = 50, .realtime_ns = 1050 };
	cr_expect_eq(box_realtime_offset(&header), 1000);
}

static struct rw_operation *operation_of(struct box_writer *writer, uint32_t known)
{
	uint64_t ticket = crafted_operation(writer, 118, known);

	return box_slot(writer, ticket);
}

Test(box_json, a_field_whose_known_bit_is_not_set_is_left_out)
{
	struct box_writer writer;

	crafted_box(&writer, crafted_directory(), "one", 0, 0x5eed);
	struct rw_operation *operation = operation_of(&writer, RW_KNOWN_IDENT | RW_KNOWN_API);
	json_t *json = box_json_operation(operation, &writer.communicators[0]);

	cr_expect_str_eq(json_string_value(json_object_get(json, "function")), "AllGather");
	cr_expect_str_eq(json_string_value(json_object_get(json, "dtype")), "bf16");
	cr_expect_str_eq(json_string_value(json_object_get(json, "comm_id")), "0x5eed");
	cr_expect_eq(json_integer_value(json_object_get(json, "count")), 4194304);
	cr_expect_eq(json_integer_value(json_object_get(json, "api_ns")), 118000);
	cr_expect_null(json_object_get(json, "launch_begin_ns"));
	cr_expect_null(json_object_get(json, "scan_out"));
	json_decref(json);
	operation->known |= RW_KNOWN_LAUNCH | RW_KNOWN_SCAN_OUT;
	json = box_json_operation(operation, NULL);
	cr_expect_eq(json_integer_value(json_object_get(json, "launch_begin_ns")), 118010);
	cr_expect(json_is_null(json_object_get(json_object_get(json, "scan_out"), "first_bad")));
	cr_expect_null(json_object_get(json, "comm_id"));
	json_decref(json);
	box_writer_close(&writer);
}

Test(box_json, an_untracked_operation_says_why)
{
	struct rw_operation operation = {
		.ticket = 1,
		.flags = RW_FLAG_UNTRACKED | RW_FLAG_IN_PLACE | RW_UNTRACKED_BROADCAST << RW_FLAG_UNTRACKED_SHIFT,
	};
	json_t *json = box_json_operation(&operation, NULL);

	cr_expect_str_eq(json_string_value(json_object_get(json, "untracked")), "broadcast");
	cr_expect_eq(json_array_size(json_object_get(json, "flags")), 2);
	json_decref(json);
}

Test(box_json, text_of_a_job_is_escaped_and_need_not_end)
{
	char name[8] = { 'a', '\033', '[', '3', '1', 'm', 'b', 'c' };
	json_t *json = box_json_text(name, sizeof(name));

	cr_assert(json);
	cr_expect_null(strchr(json_string_value(json), '\033'));
	cr_expect(strstr(json_string_value(json), "bc"));
	json_decref(json);
}

Test(box_json, header_has_the_identity_and_the_environment)
{
	struct rw_box_header header = { .pid = 4711, .world_rank = -1, .environment = "RANK=0\0WORLD_SIZE=8" };

	memset(header.host, 'h', sizeof(header.host));
	json_t *json = box_json_header(&header);

	cr_assert(json);
	cr_expect_eq(strlen(json_string_value(json_object_get(json, "host"))), sizeof(header.host));
	cr_expect_eq(json_integer_value(json_object_get(json, "pid")), 4711);
	cr_expect_eq(json_integer_value(json_object_get(json, "world_rank")), -1);
	cr_assert_eq(json_array_size(json_object_get(json, "environment")), 2);
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(json, "environment"), 1)), "WORLD_SIZE=8");
	json_decref(json);
}
