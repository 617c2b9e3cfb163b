/* SPDX-License-Identifier: MIT */
/*
 * The node half sends what this host's analysis knows about its ranks, as batches of messages, to the program that
 * judges the whole job (include/rankwatch/message.h, docs/messages.md). It covers communicators that span hosts: those
 * on one host only are judged by the host's analysis itself.
 *
 * It is pure, like the analysis: it has no I/O, no clock and no threads. It is not thread safe: the owner of the
 * analysis calls it.
 */
#ifndef ANALYSIS_NODE_NODE_HALF_H
#define ANALYSIS_NODE_NODE_HALF_H

#include <stddef.h>
#include <stdint.h>

#include "analysis/analysis.h"
#include "analysis/node/sender.h"

struct node_half;

/* Makes a node half, which the caller frees with node_half_free(). It attaches itself to the analysis, which must
 * outlive it, and from then on sees each operation that the analysis accounts for. An analysis can have one. NULL on
 * lack of memory. */
struct node_half *node_half_new(struct analysis *analysis, const struct node_identity *identity);
/* Call this with each finding that the analysis emits, so that the judge of the job does not report it again. */
void node_half_note_finding(struct node_half *half, const struct rw_finding *finding);
/* Call this after each analysis_tick(), with the same time. It sends what is new; after a second with nothing new, an
 * empty batch. */
void node_half_tick(struct node_half *half, uint64_t now_ns, node_half_send *send, void *argument);
/* Takes a request of the judge of the job to this host: a batch as it was received. Returns 0, or -EINVAL: nothing of
 * it was taken, and *why is the reason, a sentence without a full stop. why may be NULL. */
int node_half_ask(struct node_half *half, const void *bytes, size_t length, uint64_t now_ns, const char **why);
/* Like analysis_suspects(). These are the ranks of this host that have called nothing for a second and do not wait, so
 * that another host may wait for them, and the ranks that the judge has asked about. Fills at most `room`; returns how
 * many there are. */
size_t node_half_suspects(const struct node_half *half, struct analysis_suspect *suspects, size_t room);
/* Sends the last batch: the collector ends regularly. */
void node_half_end(struct node_half *half, uint64_t now_ns, node_half_send *send, void *argument);
void node_half_free(struct node_half *half);

#endif
