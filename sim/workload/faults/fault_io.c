/* SPDX-License-Identifier: MIT */
/* Faults of a rank whose log or data lies on a slow file system. */

#include "sim/workload/faults/fault.h"
#include "sim/workload/host/data_file.h"
#include "sim/workload/host/log_writer.h"

/* TorchTitan gives TensorBoard's writer a queue of 1000; a histogram of every parameter of a model is hundreds of
 * events. */
enum { SCALARS_BYTES = 200, SCALARS = 4, HISTOGRAMS = 400, TENSORBOARD_ROOM = 1000, SHORT_ROOM = 2 };

static int open_log_with(struct fault *fault, unsigned int room)
{
	struct log_writer *log = NULL;
	int err = fault->mine ? log_writer_open(&log, fault->options->log_dir, fault->rank, room) : 0;

	fault->tool = log;
	return err;
}

static int open_log(struct fault *fault)
{
	return open_log_with(fault, SHORT_ROOM);
}

static int open_tensorboard(struct fault *fault)
{
	return open_log_with(fault, TENSORBOARD_ROOM);
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

/* As add_histogram() and add_scalar() of a SummaryWriter, which never syncs. */
static void log_summaries(struct fault *fault, int step)
{
	bool all = fault_holds(fault, step);
	int events = all ? HISTOGRAMS : SCALARS;

	if (!fault->mine)
		return;
	for (int i = 0; i < events; i++)
		log_writer_put(fault->tool, all ? fault->options->log_bytes / HISTOGRAMS : SCALARS_BYTES, false);
}

/* What it logs becomes more with each step. At first the thread can write it beside the step; when it cannot any more,
 * steps become longer by what each adds. */
static void log_more_and_more(struct fault *fault, int step)
{
	size_t times = fault_holds(fault, step) ? (size_t)(step - fault->options->fault_step) + 1 : 0;

	if (fault->mine)
		log_writer_put(fault->tool, SCALARS_BYTES + times * fault->options->log_bytes, false);
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
	{ .name = "io", .harms = true, .logs = true, .open = open_tensorboard, .close = close_log,
	  .between_steps = log_summaries,
	  .doc = "it logs to --log-dir through TensorBoard's thread, more than that can write: the queue is full" },
	{ .name = "io-fsync",
	  LOGS,
	  .between_steps = log_through_thread,
	  .doc = "its log writer thread syncs to --log-dir; the main thread waits for room in its queue of two" },
	{ .name = "io-direct",
	  LOGS,
	  .between_steps = log_directly,
	  .doc = "the main thread itself writes and syncs to --log-dir" },
	{ .name = "io-write",
	  LOGS,
	  .between_steps = log_unsynced,
	  .doc = "its log writer thread writes to --log-dir and never syncs" },
	{ .name = "io-grows",
	  LOGS,
	  .between_steps = log_more_and_more,
	  .doc = "the same, and what it logs in a step is --log-bytes more than in the step before" },
	{ .name = "io-close",
	  LOGS,
	  .between_steps = log_and_close,
	  .doc = "the main thread writes to --log-dir and closes the file each time" },
	{ .name = "io-read", .harms = true, .logs = true, .open = open_data, .close = close_data,
	  .between_steps = read_data,
	  .doc = "the main thread reads a data file in --log-dir that the page cache has lost" },
	{ 0 },
};
