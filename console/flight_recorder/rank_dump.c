/* SPDX-License-Identifier: MIT */
#include "console/flight_recorder/rank_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/foreign_text.h"
#include "console/flight_recorder/plain_data.h"
#include "console/trace/operation_arguments.h"

/* The format's version as its reader splits it; from 2.7 on it groups operations in another way than they are written
 * here. */
#define FORMAT_VERSION "2.4"
enum { GROUP_NAME = 64 };

/* Names of PyTorch's functions, from the fixed list of the reader, that come down to these calls of NCCL; and the
 * elements that a rank brings and gets, as multiples of the call's count. */
enum extent { ONE, ALL /* of the ranks */ };
static const struct {
	const char *name;
	enum extent in, out;
} collectives[RW_FUNCTION_COUNT] = {
	[RW_FUNCTION_ALL_GATHER] = { "nccl:_all_gather_base", ONE, ALL },
	[RW_FUNCTION_ALL_REDUCE] = { "nccl:all_reduce", ONE, ONE },
	[RW_FUNCTION_ALL_TO_ALL] = { "nccl:all_to_all", ALL, ALL },
	[RW_FUNCTION_BROADCAST] = { "nccl:broadcast", ONE, ONE },
	[RW_FUNCTION_GATHER] = { "nccl:gather", ONE, ALL },
	[RW_FUNCTION_REDUCE] = { "nccl:reduce", ONE, ONE },
	[RW_FUNCTION_REDUCE_SCATTER] = { "nccl:_reduce_scatter_base", ALL, ONE },
	[RW_FUNCTION_SCATTER] = { "nccl:scatter", ALL, ONE },
};

struct writer {
	struct plain_data *out;
	const struct rw_box_header *header;
	struct box_operations operations;
	int32_t **worlds;      /* by communicator of the box: world ranks of its members; NULL: not all left a box */
	uint64_t *collectives; /* beside it: how many were written */
	bool *is_kept;         /* by operation */
	int64_t realtime_offset_ns;
	struct flight_recorder_result *result;
};

static bool is_transfer(const struct common_line *line)
{
	return line->from >= 0;
}

/* A process group is a communicator, or one direction between two of its ranks: the reader pairs what has equal numbers
 * within a group. */
static void line_name(const struct common_line *line, char name[GROUP_NAME])
{
	if (is_transfer(line))
		snprintf(name, GROUP_NAME, "0x%" PRIx64 " %" PRId32 "->%" PRId32, line->communicator, line->from,
			 line->to);
	else
		snprintf(name, GROUP_NAME, "0x%" PRIx64, line->communicator);
}

/* As PyTorch says that a group has no name. */
static char *group_description(const struct rw_communicator *communicator)
{
	return foreign_text(communicator->name[0] ? communicator->name : "undefined");
}

static const struct rw_communicator *line_of(const struct writer *writer, size_t index, struct common_line *line)
{
	const struct rw_operation *operation = &writer->operations.list[index];
	const struct rw_communicator *communicator = box_operations_communicator(&writer->operations, operation);

	return common_line_of(operation, communicator, line) ? communicator : NULL;
}

static bool has_name(const struct common_line *line)
{
	return is_transfer(line) || (line->function < RW_FUNCTION_COUNT && collectives[line->function].name);
}

static bool is_writable(struct writer *writer, const struct common_lines *lines, size_t index)
{
	const struct rw_operation *operation = &writer->operations.list[index];
	struct common_line line;
	const struct rw_communicator *communicator = line_of(writer, index, &line);

	if (!communicator || !has_name(&line) || line.unannounced)
		return false;
	if (!writer->worlds[operation->comm]) {
		writer->result->strangers++;
		return false;
	}
	if (common_lines_keep(lines, &line, operation->sequence, is_transfer(&line) ? 2 : (size_t)communicator->nranks))
		return true;
	writer->result->forgotten++;
	return false;
}

static void key(const struct writer *writer, const char *name)
{
	plain_text(writer->out, name);
}

static void write_ranks(const struct writer *writer, const int32_t *ranks, size_t count)
{
	char *text = NULL;
	size_t length;
	FILE *list = open_memstream(&text, &length);

	for (size_t i = 0; list && i < count; i++)
		fprintf(list, "%s%" PRId32, i ? ", " : "[", ranks[i]);
	if (list) {
		fputs("]", list);
		fclose(list);
	}
	key(writer, "ranks"); /* a text: the reader evaluates it */
	plain_text(writer->out, text ? text : "[]");
	free(text);
}

static void write_group(const struct writer *writer, const struct common_line *line,
			const struct rw_communicator *communicator, uint32_t comm)
{
	const int32_t *world = writer->worlds[comm];
	const int32_t pair[] = { world[is_transfer(line) ? line->from : 0], world[is_transfer(line) ? line->to : 0] };
	char name[GROUP_NAME], *description = group_description(communicator);

	line_name(line, name);
	key(writer, name);
	plain_dict_begin(writer->out);
	key(writer, "name");
	plain_text(writer->out, name);
	key(writer, "desc");
	plain_text(writer->out, description ? description : "undefined");
	if (is_transfer(line))
		write_ranks(writer, pair, 2);
	else
		write_ranks(writer, world, (size_t)communicator->nranks);
	plain_dict_end(writer->out);
	free(description);
}

static bool is_same_group(const struct common_line *one, const struct common_line *other)
{
	return one->communicator == other->communicator && one->from == other->from && one->to == other->to;
}

/* Each group of which an operation follows. */
static void write_groups(const struct writer *writer)
{
	struct common_line line, other;

	key(writer, "pg_config");
	plain_dict_begin(writer->out);
	for (size_t i = 0; i < writer->operations.count; i++) {
		const struct rw_communicator *communicator = writer->is_kept[i] ? line_of(writer, i, &line) : NULL;
		bool known = false;

		if (!communicator)
			continue;
		for (size_t j = 0; j < i && !known; j++)
			known = writer->is_kept[j] && line_of(writer, j, &other) && is_same_group(&line, &other);
		if (!known)
			write_group(writer, &line, communicator, writer->operations.list[i].comm);
	}
	plain_dict_end(writer->out);
}

static void number(const struct writer *writer, const char *name, uint64_t value)
{
	key(writer, name);
	plain_integer(writer->out, (int64_t)value);
}

/* Nanoseconds since 1970, None when it is not known. */
static void time_of(const struct writer *writer, const char *name, bool known, uint64_t at_ns)
{
	key(writer, name);
	if (known)
		plain_integer(writer->out, (int64_t)at_ns + writer->realtime_offset_ns);
	else
		plain_none(writer->out);
}

/* A list of shapes with one number in it, and a list of types. */
static void write_shape(const struct writer *writer, bool in, uint64_t elements, const char *dtype)
{
	key(writer, in ? "input_sizes" : "output_sizes");
	plain_list_begin(writer->out);
	plain_list_begin(writer->out);
	plain_integer(writer->out, elements > INT64_MAX ? INT64_MAX : (int64_t)elements);
	plain_list_end(writer->out);
	plain_list_end(writer->out);
	key(writer, in ? "input_dtypes" : "output_dtypes");
	plain_list_begin(writer->out);
	plain_text(writer->out, dtype ? dtype : "Unknown");
	plain_list_end(writer->out);
}

static const char *state_name(enum operation_state state)
{
	return state == OPERATION_ENDED || state == OPERATION_DONE ? "completed"
	       : state == OPERATION_RUNNING                        ? "started"
								   : "scheduled";
}

/* The reader numbers the ranks of a group in the order of their world ranks. */
static void write_name(const struct writer *writer, const struct common_line *line,
		       const struct rw_operation *operation)
{
	const int32_t *world = writer->worlds[operation->comm];
	bool ascends = is_transfer(line) && world[line->from] < world[line->to];
	char name[GROUP_NAME];

	if (operation->function == RW_FUNCTION_SEND)
		snprintf(name, sizeof(name), "nccl:send %d->%d", !ascends, ascends);
	else if (operation->function == RW_FUNCTION_RECV)
		snprintf(name, sizeof(name), "nccl:recv %d<-%d", ascends, !ascends);
	else
		snprintf(name, sizeof(name), "%s", collectives[operation->function].name);
	key(writer, "profiling_name");
	plain_text(writer->out, name);
}

static void write_shapes(const struct writer *writer, const struct common_line *line,
			 const struct rw_operation *operation, int32_t ranks)
{
	bool all_in = !is_transfer(line) && collectives[operation->function].in == ALL;
	bool all_out = !is_transfer(line) && collectives[operation->function].out == ALL;
	const char *dtype = operation_dtype(operation);

	write_shape(writer, true, operation->count * (all_in ? (uint64_t)ranks : 1), dtype);
	write_shape(writer, false, operation->count * (all_out ? (uint64_t)ranks : 1), dtype);
}

static void write_group_of(const struct writer *writer, const struct common_line *line,
			   const struct rw_communicator *communicator)
{
	char name[GROUP_NAME], *description = group_description(communicator);

	line_name(line, name);
	key(writer, "process_group");
	plain_list_begin(writer->out);
	plain_text(writer->out, name);
	plain_text(writer->out, description ? description : "undefined");
	plain_list_end(writer->out);
	free(description);
}

static void write_times(const struct writer *writer, const struct rw_operation *operation)
{
	bool started = operation->known & RW_KNOWN_STARTED, done = operation->known & RW_KNOWN_DONE;

	time_of(writer, "time_created_ns", operation->known & RW_KNOWN_API, operation->api_ns);
	time_of(writer, "time_discovered_started_ns", started, operation->started_seen_ns);
	time_of(writer, "time_discovered_completed_ns", done, operation->done_seen_ns);
}

static void write_entry(struct writer *writer, size_t index)
{
	const struct rw_operation *operation = &writer->operations.list[index];
	enum operation_state state = box_operations_state(&writer->operations, operation);
	bool ended = state == OPERATION_ENDED || state == OPERATION_DONE;
	struct common_line line;
	const struct rw_communicator *communicator = line_of(writer, index, &line);
	uint64_t sequence = is_transfer(&line) ? operation->sequence : ++writer->collectives[operation->comm];

	plain_dict_begin(writer->out);
	number(writer, "record_id", writer->result->entries);
	number(writer, "pg_id", operation->comm);
	write_group_of(writer, &line, communicator);
	number(writer, "collective_seq_id", sequence);
	number(writer, "p2p_seq_id", is_transfer(&line) ? sequence : 0);
	number(writer, "op_id", sequence);
	write_name(writer, &line, operation);
	write_shapes(writer, &line, operation, communicator->nranks);
	write_times(writer, operation);
	key(writer, "state");
	plain_text(writer->out, state_name(state));
	key(writer, "is_p2p");
	plain_bool(writer->out, is_transfer(&line));
	key(writer, "retired");
	plain_bool(writer->out, ended);
	number(writer, "timeout_ms", writer->header->watchdog_ms);
	key(writer, "frames");
	plain_list_begin(writer->out);
	plain_list_end(writer->out);
	plain_dict_end(writer->out);
	writer->result->entries++;
	writer->result->unfinished += !ended;
}

static void write_dump(struct writer *writer)
{
	uint64_t before = writer->result->entries;

	plain_dict_begin(writer->out);
	key(writer, "version");
	plain_text(writer->out, FORMAT_VERSION);
	write_groups(writer);
	key(writer, "entries");
	plain_list_begin(writer->out);
	writer->result->entries =
	    0; /* each rank counts its own from 0: so the reader takes no rank for one that has forgotten more */
	for (size_t i = 0; i < writer->operations.count && !ferror(writer->out->out); i++)
		if (writer->is_kept[i])
			write_entry(writer, i);
	writer->result->entries += before;
	plain_list_end(writer->out);
	plain_dict_end(writer->out);
	plain_end(writer->out);
}

static int find_worlds(struct writer *writer, const struct group_table *groups)
{
	uint32_t count = writer->operations.communicator_count;

	writer->worlds = calloc(count + 1, sizeof(*writer->worlds));
	writer->collectives = calloc(count + 1, sizeof(*writer->collectives));
	writer->is_kept = calloc(writer->operations.count + 1, sizeof(*writer->is_kept));
	if (!writer->worlds || !writer->collectives || !writer->is_kept)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		if (writer->operations.communicators[i].created_ns)
			writer->worlds[i] = group_table_find(groups, writer->operations.communicators[i].id,
							     writer->operations.communicators[i].nranks);
	return 0;
}

static void free_writer(struct writer *writer)
{
	for (uint32_t i = 0; writer->worlds && i < writer->operations.communicator_count; i++)
		free(writer->worlds[i]);
	free(writer->worlds);
	free(writer->collectives);
	free(writer->is_kept);
	box_operations_free(&writer->operations);
}

int rank_dump_write(FILE *out, enum plain_format format, const struct box_entry *entry,
		    const struct group_table *groups, const struct common_lines *lines,
		    struct flight_recorder_result *result)
{
	struct plain_data data;
	struct writer writer = { .out = &data,
				 .header = &entry->reader.header,
				 .realtime_offset_ns = box_realtime_offset(&entry->reader.header),
				 .result = result };
	int err = box_operations_read(&writer.operations, &entry->reader);

	if (err != -ENOMEM) /* what can be read of a damaged box is written: look_at() has said so */
		err = find_worlds(&writer, groups);
	if (!err) {
		for (size_t i = 0; i < writer.operations.count; i++)
			writer.is_kept[i] = is_writable(&writer, lines, i);
		plain_begin(&data, out, format);
		write_dump(&writer);
	}
	free_writer(&writer);
	return err;
}
