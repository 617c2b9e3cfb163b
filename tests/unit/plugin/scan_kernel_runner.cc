/* SPDX-License-Identifier: MIT */
/* scan.cu, as it stands, on the CPU. */
#include "cuda_on_cpu.h"
#include "scan_runner.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <ucontext.h>
#include <vector>

#include "plugin/scan/scan.cu"
#include "tests/sanitized.h"

#define STACK_BYTES 65536

struct gate {
	uint32_t arrived, generation;
};

struct uint3 threadIdx, blockIdx, gridDim;
struct cpu_fences cpu_fences;
#if SANITIZED /* follows every jump from one CUDA thread to the next */
const int scan_runner_rounds = 6;
#else
const int scan_runner_rounds = 60;
#endif

static const struct scan_launch *current;
static ucontext_t threads[SCAN_THREADS];
static jmp_buf scheduler_turn, turns[SCAN_THREADS];
static std::vector<char> stacks(SCAN_THREADS *STACK_BYTES);
static struct gate block_gate, warp_gates[SCAN_THREADS / 32];
static uint64_t exchanged[SCAN_THREADS];
static bool begun[SCAN_THREADS], ended[SCAN_THREADS];
static int block_predicate;

/* The C library's: the sanitizer of addresses has one of its own before it, which cleans the stack that is left, with a system call each
 * time. These stacks are gone back to. */
static void jump(jmp_buf to)
{
	static void (*const library_jump)(jmp_buf, int) = (void (*)(jmp_buf, int))dlsym(RTLD_NEXT, "_longjmp");

	library_jump(to, 1);
}

static void pass_turn()
{
	const uint32_t me = threadIdx.x;

	if (!_setjmp(turns[me]))
		jump(scheduler_turn);
	threadIdx.x = me;
}

static void wait_at(struct gate *gate, uint32_t members)
{
	const uint32_t generation = gate->generation;

	if (++gate->arrived == members) {
		gate->arrived = 0;
		gate->generation++;
		return;
	}
	while (gate->generation == generation)
		pass_turn();
}

void cpu_wait_for_block()
{
	wait_at(&block_gate, SCAN_THREADS);
}

void cpu_wait_for_warp()
{
	wait_at(&warp_gates[threadIdx.x / 32], 32);
}

uint64_t cpu_exchange(uint64_t value, uint32_t lane)
{
	exchanged[threadIdx.x] = value;
	cpu_wait_for_warp();
	const uint64_t other = exchanged[threadIdx.x / 32 * 32 + lane];
	cpu_wait_for_warp();
	return other;
}

/* Cleared between two waits: the next one may follow at once. */
int __syncthreads_or(int predicate)
{
	block_predicate |= predicate;
	cpu_wait_for_block();
	const int any = block_predicate;
	cpu_wait_for_block();
	block_predicate = 0;
	cpu_wait_for_block();
	return any;
}

/* A GPU faults at a load that is not aligned, and compute-sanitizer at one outside of the buffers. */
void cpu_check_load(const void *at, uint32_t bytes)
{
	const uint64_t address = (uint64_t)at;
	bool inside = false;

	for (uint32_t i = 0; i < current->segment_count; i++) {
		const struct scan_segment &segment = current->segments[i];
		inside |= address >= segment.address && address + bytes <= segment.address + bytes_of(segment);
	}
	if (inside && address % bytes == 0)
		return;
	fprintf(stderr, "scan kernel reads %u bytes at %p: %s\n", bytes, at, inside ? "not aligned" : "outside");
	abort();
}

static void run_thread()
{
	rankwatch_scan(*current);
	ended[threadIdx.x] = true;
	jump(scheduler_turn);
}

static void begin_thread(uint32_t thread)
{
	ended[thread] = false;
	getcontext(&threads[thread]);
	threads[thread].uc_stack.ss_sp = &stacks[thread * STACK_BYTES];
	threads[thread].uc_stack.ss_size = STACK_BYTES;
	makecontext(&threads[thread], run_thread, 0);
	begun[thread] = false;
}

/* Contexts begin threads; jumps, which make no system calls, go on with them. */
static void give_turn(uint32_t thread)
{
	threadIdx.x = thread;
	if (_setjmp(scheduler_turn))
		return;
	if (begun[thread])
		jump(turns[thread]);
	begun[thread] = true;
	setcontext(&threads[thread]);
}

static bool give_turns()
{
	bool any = false;

	for (uint32_t thread = 0; thread < SCAN_THREADS; thread++) {
		if (ended[thread])
			continue;
		any = true;
		give_turn(thread);
	}
	return any;
}

void scan_run(const struct scan_launch *launch, uint32_t blocks)
{
	current = launch;
	cpu_fences = {};
	gridDim.x = blocks;
	for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++) {
		for (uint32_t thread = 0; thread < SCAN_THREADS; thread++)
			begin_thread(thread);
		while (give_turns())
			;
	}
}

struct scan_runner_fences scan_runner_fences()
{
	return { (long)cpu_fences.device, (long)cpu_fences.system, (long)cpu_fences.releases };
}
