/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "console/boxes/box_choice.h"
#include "console/boxes/box_runs.h"
#include "console/cli/command.h"
#include "console/cli/json_line.h"
#include "console/cli/option.h"
#include "console/cli/progress.h"
#include "console/dump/box_csv.h"
#include "console/dump/box_json.h"
#include "console/dump/inspector_line.h"
#include "console/flight_recorder/dump.h"

/* How operations are printed. */
enum format { JSON, CSV, INSPECTOR, FORMATS };

static const char *const format_names[FORMATS] = { [JSON] = "json", [CSV] = "csv", [INSPECTOR] = "inspector" };

struct options {
	struct box_choice choice;
	const char *flight_recorder; /* a directory; NULL: JSON lines */
	bool header, comms, samples, operations;
	enum format format; /* JSON where none was asked for */
	bool json;          /* it was asked for */
};

enum { KEY_COMMS = 0x100, KEY_FLIGHT_RECORDER, KEY_FORMAT, KEY_SAMPLES, KEY_HEADER, KEY_OPERATIONS, BATCH = 512 };

/* FORMATS: there is none of that name. */
static enum format format_of(const char *name)
{
	for (int format = 0; format < FORMATS; format++)
		if (strcmp(name, format_names[format]) == 0)
			return (enum format)format;
	return FORMATS;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = {
		{ ARGP_KEY_INIT, .child = &options->choice }, { KEY_COMMS, .flag = &options->comms },
		{ KEY_SAMPLES, .flag = &options->samples },
		{ KEY_FLIGHT_RECORDER, .text = &options->flight_recorder }, { KEY_HEADER, .flag = &options->header },
		{ KEY_OPERATIONS, .flag = &options->operations }, { 0 },
	};

	switch (key) {
	case KEY_FORMAT:
		options->format = format_of(argument);
		if (options->format == FORMATS)
			argp_error(state, "--format: \"%s\" is none of csv, inspector and json", argument);
		options->json = options->format == JSON;
		return 0;
	case 'J':
		options->format = JSON;
		options->json = true;
		return 0;
	case ARGP_KEY_END:
		if (options->flight_recorder &&
		    (options->header || options->comms || options->samples || options->operations))
			argp_error(state, "--flight-recorder writes operations, in its own way: no other part can be "
					  "asked for beside it");
		if (options->format != JSON &&
		    (options->header || options->comms || options->samples || options->flight_recorder))
			argp_error(state, "--format %s is of operations: nothing else can be asked for beside it",
				   format_names[options->format]);
		if (!options->header && !options->comms && !options->samples)
			options->operations = true;
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

/* What a dump of one box needs. */
struct dump {
	const struct box_entry *entry;
	int32_t rank;
	enum format format;
	struct inspector_box inspector;
	struct inspector_left_out *left_out; /* of all boxes */
	struct rw_communicator *communicators;
	uint32_t communicator_count;
};

/* One line: what it is and whose, then the record. Takes the record. */
static void print_line(const struct dump *dump, const char *part, json_t *record)
{
	json_t *line = json_pack("{s:s, s:i, s:I}", "part", part, "rank", dump->rank, "pid",
				 (json_int_t)dump->entry->reader.header.pid);

	json_object_update_new(line, record);
	json_line_print(line);
}

static void dump_header(const struct dump *dump)
{
	json_t *record = box_json_header(&dump->entry->reader.header);

	json_object_set_new(record, "file", box_json_text(dump->entry->path, strlen(dump->entry->path)));
	print_line(dump, "header", record);
}

static void dump_communicators(const struct dump *dump)
{
	for (uint32_t i = 0; i < dump->communicator_count; i++) {
		struct rw_gpu_progress progress = { 0 };
		json_t *record;

		if (!dump->communicators[i].created_ns)
			continue;
		box_reader_progress(&dump->entry->reader, i, 1, &progress);
		record = box_json_communicator(&dump->communicators[i], &progress);
		json_object_set_new(record, "comm", json_integer(i));
		print_line(dump, "communicator", record);
	}
}

static uint64_t oldest_kept(uint64_t head, uint32_t slots)
{
	return head > slots ? head - slots : 0;
}

static int dump_samples(const struct dump *dump)
{
	const struct rw_box_header *header = &dump->entry->reader.header;
	struct rw_host_sample samples[BATCH];
	enum box_slot states[BATCH];
	uint64_t first = oldest_kept(header->samples_head, header->sample_slots);

	while (first < header->samples_head) {
		uint32_t room = header->samples_head - first < BATCH ? (uint32_t)(header->samples_head - first) : BATCH;
		int count = box_reader_samples(&dump->entry->reader, first, room, samples, states);

		if (count <= 0)
			return count;
		for (int i = 0; i < count; i++) {
			if (states[i] == BOX_SLOT_OK)
				print_line(dump, "sample", box_json_sample(&samples[i]));
		}
		first += (uint64_t)count;
	}
	return 0;
}

static const struct rw_communicator *communicator_of(const struct dump *dump, const struct rw_operation *operation)
{
	bool known = (operation->known & RW_KNOWN_IDENT) && operation->comm < dump->communicator_count;

	return known && box_is_of(operation, &dump->communicators[operation->comm])
		   ? &dump->communicators[operation->comm]
		   : NULL;
}

static void dump_operation(struct dump *dump, const struct rw_operation *operation)
{
	const struct rw_communicator *communicator = communicator_of(dump, operation);
	if (dump->format == INSPECTOR && rw_is_step_mark(operation->known))
		return;
	json_t *record = dump->format == INSPECTOR
			     ? inspector_line(&dump->inspector, operation, communicator, dump->left_out)
			     : box_json_operation(operation, communicator);

	if (dump->format == INSPECTOR) {
		if (record)
			json_line_print(record);
		return;
	}
	if (dump->format == JSON) {
		print_line(dump, "operation", record);
		return;
	}
	box_csv_line(stdout, dump->rank, dump->entry->reader.header.pid, record);
	json_decref(record);
}

static int dump_operations(struct dump *dump)
{
	static struct rw_operation slots[BATCH];
	enum box_slot states[BATCH];
	const struct rw_box_header *header = &dump->entry->reader.header;
	uint64_t first = oldest_kept(header->head, header->ring_slots);

	while (first < header->head) {
		uint32_t room = header->head - first < BATCH ? (uint32_t)(header->head - first) : BATCH;
		int count = box_reader_operations(&dump->entry->reader, first, room, slots, states);

		if (count <= 0)
			return count;
		for (int i = 0; i < count; i++) {
			if (states[i] == BOX_SLOT_OK)
				dump_operation(dump, &slots[i]);
		}
		first += (uint64_t)count;
	}
	return 0;
}

static int dump_box(const struct options *options, const struct box_entry *entry, struct inspector_left_out *left_out)
{
	struct dump dump = { .entry = entry,
			     .rank = box_rank(&entry->reader),
			     .format = options->format,
			     .inspector = { .entry = entry },
			     .left_out = left_out };
	int error = box_communicators(&entry->reader, &dump.communicators, &dump.communicator_count);

	if (options->header)
		dump_header(&dump);
	if (options->comms)
		dump_communicators(&dump);
	if (options->samples && !error)
		error = dump_samples(&dump);
	if (options->operations && !error)
		error = dump_operations(&dump);
	free(dump.communicators);
	if (error)
		foreign_line(stderr, "rankwatch dump: %s: %s", entry->path, strerror(-error));
	return error;
}

static void say_left_out(uint64_t count, const char *why)
{
	if (count)
		fprintf(stderr, "rankwatch dump: left out: %" PRIu64 " %s\n", count, why);
}

static void say_inspector_left_out(const struct inspector_left_out *left_out)
{
	say_left_out(left_out->untimed, "operations of which nobody saw how long they were on the GPU");
	say_left_out(left_out->sizeless,
		     "operations of communicators of which NCCL did not report the size and the nodes");
	say_left_out(left_out->strange, "operations that Inspector has no name for, or of which too little is known");
}

static int write_flight_recorder(const struct options *options, const struct boxes *boxes)
{
	struct flight_recorder_result result;
	struct progress progress = { 0 };
	size_t first, count = boxes->run_count ? box_runs_entries(boxes, 0, &first) : 0;

	if (!count)
		return COMMAND_FAILED;
	if (flight_recorder_write(options->flight_recorder, options->json ? PLAIN_JSON : PLAIN_PICKLE, boxes, first,
				  count, "rankwatch dump", &progress, &result))
		return COMMAND_FAILED;
	foreign_line(stderr,
		     "rankwatch dump: %s: %zu rank%s, %" PRIu64 " operations (%" PRIu64
		     " in flight at the end)%s",
		     options->flight_recorder, result.ranks, result.ranks == 1 ? "" : "s", result.entries,
		     result.unfinished, options->json ? "" : ", for torchfrtrace");
	if (result.empty && !options->json)
		fprintf(stderr,
			"rankwatch dump: %zu rank%s without an operation there: torchfrtrace may end at such a dump "
			"(\"list index out of range\")\n",
			result.empty, result.empty == 1 ? " is" : "s are");
	say_left_out(result.strangers, "operations of communicators of which not every rank left a black box");
	say_left_out(result.forgotten, "operations that are older than what another rank's black box holds");
	say_left_out(result.nameless, "black boxes whose rank is not known");
	return result.truncated ? COMMAND_INCOMPLETE : COMMAND_DONE;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct inspector_left_out left_out = { 0 };
	struct progress progress = { .silent = isatty(STDOUT_FILENO) };
	struct boxes boxes;

	command_parse(command, argc, argv, 0, &options);
	int status = box_choice_open(&options.choice, argv[0], &boxes) == 0 ? COMMAND_DONE : COMMAND_FAILED;

	if (options.flight_recorder) {
		status = status == COMMAND_DONE ? write_flight_recorder(&options, &boxes) : status;
		if (status == COMMAND_DONE && boxes.refused)
			status = COMMAND_INCOMPLETE;
		boxes_close(&boxes);
		return status;
	}
	size_t runs = box_choice_runs(&options.choice, &boxes);

	if (options.format == CSV)
		box_csv_head(stdout);
	progress_begin(&progress, "printing", boxes.count, "black box");
	for (size_t i = 0; i < boxes.count && boxes.entries[i].run < runs && !ferror(stdout); i++) {
		progress_show(&progress, i, boxes.count);
		if (dump_box(&options, &boxes.entries[i], &left_out) != 0)
			status = COMMAND_FAILED;
	}
	progress_end(&progress);
	say_inspector_left_out(&left_out);
	if (status == COMMAND_DONE && boxes.refused)
		status = COMMAND_INCOMPLETE;
	boxes_close(&boxes);
	return status;
}

static const struct argp_option dump_options[] = {
	{ "comms", KEY_COMMS, NULL, 0, "The communicators, with the GPU's progress words", 0 },
	{ "flight-recorder", KEY_FLIGHT_RECORDER, "DIR", 0,
	  "Write the operations to DIR/rank_0, DIR/rank_1 and so on as PyTorch's Flight Recorder does, for "
	  "torchfrtrace, instead of printing; with --json the same to DIR/rank_0.json and so on, for programs that are "
	  "not Python",
	  0 },
	{ "format", KEY_FORMAT, "csv|inspector|json", 0,
	  "The operations as one table with a line of names on top, or as NCCL's Inspector plugin writes them, instead "
	  "of our own "
	  "JSON lines",
	  0 },
	{ "header", KEY_HEADER, NULL, 0, "The header: process, job, versions, counters, environment", 0 },
	{ "json", 'J', NULL, 0,
	  "Our own JSON lines: the default, --format json; with --flight-recorder, what that writes as JSON", 0 },
	{ "operations", KEY_OPERATIONS, NULL, 0, "The operations; the default when no other part is asked for", 0 },
	{ "samples", KEY_SAMPLES, NULL, 0, "The process's own samples of its threads", 0 },
	{ 0 },
};

static const struct argp_child dump_children[] = { { .argp = &box_choice_argp }, { 0 } };

static const struct argp dump_argp = {
	.options = dump_options,
	.parser = parse,
	.children = dump_children,
	.doc = "Prints the records of black boxes as JSON, one object a line: operations, or the parts that are asked "
	       "for. "
	       "Reads boxes that are still being written, too. Without a name: the newest run of this user on this "
	       "machine.\v"
	       "Field names are those of rankwatch/blackbox.h; a field that is not there was not known. Times are "
	       "CLOCK_MONOTONIC nanoseconds.\n\n"
	       "Examples:\n"
	       "  rankwatch dump | jq 'select(.done_seen_ns == null)'\n"
	       "  rankwatch dump --header --comms /dev/shm/rankwatch-0/slurm-81123\n"
	       "  rankwatch dump --format csv >operations.csv\n"
	       "  rankwatch dump --format inspector >inspector/job.jsonl\n"
	       "  rankwatch dump --flight-recorder fr && torchfrtrace --prefix rank_ fr\n",
};

const struct command dump_command = {
	.name = "dump",
	.summary = "print the records of black boxes as JSON lines",
	.argp = &dump_argp,
	.run = run,
};
