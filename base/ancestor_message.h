/* SPDX-License-Identifier: MIT */
/* What the two ends of ancestor_pair() say to each other. */
#ifndef BASE_ANCESTOR_MESSAGE_H
#define BASE_ANCESTOR_MESSAGE_H

#include <stdint.h>
#include <sys/socket.h>

#include "base/ancestor.h"

struct ancestor_asked {
	uint64_t number; /* comes back: an answer to one that was given up is not taken for the next */
	uint64_t start_ticks;
	int32_t pid;
	uint32_t tid; /* 0: the memory; else the line of this thread */
};

struct ancestor_answer {
	struct ancestor_asked asked;
	int32_t error; /* 0, or -errno */
	char line[ANCESTOR_LINE];
};

/* Room for a single descriptor: what is sent beyond it the kernel closes. */
union ancestor_control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

#endif
