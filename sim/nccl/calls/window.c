/* SPDX-License-Identifier: MIT */
#include "sim/nccl/calls/window.h"

#include <stdlib.h>

#include "sim/nccl/calls/export.h"
#include "sim/nccl/launch/work.h"
#include "sim/nccl/log.h"
#include "sim/nccl/release.h"

static bool is_symmetric(const struct ncclComm *comm, const void *buffer)
{
	for (const struct ncclWindow_vidmem *window = comm->windows; window; window = window->next) {
		if (window->window && (uintptr_t)buffer - (uintptr_t)window->start < window->size)
			return window->flags & NCCL_WIN_COLL_SYMMETRIC;
	}
	return false;
}

static bool copy_engine_can(enum function function)
{
	return function == FUNCTION_ALLGATHER || function == FUNCTION_ALLTOALL || function == FUNCTION_GATHER ||
	       function == FUNCTION_SCATTER;
}

/* Sums of floating point, which ncclAvg and operators with factors are not to NCCL. */
static bool symmetric_kernel_can(const struct task *task)
{
	bool reduces = task->function == FUNCTION_ALLREDUCE || task->function == FUNCTION_REDUCESCATTER;
	bool is_float = task->type >= ncclFloat16 && task->type != ncclFloat64;

	return task->function == FUNCTION_ALLGATHER || (reduces && task->op == ncclSum && is_float);
}

enum task_kind window_task_kind(const struct task *task)
{
	struct ncclComm *comm = task->comm;

	if (comm->hosts.count > 1 || !is_symmetric(comm, task->send) || !is_symmetric(comm, task->recv))
		return TASK_CLASSIC;
	if (comm->config.CTAPolicy == NCCL_CTA_POLICY_ZERO && release()->calls >= CALLS_2_28 &&
	    copy_engine_can(task->function))
		return TASK_COPY_ENGINE;
	return symmetric_kernel_can(task) ? TASK_SYMMETRIC : TASK_CLASSIC;
}

static ncclResult_t add(struct ncclComm *comm, const struct ncclWindow_vidmem *given, struct ncclWindow_vidmem **out)
{
	ncclResult_t result = comm_ready(comm);
	struct ncclWindow_vidmem *window = result == ncclSuccess ? malloc(sizeof(*window)) : NULL;

	if (!window)
		return result != ncclSuccess ? result : ncclSystemError;
	*window = *given;
	window->next = comm->windows;
	comm->windows = window;
	*out = window;
	return ncclSuccess;
}

static ncclResult_t take_out(const char *call, struct ncclComm *comm, const void *handle)
{
	struct ncclWindow_vidmem **at = comm ? &comm->windows : NULL;

	if (!comm) {
		log_warn("%s : comm argument is NULL", call);
		return ncclInvalidArgument;
	}
	if (!handle)
		return ncclSuccess;
	while (*at && *at != handle)
		at = &(*at)->next;
	if (!*at) {
		log_warn("%s : Deregistration requested, but handle not found", call);
		return ncclInvalidUsage;
	}
	struct ncclWindow_vidmem *window = *at;
	*at = window->next;
	free(window);
	return ncclSuccess;
}

ncclResult_t pncclCommRegister(const ncclComm_t comm, void *buffer, size_t size, void **handle)
{
	const struct ncclWindow_vidmem registered = { .start = buffer, .size = size };
	struct ncclWindow_vidmem *window;

	if (!comm || !handle || !buffer || !size) {
		log_warn("ncclCommRegister : an argument is NULL or the size is 0");
		return ncclInvalidArgument;
	}
	ncclResult_t result = add(comm, &registered, &window);
	if (result == ncclSuccess)
		*handle = window;
	return result;
}
EXPORT_WEAK(CommRegister);

ncclResult_t pncclCommDeregister(const ncclComm_t comm, void *handle)
{
	return take_out("ncclCommDeregister", comm, handle);
}
EXPORT_WEAK(CommDeregister);

ncclResult_t pncclCommWindowRegister(ncclComm_t comm, void *buffer, size_t size, ncclWindow_t *out, int flags)
{
	const struct ncclWindow_vidmem window = { .start = buffer, .size = size, .flags = flags, .window = true };
	ncclResult_t result = release_offers(CALLS_2_27, "ncclCommWindowRegister");

	if (result != ncclSuccess)
		return result;
	if (!comm || !out) {
		log_warn("ncclCommWindowRegister : %s argument is NULL", comm ? "win" : "comm");
		return ncclInvalidArgument;
	}
	return buffer && size ? add(comm, &window, out) : ncclSuccess;
}
EXPORT_WEAK(CommWindowRegister);

ncclResult_t pncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
	ncclResult_t result = release_offers(CALLS_2_27, "ncclCommWindowDeregister");

	return result == ncclSuccess ? take_out("ncclCommWindowDeregister", comm, window) : result;
}
EXPORT_WEAK(CommWindowDeregister);
