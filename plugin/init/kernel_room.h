/* SPDX-License-Identifier: MIT */
/*
 * Room for NCCL's kernel events (RANKWATCH_KERNELCH=1). Up to 2.30.7 NCCL delivers them through the queue of its proxy thread, which it makes in
 * /dev/shm for each rank of a communicator, at the first operation that has such events (src/plugin/profiler.cc,
 * proxyProfilerConnect(); src/proxy.cc, ncclProxyConnect()). Where that does not fit, NCCL ignores the error and then reads the
 * queue that is not there: the job crashes (NVIDIA/nccl#2326). Docker gives containers a /dev/shm of 64 MB.
 */
#ifndef PLUGIN_INIT_KERNEL_ROOM_H
#define PLUGIN_INIT_KERNEL_ROOM_H

#include <stdbool.h>

struct communicator_init;
struct recording;

/* Is there room for the queues of all living communicators of this process, the newest too, on as many ranks as one host has of the
 * largest so far? (Where a process has several devices, each of its ranks counts as a communicator: that is too many.) False from the
 * first time on, of which a message reports. True from 2.31 on, where NCCL has a thread for these events. Any thread; takes a lock and
 * asks the file system. */
bool kernel_room(const struct recording *recording, const struct communicator_init *newest);

#endif
