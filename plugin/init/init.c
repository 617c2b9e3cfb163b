/* SPDX-License-Identifier: MIT */
#include "plugin/init/init.h"

#include <pthread.h>

#include "plugin/init/process.h"
#include "plugin/operations/call.h"
#include "plugin/operations/kernel.h"
#include "plugin/operations/recorder.h"
#include "plugin/recording/handle.h"
#include "plugin/recording/recording.h"
#include "plugin/scanning/scanning.h"

/* Inits ask the driver one after the other. No finalize, and so no abort, takes this lock: a driver that does not return
 * holds up the inits that ask it and nobody else. */
static pthread_mutex_t asking = PTHREAD_MUTEX_INITIALIZER;

static void ask_driver(struct recording *recording, struct communicator_device *device)
{
	pthread_mutex_lock(&asking);
	progress_communicator(&recording->progress, &device->counters);
	device->scan = scanning_device();
	device->has_device = progress_device(&recording->progress, &device->device);
	pthread_mutex_unlock(&asking);
}

struct communicator *init_communicator(const struct communicator_init *from)
{
	struct recording *recording = process_record(from);
	struct communicator_device device = { .has_device = false };

	if (!recording)
		return NULL;
	ask_driver(recording, &device);
	return communicator_add(recording, from, &device);
}

enum init_wish init_context(const struct communicator_init *from, void **context)
{
	*context = handle_context(HANDLE_BLIND, 0);
	if (from->abi >= 4 && from->nranks < 2)
		return INIT_NOTHING;
	struct communicator *communicator = init_communicator(from);
	if (!communicator)
		return INIT_NOTHING;
	call_communicator_added(communicator);
	recorder_know_thread();
	*context = handle_context(communicator->index, communicator->generation);
	return kernels_are_recorded() ? INIT_OPERATIONS_AND_KERNELS : INIT_OPERATIONS;
}

void init_finalize(void *context)
{
	struct recording *recording = recording_get();
	struct communicator *communicator = recording ? recording_find(recording, context) : NULL;

	if (communicator)
		communicator_end(recording, communicator);
}
