/* SPDX-License-Identifier: MIT */
#include "analysis/numbers/xid.h"

#include <stddef.h>
#include <string.h>

#define RESTART  "fix the program (compute-sanitizer finds the access); the GPU is healthy"
#define RESET    "cordon the node, reset the GPU (nvidia-smi -r) and run dcgmi diag -r 3 before it is used again"
#define REBOOT   "cordon the node and restart it; if it comes back: NVIDIA's support, with nvidia-bug-report.sh"
#define LATER    "nothing now; run dcgmi diag -r 3 when the job is over"
#define NVLINK   "check nvidia-smi nvlink -e and the peers of this GPU; reset it, run dcgmi diag -r 3"
#define FIRMWARE "cordon the node and reset the GPU; power cycle if it comes back, and try a newer driver"

static const struct xid table[] = {
	{ 13, XID_APPLICATION, RW_WARNING, "the program's kernel did something illegal", RESTART },
	{ 31, XID_APPLICATION, RW_WARNING, "the program accessed an illegal address", RESTART },
	{ 32, XID_LINK, RW_WARNING, "corrupted commands reached the GPU (PCIe)",
	  "restart the program, and check the PCIe errors of this slot" },
	{ 43, XID_APPLICATION, RW_NOTICE, "the program's channel was stopped after its own error", RESTART },
	{ 45, XID_FOLLOWER, RW_NOTICE, "channels were torn down after another error or the end of the program",
	  "look for the Xid before this one" },
	{ 46, XID_HARDWARE, RW_CRITICAL, "the GPU stopped processing", RESET },
	{ 48, XID_MEMORY, RW_CRITICAL, "uncorrectable error in the GPU's memory (double-bit ECC)", RESET },
	{ 62, XID_HARDWARE, RW_CRITICAL, "a micro-controller of the GPU halted", RESET },
	{ 63, XID_MEMORY, RW_NOTICE, "a row of the GPU's memory will be remapped at the next reset", LATER },
	{ 64, XID_MEMORY, RW_CRITICAL, "a row of the GPU's memory could not be remapped", RESET },
	{ 74, XID_LINK, RW_WARNING, "NVLink error, here or at the other end", NVLINK },
	{ 79, XID_HARDWARE, RW_CRITICAL, "the GPU has fallen off the bus", REBOOT },
	{ 92, XID_MEMORY, RW_NOTICE, "many corrected errors in the GPU's memory", LATER },
	{ 94, XID_MEMORY, RW_CRITICAL, "uncorrectable error in the GPU's memory, contained to one program",
	  "restart the program; reset the GPU when it is free" },
	{ 95, XID_MEMORY, RW_CRITICAL, "uncorrectable error in the GPU's memory, not contained", RESET },
	{ 109, XID_HARDWARE, RW_CRITICAL, "the GPU did not switch contexts in time", RESET },
	{ 110, XID_HARDWARE, RW_CRITICAL, "security fault of the GPU", "reset the GPU; cold restart if it comes back" },
	{ 119, XID_FIRMWARE, RW_CRITICAL, "the GPU's firmware (GSP) does not answer", FIRMWARE },
	{ 120, XID_FIRMWARE, RW_CRITICAL, "error in the GPU's firmware (GSP)", FIRMWARE },
	{ 121, XID_LINK, RW_NOTICE, "corrected errors of the link between CPU and GPU (C2C)", LATER },
	{ 136, XID_LINK, RW_CRITICAL, "NVLink training failed", NVLINK },
	{ 137, XID_APPLICATION, RW_WARNING, "the program accessed a peer's memory illegally", RESTART },
	{ 140, XID_MEMORY, RW_CRITICAL, "uncorrectable error that the GPU's memory repair missed", RESET },
	{ 143, XID_HARDWARE, RW_CRITICAL, "initialisation of the GPU failed", RESET },
	{ 144, XID_LINK, RW_WARNING, "NVLink error (NVLink 5)", NVLINK },
	{ 145, XID_LINK, RW_WARNING, "NVLink error (NVLink 5)", NVLINK },
	{ 146, XID_LINK, RW_WARNING, "NVLink error (NVLink 5)", NVLINK },
	{ 147, XID_LINK, RW_WARNING, "NVLink error (NVLink 5)", NVLINK },
	{ 148, XID_LINK, RW_WARNING, "NVLink error (NVLink 5)", NVLINK },
	{ 149, XID_LINK, RW_WARNING, "NVLink error (NVLink 5)", NVLINK },
	{ 150, XID_LINK, RW_WARNING, "NVLink error (NVLink 5)", NVLINK },
	{ 154, XID_HARDWARE, RW_WARNING, "the recovery that the GPU needs has changed", "do what the driver says" },
	{ 155, XID_LINK, RW_CRITICAL, "NVLink error in software", RESET },
	{ 156, XID_HARDWARE, RW_CRITICAL, "a part of the GPU was retired", RESET },
	{ 158, XID_HARDWARE, RW_CRITICAL, "the GPU timed out for good", RESET },
	{ 171, XID_MEMORY, RW_CRITICAL, "uncorrectable error in the GPU's DRAM", RESET },
	{ 172, XID_MEMORY, RW_CRITICAL, "uncorrectable error in the GPU's SRAM", RESET },
};

/* 154: the driver's own verdict. */
static const struct {
	const char *words;
	enum rw_severity severity;
	const char *action;
} recoveries[] = {
	{ "(None)", RW_NOTICE, "nothing: the GPU has recovered" },
	{ "Drain P2P", RW_WARNING, "stop what uses this GPU's peers, as the driver says" },
	{ "Drain and Reset", RW_CRITICAL, "drain the node and reset the GPU, as the driver says" },
	{ "GPU Reset Required", RW_CRITICAL, "reset the GPU (nvidia-smi -r), as the driver says" },
	{ "Node Reboot Required", RW_CRITICAL, "restart the node, as the driver says" },
};

struct xid xid_find(uint32_t number, const char *text)
{
	struct xid found = { number, XID_UNKNOWN, RW_WARNING, "not in rankwatch's table",
			     "look it up in NVIDIA's Xid catalog (docs.nvidia.com/deploy/xid-errors)" };

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (table[i].number == number)
			found = table[i];
	const char *now = strstr(text, " to "); /* "changed from 0x0 (None) to 0x1 (GPU Reset Required)" */
	for (size_t i = 0; number == 154 && now && i < sizeof(recoveries) / sizeof(*recoveries); i++) {
		if (!strstr(now, recoveries[i].words))
			continue;
		found.severity = recoveries[i].severity;
		found.action = recoveries[i].action;
	}
	return found;
}

bool xid_is_gpu(const struct xid *xid)
{
	return xid->blame != XID_APPLICATION && xid->blame != XID_FOLLOWER && xid->blame != XID_UNKNOWN &&
	       xid->severity > RW_NOTICE;
}
