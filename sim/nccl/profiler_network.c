/* SPDX-License-Identifier: MIT */
#include "profiler_network.h"

void profiler_transfer_take(struct transfer *transfer, const struct task *task)
{
	(void)transfer, (void)task;
}

void profiler_transfer_start(struct transfer *transfer)
{
	(void)transfer;
}

void profiler_transfer_progress(struct transfer *transfer)
{
	(void)transfer;
}

void profiler_transfer_stop(struct transfer *transfer)
{
	(void)transfer;
}

void profiler_step_start(struct transfer *transfer, int step)
{
	(void)transfer, (void)step;
}

void profiler_step_state(struct transfer *transfer, int step, int state, size_t bytes)
{
	(void)transfer, (void)step, (void)state, (void)bytes;
}

void profiler_step_stop(struct transfer *transfer, int step)
{
	(void)transfer, (void)step;
}
