/* SPDX-License-Identifier: MIT */
/*
 * What this host's analysis knows of its ranks, as batches of messages for whoever judges the whole job (include/rankwatch/message.h,
 * docs/messages.md). Of communicators that span hosts: what lies on one host alone, its analysis judges itself.
 *
 * Pure, as the analysis is; not thread safe: one owner, the analysis's.
 */
#ifndef ANALYSIS_NODE_NODE_HALF_H
#define ANALYSIS_NODE_NODE_HALF_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"

struct node_half;

/* Who sends. All is copied. */
struct node_identity {
	const char *job, *host; /* cut to 63 bytes */
	uint8_t boot[16];	/* boot_id, 0 not known */
	uint64_t start;		/* another one each time that the collector starts: CLOCK_REALTIME in ns, or random */
};

/* One batch, RW_BATCH_MAX bytes at most. The bytes are the node half's, valid during the call. */
typedef void node_half_send(void *argument, const void *bytes, size_t length);

/* Attaches itself to the analysis, which must outlive it, and from then on sees what that accounts for. One to an analysis.
 * NULL on lack of memory. */
struct node_half *node_half_new(struct analysis *analysis, const struct node_identity *identity);
/* From the emit of its analysis, each finding: whoever judges the job does not tell it again. */
void node_half_note_finding(struct node_half *half, const struct rw_finding *finding);
/* Behind each analysis_tick(), with its time. Sends what is new; with nothing new for a second, a batch of no messages. */
void node_half_tick(struct node_half *half, uint64_t now_ns, node_half_send *send, void *argument);
/* What who judges the job asks of this host: a batch as it came. 0, or -EINVAL: nothing of it was taken, and *why says why, a sentence
 * without an end; why may be NULL. */
int node_half_ask(struct node_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why);
/* As analysis_suspects(): ranks of this host that have called nothing for a second and wait for nobody, so that another host may wait
 * for them, and those that were asked for. Fills at most `room`; returns how many there are. */
size_t node_half_suspects(const struct node_half *half, struct analysis_suspect *suspects, size_t room);
/* The last batch: the collector ends in order. */
void node_half_end(struct node_half *half, uint64_t now_ns, node_half_send *send, void *argument);
void node_half_free(struct node_half *half);

#endif
