/* SPDX-License-Identifier: MIT */
/* The hosts of a job that are heard over the net: who lives, who has gone silent, who has taken leave. Pure: told the
 * time. */
#ifndef COLLECTOR_NATS_HOSTS_H
#define COLLECTOR_NATS_HOSTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "collector/nats/subject.h"

enum {
	HOSTS_MOST = 16384,
	HOSTS_SILENT_LIVES = 5, /* signs of life that do not come: a collector that is held up is none that is gone */
	HOSTS_WHY = 96,
	HOSTS_DEAF_MS = 5000,  /* nobody is heard for so long: it may be us, or the server … */
	HOSTS_BACK_MS = 30000, /* … and each has so long to be heard: a node that has lost the server, too, tries again
				  every 15 s at most */
};

enum host_state { HOST_HEARD, HOST_SILENT, HOST_LEFT };

struct heard_host {
	char name[SUBJECT_NAME];
	enum host_state state;
	uint64_t heard_ns, every_ns;
	uint64_t started_ms, number; /* of its collector, and of its last sign of life */
	uint64_t lost, missed;       /* not published, as it says; signs of life that did not come */
	unsigned ranks;              /* the most that it saw */
	char level[16];
};

enum host_news { HOST_NOTHING, HOST_NEW, HOST_BACK, HOST_RESTARTED, HOST_TAKES_LEAVE, HOST_GOES_SILENT };

struct hosts {
	struct heard_host *hosts; /* by name */
	size_t count, room;
	uint64_t heard_ns;   /* when anybody was heard last */
	uint64_t excused_ns; /* until when we could hear nobody; 0: always */
};

/* A sign of life. host: as the subject has it. 0 with the news and the host (until the next call), or -EPROTO, -ENOMEM,
 * -EMFILE with what is wrong, in words that hold nothing foreign. */
int hosts_hear(struct hosts *hosts, const char *host, const json_t *life, uint64_t now_ns, enum host_news *news,
	       const struct heard_host **heard, char why[HOSTS_WHY]);
/* Something else came from the host: so it lives. */
void hosts_touch(struct hosts *hosts, const char *host, uint64_t now_ns);
/* We could hear nobody until now: those who are not heard then have HOSTS_BACK_MS. */
void hosts_excuse(struct hosts *hosts, uint64_t now_ns);
/* One that has gone silent and of which that is news now; NULL: none, or no other. */
const struct heard_host *hosts_next_silent(struct hosts *hosts, uint64_t now_ns);
const struct heard_host *hosts_find(const struct hosts *hosts, const char *name);
size_t hosts_count(const struct hosts *hosts, enum host_state state);
unsigned hosts_ranks(const struct hosts *hosts);
void hosts_free(struct hosts *hosts);

#endif
