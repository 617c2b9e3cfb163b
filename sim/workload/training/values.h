/* SPDX-License-Identifier: MIT */
/*
 * The values the ranks exchange, so that each knows what a collective must leave without asking anybody. All are
 * small integers: bf16 holds them, and sums of 64 of them, exactly, in whatever order NCCL adds. What one collective
 * carries begins at a place in the type's period that depends on rank, site (which call of the step) and step.
 */
#ifndef SIM_WORKLOAD_TRAINING_VALUES_H
#define SIM_WORKLOAD_TRAINING_VALUES_H

#include <stddef.h>

#include <nccl.h>

enum values_type {
	VALUES_BF16,	 /* to be moved */
	VALUES_FP8,	 /* so, too */
	VALUES_BF16_SUM, /* to be added up */
	VALUES_FP16_SUM,
	VALUES_FLOAT,
	VALUES_TYPES
};

struct values {
	void *tables[VALUES_TYPES]; /* pinned; a bit longer than `elements` */
	size_t elements;	    /* most that one collective carries */
};

void values_open(struct values *values, size_t elements);
void values_close(struct values *values);

/* Pinned memory; `values->elements - first` values from there. */
const void *values_of(const struct values *values, enum values_type type, int rank, int site, int step, size_t first);
/* What is at `index` of it. */
float values_at(enum values_type type, int rank, int site, int step, size_t index);
size_t values_size(enum values_type type);
ncclDataType_t values_nccl_type(enum values_type type);

#endif
