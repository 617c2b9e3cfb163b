/* SPDX-License-Identifier: MIT */
#include "console/flight_recorder/dump.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "console/cli/unfinished.h"
#include "console/flight_recorder/rank_dump.h"

struct dump {
	const char *directory, *command;
	enum plain_format format;
	const struct box_entry *entries;
	size_t count;
	struct group_table groups;
	struct common_lines lines;
	struct flight_recorder_result *result;
};

static int say(const struct dump *dump, const char *path, int err)
{
	foreign_line(stderr, "%s: %s: %s", dump->command, path, strerror(-err));
	return err;
}

static bool forgot(const struct rw_box_header *header)
{
	return header->head > header->ring_slots;
}

/* Whom a communicator joins, and how far back each box reaches. */
static int look_at(struct dump *dump, const struct box_entry *entry)
{
	struct box_operations operations;
	int err = box_operations_read(&operations, &entry->reader);

	if (err && err != -ENOMEM) {
		dump->result->truncated++;
		say(dump, entry->path, err);
		err = 0;
	}
	if (!err)
		err = group_table_add(&dump->groups, operations.communicators, operations.communicator_count,
				      box_rank(&entry->reader));
	if (!err)
		err = common_lines_add(&dump->lines, &operations, forgot(&entry->reader.header));
	box_operations_free(&operations);
	return err;
}

static int write_dump(struct dump *dump, const struct box_entry *entry, int fd)
{
	FILE *out = fdopen(fd, "w");

	if (!out) {
		int err = -errno;

		close(fd);
		return err;
	}
	uint64_t before = dump->result->entries;
	int err = rank_dump_write(out, dump->format, entry, &dump->groups, &dump->lines, dump->result);

	dump->result->empty += dump->result->entries == before;
	if (!err && ferror(out))
		err = -EIO;
	if (fclose(out) && !err)
		err = -errno;
	return err;
}

/* The file has its name, which the analyser goes by, when it is whole; another of that name is left alone. */
static int write_file(struct dump *dump, const struct box_entry *entry, const char *path, const char *unfinished)
{
	unfinished_guard(unfinished);

	int fd = open(unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	int err = fd < 0 ? -errno : write_dump(dump, entry, fd);

	if (!err && link(unfinished, path))
		err = -errno;
	if (fd >= 0)
		unlink(unfinished);
	unfinished_release();
	return err ? say(dump, path, err) : 0;
}

/* Of two boxes of one rank, as after an elastic restart, the later one counts. */
static bool is_replaced(const struct dump *dump, const struct box_entry *entry)
{
	for (size_t i = 0; i < dump->count; i++) {
		const struct box_entry *other = &dump->entries[i];

		if (other != entry && box_rank(&other->reader) == box_rank(&entry->reader) &&
		    (other->reader.header.created_ns > entry->reader.header.created_ns ||
		     (other->reader.header.created_ns == entry->reader.header.created_ns && other > entry)))
			return true;
	}
	return false;
}

static int write_rank(struct dump *dump, const struct box_entry *entry)
{
	int32_t rank = box_rank(&entry->reader);
	char *path, *unfinished;

	if (rank < 0) {
		dump->result->nameless++;
		return 0;
	}
	if (is_replaced(dump, entry))
		return 0;
	if (asprintf(&path, "%s/rank_%" PRId32 "%s", dump->directory, rank, dump->format == PLAIN_JSON ? ".json" : "") <
	    0)
		return -ENOMEM;
	if (asprintf(&unfinished, "%s/.unfinished-%" PRId32, dump->directory, rank) < 0) {
		free(path);
		return -ENOMEM;
	}
	int err = write_file(dump, entry, path, unfinished);

	dump->result->ranks += !err;
	free(path);
	free(unfinished);
	return err;
}

int flight_recorder_write(const char *directory, enum plain_format format, const struct boxes *boxes, size_t first,
			  size_t count, const char *command, struct progress *progress,
			  struct flight_recorder_result *result)
{
	struct dump dump = { .directory = directory,
			     .format = format,
			     .command = command,
			     .entries = &boxes->entries[first],
			     .count = count,
			     .result = result };
	int err = 0;

	*result = (struct flight_recorder_result){ 0 };
	if (mkdir(directory, 0700) && errno != EEXIST)
		return say(&dump, directory, -errno);
	progress_begin(progress, "reading", count, "black box");
	for (size_t i = 0; i < count && !err; i++) {
		progress_show(progress, i, count);
		err = look_at(&dump, &dump.entries[i]);
	}
	group_table_order(&dump.groups);
	common_lines_order(&dump.lines);
	progress_begin(progress, "writing", count, "rank");
	for (size_t i = 0; i < count && !err; i++) {
		progress_show(progress, i, count);
		err = write_rank(&dump, &dump.entries[i]);
	}
	progress_end(progress);
	group_table_free(&dump.groups);
	common_lines_free(&dump.lines);
	return err;
}
