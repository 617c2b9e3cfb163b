/* SPDX-License-Identifier: MIT */
/*
 * The tape that is being played, for those who stand in for what a tape cannot be: the kernel's answers about locks and
 * processes (played_life.c), the machine's boot and clock (played_machine.c), BPF (played_probes.c), NVML's thread
 * (played_nvml.c), our own cost (played_cost.c). Everything else in the player is production code.
 */
#ifndef TESTS_TAPES_PLAYED_H
#define TESTS_TAPES_PLAYED_H

#include "kernel_coding.h"
#include "tree.h"

enum { PLAYED_FRAMES = 4096 };

struct played {
	struct tree tree;
	uint64_t now_ns;
	bool over;	  /* no process lives any more */
	bool with_kernel; /* its records are seen: level ebpf */
	struct kernel_memory kernel;
	char frames[PLAYED_FRAMES][40];
	size_t frame_count;
	struct kernel_record *fresh; /* of this tick, in order */
	size_t fresh_count, fresh_room;
};

extern struct played *played;

/* TAPE_FRAME, TAPE_KERNEL and TAPE_LOOK. 0 or -EINVAL: damaged; -ENOMEM. */
int played_probes_apply(struct tape *tape, enum tape_record type);
/* A tick is over: what nobody has polled is gone, as from a ring that is read by the one who watches. */
void played_probes_forget(void);

#endif
