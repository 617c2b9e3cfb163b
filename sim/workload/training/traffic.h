/* SPDX-License-Identifier: MIT */
/*
 * The data of a rank's calls as they go by: what sort they are, what a fault makes of them (fault_values.c), and how a
 * NaN spreads. In the fault's step it goes where data flow, decided on the streams and not on the host: what is
 * computed from a bad activation is bad, a bad gradient makes the gradients' norm bad. That carries it to all ranks,
 * and from the next step on everything is NaN, as in training.
 */
#ifndef SIM_WORKLOAD_TRAINING_TRAFFIC_H
#define SIM_WORKLOAD_TRAINING_TRAFFIC_H

#include <stdatomic.h>
#include <stddef.h>

#include "sim/workload/training/collective.h"

struct training;

enum traffic_sort {
	TRAFFIC_PARAMETERS,  /* gathered in place, before the optimizer has touched them */
	TRAFFIC_GRADIENTS,   /* reduced beside the computation */
	TRAFFIC_SCALARS,     /* norm and losses at the end of a step */
	TRAFFIC_ACTIVATIONS, /* all the others: of the forward pass, and their gradients */
	TRAFFIC_GRAPH,       /* the static inputs of the step's CUDA graph, before each replay */
	TRAFFIC_SORTS
};

struct traffic_call {
	const struct collective_call *call;
	enum traffic_sort sort;
	int number; /* in its step, of its sort, from 0 */
};

enum { TRAFFIC_STREAMS = 16 };

struct traffic {
	const struct training *training;
	int step;
	int numbers[TRAFFIC_SORTS]; /* calls of the step so far */
	struct traffic_stream {
		CUstream stream;
		void *copy; /* pinned, `room` bytes: of what it moves last */
	} streams[TRAFFIC_STREAMS];
	size_t stream_count, room;
	atomic_bool bad_activations, bad_gradients; /* written by the streams' threads */
};

/* Watches all calls from now on. training must outlive it. */
void traffic_open(struct traffic *traffic, const struct training *training);
/* When all streams are idle. */
void traffic_close(struct traffic *traffic);

#endif
