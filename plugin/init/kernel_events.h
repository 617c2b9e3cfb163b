/* SPDX-License-Identifier: MIT */
/*
 * Where NCCL's kernel events (RANKWATCH_KERNELCH=1) would crash the job or hang it. Up to 2.30.7 NCCL delivers them
 * through the queue of its proxy thread, which it makes in /dev/shm for each rank of a communicator, at the first
 * operation that has such events (src/plugin/profiler.cc, proxyProfilerConnect(); src/proxy.cc, ncclProxyConnect()).
 * Where that does not fit, NCCL ignores the error and then reads the queue that is not there: the job crashes
 * (NVIDIA/nccl#2326). Docker gives containers a /dev/shm of 64 MB.
 *
 * From 2.29.2 to 2.30.7 the GPU counts the Broadcasts of a group that have several roots (PyTorch's uneven all_gather),
 * the host does not (src/scheduler/allgatherv_sched.cc). The proxy thread then waits for a time that the GPU writes
 * only when it is 64 works further, and ncclCommDestroy waits for the proxy. A captured Broadcast has the same effect
 * at each replay. Taking the events back once such a call is seen would be too late for what has been captured or
 * queued by then.
 */
#ifndef PLUGIN_INIT_KERNEL_EVENTS_H
#define PLUGIN_INIT_KERNEL_EVENTS_H

#include <stdbool.h>

struct communicator_init;
struct recording;

/* Does NCCL not hang with them, and is there room for the queues of all living communicators of this process, the
 * newest too, on as many ranks as one host has of the largest so far? (Where a process has several devices, each of its
 * ranks counts as a communicator: that is too many.) False from the first time on, of which a message reports. True
 * from 2.31 on, where NCCL has a thread for these events. Any thread; takes a lock and asks the file system. */
bool kernel_events_are_safe(const struct recording *recording, const struct communicator_init *newest);

#endif
