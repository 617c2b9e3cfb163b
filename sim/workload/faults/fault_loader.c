/* SPDX-License-Identifier: MIT */
/* Faults of a rank whose data come late from another process. */
#include "sim/workload/faults/fault.h"
#include "sim/workload/host/data_loader.h"

enum { READY_MS = 0, LATE_MS = 800, COMPUTES_MS = 8000 };

static int open_loader(struct fault *fault, bool remote)
{
	struct data_loader *loader = NULL;
	int err = fault->mine ? data_loader_start(&loader, remote) : 0;

	fault->tool = loader;
	return err;
}

static int open_local(struct fault *fault)
{
	return open_loader(fault, false);
}

static int open_remote(struct fault *fault)
{
	return open_loader(fault, true);
}

static void close_loader(struct fault *fault)
{
	data_loader_stop(fault->tool);
}

static void next_batch(struct fault *fault, int step)
{
	if (fault->mine)
		data_loader_next(fault->tool, DATA_LOADER_SLEEPS,
				 fault_holds(fault, step) ? fault_takes_ms(fault, LATE_MS) : READY_MS);
}

static void next_batch_computed(struct fault *fault, int step)
{
	if (fault->mine)
		data_loader_next(fault->tool, DATA_LOADER_COMPUTES,
				 fault_begins(fault, step) ? fault_takes_ms(fault, COMPUTES_MS) : READY_MS);
}

static void no_next_batch(struct fault *fault, int step)
{
	if (fault->mine)
		data_loader_next(fault->tool, fault_begins(fault, step) ? DATA_LOADER_HANGS : DATA_LOADER_SLEEPS,
				 READY_MS);
}

const struct fault_kind fault_loader_kinds[] = {
	{ .name = "loader", .harms = true, .open = open_local, .close = close_loader, .between_steps = next_batch,
	  .doc = "its data loader, another process behind a pipe, takes 800 ms for a batch" },
	{ .name = "loader-tcp", .harms = true, .open = open_remote, .close = close_loader, .between_steps = next_batch,
	  .doc = "the data service that it asks over TCP takes 800 ms for a batch" },
	{ .name = "loader-works", .harms = true, .open = open_local, .close = close_loader,
	  .between_steps = next_batch_computed,
	  .doc = "its data loader computes for 8 s for one batch" },
	{ .name = "loader-stuck", .harms = true, .open = open_local, .close = close_loader,
	  .between_steps = no_next_batch,
	  .doc = "its data loader never has the next batch" },
	{ 0 },
};
