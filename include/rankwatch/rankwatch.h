/* SPDX-License-Identifier: MIT */
/*
 * What a training program may call to say which step it is in. It is optional: without it rankwatch finds steps by what
 * repeats in the program's NCCL calls. For C and C++; docs/steps.md shows the same for Python (ctypes).
 *
 * The plugin's library, libnccl-profiler-rankwatch.so, has this function. A program that must also run without
 * rankwatch does not link the library. `rankwatch run` preloads it, and then the function is found like any other:
 *
 *	void (*step_begins)(uint64_t) = (void (*)(uint64_t))dlsym(RTLD_DEFAULT, "rankwatch_step");
 *	if (step_begins)
 *		step_begins(number);
 *
 * Where only NCCL loads the plugin (--no-preload, or NCCL_PROFILER_PLUGIN by itself), the function is in no global
 * scope: dlopen("libnccl-profiler-rankwatch.so", RTLD_LAZY | RTLD_NOLOAD) returns the library that NCCL has loaded,
 * once the program has made its first communicator; dlsym() then takes that handle.
 */
#ifndef RANKWATCH_RANKWATCH_H
#define RANKWATCH_RANKWATCH_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest number of a step: what a double, and so every reader of JSON, holds exactly. */
#define RANKWATCH_STEP_MAX ((UINT64_C(1) << 53) - 1)

/*
 * The training step with this number begins: all NCCL calls that this process makes from now on, on any thread, are of
 * this step, until the next call with another number. Call it at the beginning of each step, before the step's first
 * NCCL call, on every rank, with the number that the program itself prints (it has no unit). Numbers may begin
 * anywhere, and leave some out; they may go back, as after a checkpoint is loaded or when each epoch counts from 0.
 *
 * The call with the number of the last call does nothing, so several calls in a step do no harm. A number above
 * RANKWATCH_STEP_MAX is ignored. A number that never changes is no step: rankwatch goes on finding steps by itself.
 *
 * Any thread may call it, at any time, also before NCCL is initialised and in a signal handler; it speaks for the whole
 * process. It takes no lock, allocates nothing, makes no system call, never fails and never waits. Where nothing is
 * recorded (RANKWATCH=off, a forked child) it does nothing. It takes one entry of the black box's ring for each step.
 */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void rankwatch_step(uint64_t step);

#ifdef __cplusplus
}
#endif

#endif
