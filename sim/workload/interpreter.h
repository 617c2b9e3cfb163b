/* SPDX-License-Identifier: MIT */
/*
 * Python's global interpreter lock: threads that compute hold it in turn, each for the switch interval of 5 ms. A
 * thread that lets go of it, as for every call that may block, gets it back when all others had their turn.
 */
#ifndef WORKLOAD_INTERPRETER_H
#define WORKLOAD_INTERPRETER_H

struct interpreter;

/* Starts `threads` threads "py-worker-N"; they compute while somebody takes turns. 0 or -errno. */
int interpreter_start(struct interpreter **interpreter, int threads);
/* NULL is fine. */
void interpreter_stop(struct interpreter *interpreter);
/* The calling thread runs among them and lets go of the lock so many times. */
void interpreter_take_turns(struct interpreter *interpreter, int turns);

#endif
