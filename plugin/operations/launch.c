/* SPDX-License-Identifier: MIT */
#include "plugin/operations/launch.h"

void launch_is_not_followed(struct communicator *communicator, struct operation_launch *launch)
{
	launch->progress = 0;
	atomic_store_explicit(&communicator->entry->launched,
			      atomic_load_explicit(&communicator->finishing, memory_order_relaxed),
			      memory_order_relaxed);
}
