/* SPDX-License-Identifier: MIT */
/* Faults of a rank whose log or data lies on a slow file system. */

#include "data_file.h"
#include "fault.h"
#include "log_writer.h"

enum { SCALARS_BYTES = 200 };

static int open_log(struct fault *fault)
{
	struct log_writer *log = NULL;
	int err = fault->mine ? log_writer_open(&log, fault->options->log_dir, fault->rank) : 0;

	fault->tool = log;
	return err;
}

static void close_log(struct fault *fault)
{
	log_writer_close(fault->tool);
}

/* From the fault's step on it logs much and wants it on the disk; before, a few numbers that stay in memory. */
static size_t bytes_of(const struct fault *fault, int step)
{
	return fault_holds(fault, step) ? fault->options->log_bytes : SCALARS_BYTES;
}

static void log_through_thread(struct fault *fault, int step)
{
	if (fault->mine)
		log_writer_put(fault->tool, bytes_of(fault, step), fault_holds(fault, step));
}

static void log_unsynced(struct fault *fault, int step)
{
	if (fault->mine)
		log_writer_put(fault->tool, bytes_of(fault, step), false);
}

static void log_directly(struct fault *fault, int step)
{
	if (fault->mine)
		log_writer_write(fault->tool, bytes_of(fault, step), fault_holds(fault, step));
}

static void log_and_close(struct fault *fault, int step)
{
	if (!fault->mine)
		return;
	log_writer_write(fault->tool, bytes_of(fault, step), false);
	log_writer_reopen(fault->tool);
}

static int open_data(struct fault *fault)
{
	struct data_file *data = NULL;
	int err = fault->mine ? data_file_create(&data, fault->options->log_dir, fault->options->log_bytes) : 0;

	fault->tool = data;
	return err;
}

static void close_data(struct fault *fault)
{
	data_file_close(fault->tool);
}

static void read_data(struct fault *fault, int step)
{
	if (!fault->mine)
		return;
	if (fault_holds(fault, step))
		data_file_forget(fault->tool);
	data_file_read(fault->tool);
}

#define LOGS .harms = true, .logs = true, .open = open_log, .close = close_log

const struct fault_kind fault_io_kinds[] = {
	{ .name = "io", LOGS, .between_steps = log_through_thread,
	  .doc = "its log writer thread syncs to --log-dir; the main thread waits for room in its queue" },
	{ .name = "io-direct", LOGS, .between_steps = log_directly,
	  .doc = "the main thread itself writes and syncs to --log-dir" },
	{ .name = "io-write", LOGS, .between_steps = log_unsynced,
	  .doc = "its log writer thread writes to --log-dir and never syncs" },
	{ .name = "io-close", LOGS, .between_steps = log_and_close,
	  .doc = "the main thread writes to --log-dir and closes the file each time" },
	{ .name = "io-read", .harms = true, .logs = true, .open = open_data, .close = close_data, .between_steps = read_data,
	  .doc = "the main thread reads a data file in --log-dir that the page cache has lost" },
	{ 0 },
};
