/* SPDX-License-Identifier: MIT */
/* A directory of saved boxes, DIRECTORY/JOB/rank….rwbox.gz, and of the evidence beside them, on any file system, with a
 * limit on its size. Above the limit the boxes whose processes ended first are removed first, and evidence with the
 * last box beside it; boxes of running processes stay. */
#ifndef BLACKBOX_BOX_STORE_H
#define BLACKBOX_BOX_STORE_H

#include <stdint.h>

#include "blackbox/evidence.h"
#include "blackbox/reader.h"

#define BOX_STORE_LIMIT (UINT64_C(2) << 30) /* the default limit, bytes */

enum { BOX_STORE_PATH = 1024, BOX_STORE_WHY = 160 };

struct box_store {
	char path[BOX_STORE_PATH]; /* DIRECTORY/JOB */
	char name[EVIDENCE_NAME];  /* of the file saved last */
	int all_fd, job_fd;        /* DIRECTORY and DIRECTORY/JOB */
	uint64_t limit;            /* bytes of all jobs together */
	unsigned saved, removed;   /* boxes saved, and boxes removed for the limit, so far */
};

/* Makes both directories where they are missing. Returns 0, or -errno and a sentence in why. limit 0: no limit. */
int box_store_open(struct box_store *store, const char *directory, const char *job, uint64_t limit,
		   char why[BOX_STORE_WHY]);
/* Saves the box (box_save()), then removes old boxes while the limit is exceeded. It blocks on the disk and is called
 * by one thread at a time. Returns 0, or -errno and a sentence in why. */
int box_store_save(struct box_store *store, struct box_reader *reader, char why[BOX_STORE_WHY]);
/* The same with a file of evidence (blackbox/evidence.h) that lies in `directory`. */
int box_store_save_evidence(struct box_store *store, int directory, const char *name, char why[BOX_STORE_WHY]);
void box_store_close(struct box_store *store); /* accepts a half-opened store */

#endif
