/* SPDX-License-Identifier: MIT */
/*
 * The kernel's view of watched processes: loads and attaches the BPF programs, hands their records over.
 * The only user of the skeletons. One owner thread; the callback runs inside probes_poll() and probes_sample().
 */
#ifndef EBPF_PROBES_H
#define EBPF_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <rankwatch/kernel_event.h>

struct probes;

enum { PROBES_OWNERS = 64 };

/* What was lost since open, by where. Each is a wait, or a part of one, that is missing or reported wrong. */
struct probes_loss {
	uint64_t ring;   /* records that found the ring full */
	uint64_t waits;  /* of threads for which there was no storage */
	uint64_t missed; /* runs of the programs that the kernel left out, of any process on the machine */
};

typedef void probes_record(void *argument, const struct rw_kernel_wait *wait);

/* Loads everything that this kernel and these rights allow. On failure -errno and a sentence in `why` (at least 256
 * bytes) that names what is missing (capability, BTF, sysctl, lockdown, built without BPF) and the one thing that would
 * help; never libbpf's misleading memlock hint. threshold_ns: shortest wait worth a record. */
int probes_open(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why);
/* The same for several owners, who are strangers to each other: the ring is larger, and each may take a part of it
 * only. Fails also where the kernel cannot let go of a process at exec and at its end by itself. */
int probes_open_shared(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why);
void probes_close(struct probes *probes); /* accepts NULL */

/* Watch a thread group (init-namespace pid) until it calls exec: another program is another's business. 0 when at least
 * one of its threads was seen there, else -errno (-ESRCH: no thread is, -ENOMEM: the kernel had no storage for any,
 * -ENOSPC: too many processes are watched, -EEXIST) and it is not watched. The system call programs are attached only
 * while somebody is watched. */
int probes_watch(struct probes *probes, pid_t tgid);
void probes_unwatch(struct probes *probes, pid_t tgid);
/* probes_watch() for an owner below PROBES_OWNERS; probes_watch() is for owner 0. */
int probes_watch_for(struct probes *probes, pid_t tgid, uint32_t owner);
/* Does the kernel still watch it? Not after exec, nor after its end. */
bool probes_watches(struct probes *probes, pid_t tgid);
/* Records of this owner's processes that were left out because it had taken its part, since open. */
uint64_t probes_lost_by(struct probes *probes, uint32_t owner);
/* Keeps the programs attached while nobody is watched: to attach and detach takes milliseconds. 0 or -errno. */
int probes_hold(struct probes *probes);
void probes_release(struct probes *probes);

int probes_poll(struct probes *probes); /* consumes what is there; number of records or -errno */
/* Task iterator over one process: RW_KERNEL_NOW per thread through the callback. 0 or -errno, -ESRCH for no thread. */
int probes_sample(struct probes *probes, pid_t tgid);

/* Kernel stack of the record whose callback is running, as symbol names, innermost first, scheduler frames removed.
 * Returns the number written; 0 when the kernel hides its symbols (kptr_restrict). */
int probes_stack(struct probes *probes, int32_t stack_id, char (*frames)[40], int room);
/* Reads the kernel's symbols now, and not when a stack is first asked for. */
void probes_read_symbols(struct probes *probes);
void probes_loss(struct probes *probes, struct probes_loss *loss);
/* Sum of the programs' own run time since open, ns; 0 when statistics are off. Switches statistics on at first call. */
uint64_t probes_own_ns(struct probes *probes);

#endif
