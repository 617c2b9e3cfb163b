/* SPDX-License-Identifier: MIT */
/*
 * Metrics to a file, as TensorBoard's SummaryWriter writes them: the training thread puts events into a bounded queue,
 * the thread "tb-writer" takes them out and writes each to the file. A full queue holds the training thread up.
 */
#ifndef SIM_WORKLOAD_HOST_LOG_WRITER_H
#define SIM_WORKLOAD_HOST_LOG_WRITER_H

#include <stdbool.h>
#include <stddef.h>

struct log_writer;

/* Creates DIR/events.out.tfevents.RANK; `room` events fit into the queue. 0 or -errno; *writer is the caller's until
 * log_writer_close(). */
int log_writer_open(struct log_writer **writer, const char *dir, int rank, unsigned int room);
/* Writes what is queued, then ends. NULL is fine. */
void log_writer_close(struct log_writer *writer);

/* Queues an event of `bytes` bytes, synced to the disk if so asked; waits while the queue is full. */
void log_writer_put(struct log_writer *writer, size_t bytes, bool sync);
/* Writes it in the calling thread, past the queue. */
void log_writer_write(struct log_writer *writer, size_t bytes, bool sync);
/* Closes the file and opens it again: network file systems send at close(2) what was written. */
void log_writer_reopen(struct log_writer *writer);

#endif
