/* SPDX-License-Identifier: MIT */
/* A part of the training data, on a file system that may be slow. */
#ifndef SIM_WORKLOAD_HOST_DATA_FILE_H
#define SIM_WORKLOAD_HOST_DATA_FILE_H

#include <stddef.h>

struct data_file;

/* Writes DIR/train.bin with `bytes` bytes and syncs it. 0 or -errno; *file is the caller's until data_file_close(). */
int data_file_create(struct data_file **file, const char *dir, size_t bytes);
/* NULL is fine. */
void data_file_close(struct data_file *file);

/* Drops it from the page cache. */
void data_file_forget(struct data_file *file);
/* Reads all of it; ends the process with a message when that fails. */
void data_file_read(struct data_file *file);
/* Reads one byte of each of its pages through a mapping, in an order that no read-ahead foresees. */
void data_file_touch(struct data_file *file);

#endif
