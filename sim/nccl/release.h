/* SPDX-License-Identifier: MIT */
/*
 * Which NCCL the stand-in is: SIM_NCCL_VERSION=2.27.3, 2.28.9 when unset. Whatever differs between releases is a field
 * of one table, so that no other file compares version numbers. Taken from NCCL's published source of each release.
 */
#ifndef SIM_NCCL_RELEASE_H
#define SIM_NCCL_RELEASE_H

#include "sim/nccl/profiler/profiler_abi.h"

/* How the value of NCCL_PROFILER_PLUGIN becomes a file (plugin.c). */
enum release_loader {
	LOADER_VERBATIM, /* the value and nothing else; NCCL tries the same name twice */
	LOADER_BOTH,     /* the value, then libnccl-profiler-VALUE.so whatever it looks like */
	LOADER_EITHER,   /* lib….so as it is, all else, paths too, only as libnccl-profiler-VALUE.so */
	LOADER_USUAL,    /* the value, then libnccl-profiler-VALUE.so unless it is a path or lib….so */
};

/* What follows when a plugin's init returns an error. */
enum release_init_error {
	INIT_ERROR_FORGETS, /* the plugin stays mapped and is not called again */
	INIT_ERROR_IGNORED, /* it is called on with the context that it left */
	INIT_ERROR_DROPS,   /* one use is given back now and another when the communicator goes */
};

/* What a profiler hears of work that does not run as a classic kernel. */
enum release_events {
	EVENTS_NONE,     /* nothing at all */
	EVENTS_API_ONLY, /* CollApi, where the ABI has it */
	EVENTS_WHOLE,
};

/* Which calls there are: every release has those of the older ones. */
enum release_calls {
	CALLS_2_21,
	CALLS_2_23, /* GroupSimulateEnd, CommInitRankScalable */
	CALLS_2_27, /* CommShrink, windows */
	CALLS_2_28, /* AlltoAll, Gather, Scatter, CommRevoke */
	CALLS_2_29, /* CommGrow, CommSuspend, CommResume, signals */
	CALLS_2_31, /* collectives with a configuration of their own */
};

/* The bits any of which start an event: asking for a child also brings its parents. 0: there is no such event. */
struct release_masks {
	int group_api, coll_api, p2p_api, kernel_launch;
	int group, coll, p2p;
	int proxy_op, proxy_step, kernel_ch;
	int ce_coll, ce_sync, ce_batch, kernel_phase;
};

struct release {
	const char *name;
	int code; /* as ncclGetVersion gives it */
	enum release_calls calls;
	int profiler_abi; /* the newest that it looks for; 0: it has no profiler plugins */
	enum release_loader loader;
	enum release_init_error init_error;
	const struct release_masks *masks; /* all 0 without profiler plugins */
	bool none_disables;                /* NCCL_PROFILER_PLUGIN=none is not a name */
	bool net_fallback;                 /* the NET plugin's library is searched when no profiler's opens */
	bool mask_at_plan;                 /* the mask is read when the events of a plan start, not at the call */
	bool skips_orphans;      /* no Coll and P2p below a Group without a handle, no ProxyStep below such a ProxyOp */
	bool stops_null;         /* stops Coll and P2p that have no handle, too */
	bool finalizes_null;     /* calls finalize for a context that init left NULL, too */
	bool counts_unheard;     /* seqNumber advances also for collectives that nobody listens to */
	bool counts_proxy_steps; /* ProxyOp has states 0 to 7 with the steps so far; else InProgress, once */
	bool channel_times;      /* KernelCh has the GPU's times */
	bool counts_each_run;    /* of a kernel, so that its KernelCh events have its own times: work_count.h */
	bool channel_thread;     /* KernelCh comes without the proxy's queue in shared memory: proxy_need_queue() */
	bool broadcast_task;     /* Broadcast has CollApi only, unless NCCL_ALLGATHERV_ENABLE=0 */
	bool clears_handles;     /* of Group, Coll and P2p when they stop; else a replay has the last one's */
	bool says_mask;          /* logs the mask after init */
	bool connects_at_use;    /* collectives, too: connect.h */
	/* a rank alone that connects in init has a progress thread: seen of 2.30.7, not of 2.28.9 */
	bool proxy_of_one;
	bool shares_devices;     /* NCCL_MULTI_RANK_GPU_ENABLE=1 allows several ranks on a device */
	enum release_events symmetric, copy_engine;
};

/* Never NULL. With a value that it does not know, the default's: no communicator can be made then. Any thread. */
const struct release *release(void);
/* ncclInvalidUsage, said on stderr once, when SIM_NCCL_VERSION names no release of the table. */
ncclResult_t release_check(void);
/*
 * ncclInvalidUsage, and says so, when the release is older than the call: a function cannot vanish from a library.
 * call: the name that the program used.
 */
ncclResult_t release_offers(enum release_calls calls, const char *call);

#endif
