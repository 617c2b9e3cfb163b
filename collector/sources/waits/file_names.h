/* SPDX-License-Identifier: MIT */
/*
 * What the files were called that threads waited for a moment ago. A thread that waits on one file a hundred times a
 * second is asked for its name once: reading it takes 15 µs and seven system calls. One owner thread.
 */
#ifndef COLLECTOR_SOURCES_WAITS_FILE_NAMES_H
#define COLLECTOR_SOURCES_WAITS_FILE_NAMES_H

#include <rankwatch/kernel_event.h>

#include <stdbool.h>

#include "analysis/analysis.h"

/* A file that was renamed has its old name for so long. */
#define FILE_NAMES_KEPT_NS UINT64_C(2000000000)

struct file_names;

struct file_names *file_names_new(void);	   /* NULL: no memory */
void file_names_free(struct file_names *names); /* accepts NULL, as do all others */
/* Fills path, file system and device's name of the record's file, if they were kept for the same descriptor of the same
 * process, which then stood for the same file (device, inode, last part of the path), within FILE_NAMES_KEPT_NS before
 * the record's end. */
bool file_names_find(const struct file_names *names, const struct rw_kernel_wait *record, struct analysis_wait *wait);
/* As they stand in `wait`, read for this record. One that was kept for another descriptor may have to make room. */
void file_names_keep(struct file_names *names, const struct rw_kernel_wait *record, const struct analysis_wait *wait);
/* Nothing is known of this process any more: its number may be another's. */
void file_names_forget(struct file_names *names, uint32_t tgid);

#endif
