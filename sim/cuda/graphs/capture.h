/* SPDX-License-Identifier: MIT */
/*
 * Stream capture. A capture begins on one stream; other streams join it by waiting for an event that was recorded in
 * it, and must be joined back, unless the program has set its place with cuStreamUpdateCaptureDependencies and it
 * captured nothing since. While a stream is captured, its tasks become nodes of the capture's graph. A call that
 * cannot be captured fails and invalidates the capture: nothing more is taken, and ending it gives no graph.
 */
#ifndef SIM_CUDA_GRAPHS_CAPTURE_H
#define SIM_CUDA_GRAPHS_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/cuda/graphs/graph.h"

/* Where an event was recorded; id 0: not in a capture. The nodes may be looked at only while that capture lasts. */
struct captured_point {
	uint64_t id;
	struct node_set after;
};

/* Whether what is submitted to the stream is captured. Fails when nothing can be submitted: the capture is invalid, or
 * the stream is the legacy one beside a capture of a blocking stream, which that invalidates. */
CUresult capture_covers(CUstream stream, bool *captured);
/* As capture_covers, and takes the task as a node, with its payload, when it is captured. */
CUresult capture_task(CUstream stream, const struct task_kind *kind, const void *payload, size_t size, bool *captured);
/* As capture_covers, and gives the point that the stream has reached when it is captured. */
CUresult capture_record(CUstream stream, struct captured_point *point, bool *captured);
/* The stream waits for a point of a capture: it joins it, or is in it already. */
CUresult capture_wait(CUstream stream, const struct captured_point *point);
/* An event that was recorded in a capture cannot be asked for: the error, and the capture is invalid. */
CUresult capture_refuse_event(const struct captured_point *point);
/* A captured stream cannot be asked or waited for; invalidates its capture. */
CUresult capture_refuse_stream(CUstream stream);
/* A captured stream was given work that depends on what is outside. */
CUresult capture_refuse_outside(CUstream stream);
/* The calling thread is about to do what no graph can repeat: fails, and invalidates the captures that prohibit it,
 * by the rules of cuThreadExchangeStreamCaptureMode. */
CUresult capture_check_unsafe(void);
/* The stream goes, and with it the capture that began on it. */
void capture_forget(CUstream stream);

/* What a stream's capture is like now. The nodes are the stream's own and stay until it gets more work. */
struct capture_view {
	CUstreamCaptureStatus status;
	uint64_t id;
	CUgraph graph;
	struct node_set after;
};

/* Fails for the legacy stream beside a capture of a blocking stream, without invalidating that. */
CUresult capture_look(CUstream stream, struct capture_view *view);
/* Not for the legacy stream. CUDA_ERROR_ILLEGAL_STATE: the stream is being captured. */
CUresult capture_begin(CUstream stream, CUstreamCaptureMode mode);
/* NULL for *graph unless it succeeds; the graph is the caller's. */
CUresult capture_end(CUstream stream, CUgraph *graph);
/* Adds to what the stream's next node depends on, or replaces it. */
CUresult capture_update(CUstream stream, const struct node_set *nodes, bool replace);
/* Sets the calling thread's mode and returns the one before. */
CUstreamCaptureMode capture_exchange_mode(CUstreamCaptureMode mode);

#endif
