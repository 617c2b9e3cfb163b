/* SPDX-License-Identifier: MIT */
#include "sim/nccl/quirk.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[QUIRKS] = {
	[QUIRK_PXN] = "pxn",
	[QUIRK_RECV_RESTART] = "recv-restart",
	[QUIRK_OPEN_OP] = "open-op",
	[QUIRK_STALE_KERNELCH] = "stale-kernelch",
	[QUIRK_EARLY_KERNELCH] = "early-kernelch",
	[QUIRK_FEWER_CHANNELS] = "fewer-channels",
};

static unsigned int on; /* bits */
static ncclResult_t checked = ncclSuccess;

static void read_word(const char *word, size_t length)
{
	for (unsigned int quirk = 0; quirk < QUIRKS; quirk++) {
		if (strlen(names[quirk]) == length && strncmp(names[quirk], word, length) == 0) {
			on |= 1u << quirk;
			return;
		}
	}
	fprintf(stderr, "stand-in NCCL: SIM_NCCL_QUIRKS has no '%.*s'; it is a list of", (int)length, word);
	for (int quirk = 0; quirk < QUIRKS; quirk++)
		fprintf(stderr, "%s %s", quirk ? "," : "", names[quirk]);
	fprintf(stderr, "\n");
	checked = ncclInvalidUsage;
}

static void read_list(void)
{
	const char *at = getenv("SIM_NCCL_QUIRKS");

	while (at && *at) {
		size_t length = strcspn(at, ",");
		if (length)
			read_word(at, length);
		at += length + (at[length] == ',');
	}
}

static void read_once(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_list);
}

bool quirk_is_on(enum quirk quirk)
{
	read_once();
	return on >> quirk & 1;
}

ncclResult_t quirk_check(void)
{
	read_once();
	return checked;
}
