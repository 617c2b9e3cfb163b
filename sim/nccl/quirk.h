/* SPDX-License-Identifier: MIT */
/*
 * What NCCL does to profilers on machines or in moments that the stand-in does not have, switched on by a list of
 * words in SIM_NCCL_QUIRKS. With an unknown word no communicator can be made (ncclInvalidUsage).
 */
#ifndef SIM_NCCL_QUIRK_H
#define SIM_NCCL_QUIRK_H

#include <stdbool.h>

#include <nccl.h>

enum quirk {
	/* "pxn": ProxyOp and ProxyStep events come on the progress thread of the next rank of the host, with the
	 * first rank's context, parent and pid, as with PXN, the default with NVLink and several hosts. Events
	 * after that rank's end are lost. */
	QUIRK_PXN,
	/* "recv-restart": each step of a receive is started twice, and only the second handle stopped: NCCL polls
	 * until a request is free. */
	QUIRK_RECV_RESTART,
	/* "open-op": each call has a ProxyOp on its own host that has no steps and never stops: SHM and P2P with
	 * the copy engine. */
	QUIRK_OPEN_OP,
	/* "stale-kernelch": before a KernelCh starts, the one that had its slot before is stopped again: slots keep
	 * their handles. */
	QUIRK_STALE_KERNELCH,
	/* "early-kernelch": a KernelCh is stopped by the next operation in its slot: the end is seen before the
	 * start. */
	QUIRK_EARLY_KERNELCH,
	/* "fewer-channels": Send and Recv announce twice as many channels as have KernelCh events: fewer run than
	 * were planned. */
	QUIRK_FEWER_CHANNELS,
	QUIRKS
};

bool quirk_is_on(enum quirk quirk);
/* ncclInvalidUsage, said on stderr once: the list has a word that is no quirk. */
ncclResult_t quirk_check(void);

#endif
