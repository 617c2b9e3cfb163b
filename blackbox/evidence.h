/* SPDX-License-Identifier: MIT */
/*
 * The file of evidence: what a collector saw of a run beyond what its black boxes hold, kept beside them so that it
 * outlives the collector. The first line names the format and when the file was made; each further line is a record
 * with its checksum before it. Of records that say the same the later one counts, which is for the caller to know. A
 * saved copy is the same, compressed.
 *
 * Records are appended, and the whole is written anew beside the old file, which it then replaces. So whenever writers
 * are killed, all records but at most the last are there. One thread.
 */
#ifndef BLACKBOX_EVIDENCE_H
#define BLACKBOX_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "blackbox/place.h"

#define EVIDENCE_SUFFIX       ".rwevidence"
#define EVIDENCE_SAVED_SUFFIX EVIDENCE_SUFFIX ".gz"

#define EVIDENCE_MOST         (UINT64_C(16) << 20) /* bytes that a reader takes, unpacked */
#define EVIDENCE_RECORD_MOST  ((size_t)1 << 20)    /* bytes of one record */

/* Bytes of a file that is appended to, and of one that is written anew: while that happens there are both. */
#define EVIDENCE_APPENDED_MOST (UINT64_C(10) << 20)
#define EVIDENCE_STATE_MOST    ((size_t)5 << 20)

enum { EVIDENCE_NAME = 2 * BOX_JOB_COMPONENT + 64, EVIDENCE_WHY = 160 };

/* Whether the name has the suffix of such a file, saved or not, and is no unfinished one's. */
bool evidence_is_name(const char *name);
/* The name that a collector gives it: one directory may hold boxes of several jobs, and a machine can have several host
 * names. */
void evidence_name(const char *job, const char *host, char name[EVIDENCE_NAME]);

/* Called for each record that is whole; it has no NUL, and is followed by one. */
/* Whether a file of this name can be of the job. */
bool evidence_is_of_job(const char *name, const char *job);
typedef void evidence_visit(void *argument, const char *record, size_t size);
/* Reads a file of evidence, saved or not, which must belong to `owner` or to us. *created_ns: CLOCK_REALTIME, when it
 * was made. *damaged: how many whole lines are no records. 0, or -errno and a sentence, which begins with `name`, in
 * why[EVIDENCE_WHY]. */
int evidence_read(int directory, const char *name, uid_t owner, evidence_visit *visit, void *argument,
		  uint64_t *created_ns, unsigned *damaged, char *why);

/* Writes the line of a record, which must hold no newline. */
void evidence_put(FILE *lines, const char *record);
/* Makes the file anew, of these lines. `directory` must be ours, in memory, and hold a black box. 0 or -errno: the old
 * file is as it was. */
int evidence_write(int directory, const char *name, uint64_t created_ns, const char *lines, size_t size);
/* Appends lines. 0; -EFBIG: it is time to make it anew; or -errno: nothing was appended. */
int evidence_append(int directory, const char *name, const char *lines, size_t size);

/* Copies the file, which must be ours, to another directory, compressed, and replaces an older copy of it. It blocks on
 * the disk. saved: the copy's name. 0, or -errno and a sentence in why[EVIDENCE_WHY]. */
int evidence_save(int directory, const char *name, int to, char saved[EVIDENCE_NAME], char *why);
/* Removes all files of evidence, unfinished ones, too. */
void evidence_clear(int directory);
/* Calls `visit` with the name of each file of evidence in the directory. */
void evidence_list(int directory, void (*visit)(void *argument, const char *name), void *argument);

#endif
