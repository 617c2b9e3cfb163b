/* SPDX-License-Identifier: MIT */
/*
 * Plays NCCL to the built plugin: loads it as NCCL does and makes the callbacks of one communicator in NCCL's order
 * (docs/stand-in.md has the real thing; this one is deterministic and can do what NCCL never should).
 */
#ifndef TESTS_ABI_PLAYER_H
#define TESTS_ABI_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blackbox/reader.h"
#include "plugin/nccl/profiler_v1.h"
#include "plugin/nccl/profiler_v4.h"
#include "plugin/nccl/profiler_v5.h"

/* dlopen of the library under test (PLUGIN_PATH); exits with a message when it does not load. */
void *player_load(void);

struct player {
	int abi;                      /* 1 … 7 */
	const struct profiler_v1 *v1; /* 1 … 3 */
	const struct profiler_v4 *v4;
	const struct profiler_v5 *v5;
	void *context;
	int mask;   /* what init asked for */
	int result; /* what it returned */
	int rank, nranks;
	uint64_t id;
	uint64_t sequence; /* NCCL's */
	void *plan;        /* the last one's handle */
	uint64_t tag;      /* userTag of calls, version 7 */
	void *stream;      /* of calls; NULL: a number that is no stream */
	const void *send, *recv; /* of tasks, p2p: either; both NULL: numbers that are no addresses */
};

void player_init(struct player *player, void *library, int abi, uint64_t id, int rank, int nranks);
void player_finalize(struct player *player);

/* Single events, as NCCL sends them; every one first puts garbage into *handle, as NCCL does. Version 5 and up. */
void *player_api_group(struct player *player);
void *player_call(struct player *player, void *group, const char *function, size_t count, const char *dtype,
		  bool captured);
void *player_p2p_call(struct player *player, void *group, const char *function, size_t count);
void *player_captured_p2p_call(struct player *player, void *group, const char *function, size_t count);
void *player_launch(struct player *player, void *stream);
void *player_plan(struct player *player);
void *player_task(struct player *player, void *call, const char *function, size_t count);
/* The same, run by a kernel of these names. */
void *player_task_run_by(struct player *player, void *call, const char *function, size_t count, const char *algorithm,
			 const char *protocol);
void *player_p2p_task(struct player *player, void *call, const char *function, size_t count, int peer);
void player_stop(struct player *player, void *handle); /* skips NULL, as NCCL does */

/* One channel of the task's kernel; the state that ends it, and its stop. Any version. */
void *player_channel(struct player *player, void *task, uint8_t channel, uint64_t timer);
void player_channel_stop(struct player *player, void *handle, uint64_t timer);
void player_state(struct player *player, void *handle, int state, void *arguments);

/* On the copy engines (version 6 and up); stop it when they are submitted. */
void *player_copy(struct player *player, void *call, const char *function, uint64_t sequence, void *stream);
/* An event of any type, known or not, with the union zeroed; *handle is garbage before. `context`: whatever. False: the
 * plugin returned an error. */
bool player_raw(struct player *player, void *context, uint64_t type, void *parent, void **handle);
/* An operation of a proxy thread, of this process or, with PXN, of another; a step of it. Any version. */
void *player_proxy_op(struct player *player, void *task, int pid);
void *player_proxy_step(struct player *player, void *proxy_op, int step);
/* An operation over the network, of this process: sends, or receives. */
void *player_transfer(struct player *player, void *task, int peer, uint8_t channel, bool sends);
/* bytes: as all versions have it, at the beginning of the arguments. */
void player_step_state(struct player *player, void *step, int state, uint64_t bytes);

/* One whole eager call outside a group, any version; the task's handle, stopped. Collectives announce 4 channels, p2p 2
 * (before version 5: none). Send, Recv: `peer`. */
void *player_collective(struct player *player, const char *function, size_t count, const char *dtype);
void *player_p2p(struct player *player, const char *function, size_t count, int peer);
enum { PLAYER_CALLBACKS = 12 }; /* of player_collective(), version 5 */

/* Of the room in /dev/shm the plugin learns this, in MiB: at its first question, and at later ones. */
void player_shared_memory(long first_mib, long later_mib);
/* A fresh directory for boxes in RANKWATCH_DIR, removed at exit; quiet start. */
const char *player_directory(void);
/* The only box in the directory. Exits with a message when there is not exactly one. */
void player_read(struct box_reader *reader, const char *directory);
/* Copies operation `number`; false when it is gone or not written. */
bool player_operation(struct box_reader *reader, uint64_t number, struct rw_operation *operation);
/* Waits until the plugin's own thread has read everything that is there at the call. Exits with a message after 10
 * s. */
void player_await_drain(struct box_reader *reader);
/* Waits until the operation's pending bits are clear; false after 10 s. */
bool player_wait_finished(struct box_reader *reader, uint64_t number, struct rw_operation *operation);

#endif
