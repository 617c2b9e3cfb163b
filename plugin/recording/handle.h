/* SPDX-License-Identifier: MIT */
/*
 * Contexts and handles as NCCL sees them: kind in the top byte, a number that is never used twice below it. Such a
 * value is no canonical address and never 0. NCCL keeps handles beyond their stop (graph replays, KernelCh, PXN): a
 * number that no longer means anything is recognised, a pointer would not be.
 */
#ifndef PLUGIN_RECORDING_HANDLE_H
#define PLUGIN_RECORDING_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

enum handle_kind {
	HANDLE_NONE = 0,
	/* Whose stop adds nothing: nearly half of all stops of a collective. */
	HANDLE_CALL = 0x51, /* ticket */
	HANDLE_FIRST_SILENT = HANDLE_CALL,
	HANDLE_CAPTURED,    /* number of plugin/operations/replay.c; 0: its replays are not recorded */
	HANDLE_TASK,        /* ticket */
	HANDLE_CHANNEL,     /* ticket, channel from HANDLE_CHANNEL_SHIFT on */
	/* Numbers of plugin/operations/replay.c: */
	HANDLE_REPLAY,
	HANDLE_REPLAY_CHANNEL, /* channel from HANDLE_CHANNEL_SHIFT on */
	HANDLE_LAST_SILENT = HANDLE_REPLAY_CHANNEL,
	HANDLE_CONTEXT,   /* communicator index or HANDLE_BLIND, generation from HANDLE_GENERATION_SHIFT on */
	HANDLE_API_GROUP, /* group number */
	HANDLE_LAUNCH,    /* communicator index and plan */
	HANDLE_PLAN,
	HANDLE_COPY, /* as HANDLE_LAUNCH */
	/* Numbers of plugin/chain/chain.c: */
	HANDLE_CHAIN_CONTEXT,
	HANDLE_PAIR,
	HANDLE_KEPT_PAIR,
	/* Numbers of plugin/network/waits.c: */
	HANDLE_PROXY_OP,
	HANDLE_PROXY_STEP,
};

enum { HANDLE_KIND_SHIFT = 56, HANDLE_CHANNEL_SHIFT = 48, HANDLE_GENERATION_SHIFT = 16, HANDLE_BLIND = 0xffff };

/* number: below 2^56. At a million a second a counter comes there in two thousand years. */
static inline void *handle_make(enum handle_kind kind, uint64_t number)
{
	return (void *)(uintptr_t)((uint64_t)kind << HANDLE_KIND_SHIFT | number);
}

static inline enum handle_kind handle_kind(const void *handle)
{
	return (enum handle_kind)((uint64_t)(uintptr_t)handle >> HANDLE_KIND_SHIFT);
}

static inline bool handle_is_silent(const void *handle)
{
	uint32_t kind = handle_kind(handle);

	return kind >= HANDLE_FIRST_SILENT && kind <= HANDLE_LAST_SILENT;
}

static inline uint64_t handle_number(const void *handle)
{
	return (uint64_t)(uintptr_t)handle & ((1ull << HANDLE_KIND_SHIFT) - 1);
}

static inline void *handle_context(uint32_t index, uint32_t generation)
{
	return handle_make(HANDLE_CONTEXT, (uint64_t)generation << HANDLE_GENERATION_SHIFT | index);
}

static inline uint32_t handle_context_index(const void *context)
{
	return (uint32_t)handle_number(context) & ((1u << HANDLE_GENERATION_SHIFT) - 1);
}

#endif
