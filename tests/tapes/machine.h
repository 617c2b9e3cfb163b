/* SPDX-License-Identifier: MIT */
/* What the machine shows of a job, brought onto a tape: one file per kind of source. One thread. */
#ifndef TESTS_TAPES_MACHINE_H
#define TESTS_TAPES_MACHINE_H

#include <stdbool.h>
#include <sys/types.h>

#include "recording.h"

/* Reads a whole file; returns its length, or -1. *text is the caller's buffer of TAPE_TEXT_MAX bytes. */
ssize_t machine_read(const char *path, char *text);

/* The black boxes in `directory`: their bytes, who holds their locks, how those processes ended. */
struct recorded_boxes;
struct recorded_boxes *recorded_boxes_new(const char *directory);
void recorded_boxes_look(struct recorded_boxes *boxes, struct recording *recording);
/* The processes that hold a box now: at most `room`; returns how many. */
size_t recorded_boxes_writers(const struct recorded_boxes *boxes, pid_t *pids, size_t room);
/* The job is over: there were boxes, and nobody holds one any more. */
bool recorded_boxes_are_left(const struct recorded_boxes *boxes);
void recorded_boxes_free(struct recorded_boxes *boxes);

/* The stand-in's GPUs are threads of the job. On a real machine no kernel shows what a GPU does: they are not
 * recorded. */
bool machine_is_gpu(const char *thread_name);

/* /proc of one process: every thread's files, and the descriptors that they wait for. */
struct recorded_threads;
struct recorded_threads *recorded_threads_new(void);
void recorded_threads_look(struct recorded_threads *threads, struct recording *recording, pid_t pid);
void recorded_threads_descriptor(struct recording *recording, pid_t pid, int fd);
/* The first descriptor of poll(2)'s array, where it lies in the process's memory. */
void recorded_threads_polled(struct recording *recording, pid_t pid, uint64_t address);
void recorded_threads_free(struct recorded_threads *threads);

/* The children of this process's main thread, eight at most: their threads, and the pipes and sockets that they have
 * open. */
void recorded_children_look(struct recorded_threads *threads, struct recording *recording, pid_t pid,
			    bool with_descriptors);

/* The processes of ranks that have no box, by their environment, as found by the last recorded_slowly_look(). */
size_t recorded_absentees(const pid_t *boxed, size_t boxed_count, pid_t *pids, size_t room);
/* What changes slowly: mounts, control groups, processes that have no box. Call once a second. */
void recorded_slowly_look(struct recording *recording, const pid_t *pids, size_t count, const char *directory);
/* A variable of any of the processes whose environment has RANKWATCH_DIR=directory; "" when there is none yet. */
void recorded_variable(const char *directory, const char *name, char value[TAPE_PATH]);

/* The kernel's records, through BPF. NULL: not possible here; `why` says what is missing. */
struct recorded_kernel;
struct recorded_kernel *recorded_kernel_new(struct recording *recording, char why[256]);
void recorded_kernel_watch(struct recorded_kernel *kernel, const pid_t *pids, size_t count);
void recorded_kernel_look(struct recorded_kernel *kernel);
void recorded_kernel_free(struct recorded_kernel *kernel);

/* GPUs: NVML's answers, and the kernel log from the file that the job's SIM_KERNEL_LOG names. */
struct recorded_gpus;
struct recorded_gpus *recorded_gpus_new(const char *directory); /* NULL: the job is not there yet */
void recorded_gpus_look(struct recorded_gpus *gpus, struct recording *recording, uint64_t now_ns);
void recorded_gpus_free(struct recorded_gpus *gpus);

#endif
