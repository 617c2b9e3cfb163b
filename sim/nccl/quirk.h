/* SPDX-License-Identifier: MIT */
/*
 * What NCCL does to profilers on machines or in moments that the stand-in does not have, switched on by a list in
 * SIM_NCCL_QUIRKS; docs/stand-in.md says what each one stands for.
 */
#ifndef SIM_NCCL_QUIRK_H
#define SIM_NCCL_QUIRK_H

#include <stdbool.h>

#include <nccl.h>

enum quirk {
	QUIRK_PXN,            /* "pxn" */
	QUIRK_RECV_RESTART,   /* "recv-restart" */
	QUIRK_OPEN_OP,        /* "open-op" */
	QUIRK_STALE_KERNELCH, /* "stale-kernelch" */
	QUIRK_EARLY_KERNELCH, /* "early-kernelch" */
	QUIRK_FEWER_CHANNELS, /* "fewer-channels" */
	QUIRKS
};

bool quirk_is_on(enum quirk quirk);
/* ncclInvalidUsage, said on stderr once: the list has a word that is no quirk. */
ncclResult_t quirk_check(void);

#endif
