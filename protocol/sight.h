/* SPDX-License-Identifier: MIT */
/* How deep the ranks of this host are really seen: not what was loaded, but what reports. */
#ifndef PROTOCOL_SIGHT_H
#define PROTOCOL_SIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>
#include <rankwatch/finding.h>

enum { SIGHT_LINE = 121 /* columns of a terminal that is shared, and the end */, SIGHT_WHY = 256 };

struct sight {
	enum rw_level level; /* RW_LEVEL_EBPF if the kernel reports on at least one rank, or would when there is none */
	enum rw_level below; /* of the ranks that the kernel does not report on */
	unsigned processes, with_ebpf; /* watched now, and by the kernel */
	bool by_helper;                /* whose programs are rankwatchd's */
	char why[SIGHT_WHY]; /* it is not eBPF for all of them: "what is missing; what would help"; "" when it is */
};

/* When there is something to say about it: what was said last, and what is seen since when. */
struct sight_news {
	struct sight seen, most; /* most: at the time when most processes were watched */
	uint64_t since_ns;
	unsigned reported_processes, reported_without;
};

const char *sight_level_name(enum rw_level level);
/* Is it to be reported? Once it has stayed the same for a second, and when ranks have come, or were lost to a lower
 * level, since the last time; that they leave is none. */
bool sight_news_take(struct sight_news *news, const struct sight *sight, uint64_t now_ns);

/* {"level":…,"below":…,"processes":N,"with_ebpf":N,"helper":…,"why":…}; NULL on lack of memory. why is null for "". */
json_t *sight_json(const struct sight *sight);
/* "watching 8 ranks through /proc only: what is missing; what would help": all of it, not escaped. */
void sight_write(FILE *out, const json_t *sight);
/* The same, "watching 8 ranks with eBPF": one line for people, cut at `columns` (at most SIGHT_LINE - 1). Text is
 * escaped. */
void sight_describe(const json_t *sight, size_t columns, char line[SIGHT_LINE]);

#endif
