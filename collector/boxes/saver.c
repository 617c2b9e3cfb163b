/* SPDX-License-Identifier: MIT */
#include "collector/boxes/saver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "base/in_time.h"
#include "blackbox/box_store.h"
#include "blackbox/evidence.h"

enum { OPEN_MS = 1000 };

/* A box on its way. */
struct errand {
	uv_work_t work; /* first: freed through it */
	struct saver *saver;
	struct box_reader reader;
	char evidence[EVIDENCE_NAME]; /* "": it is the box; else this file … */
	int directory;                /* … in here */
	struct errand *next;
	char why[BOX_STORE_WHY];
	int err;
};

struct saver {
	uv_loop_t *loop;
	struct box_store store;
	struct errand *first, **last; /* queued; the first is at work */
	unsigned pending, failed;
};

struct trial {
	const char *directory, *job;
};

static void try_store(const void *argument, void *result)
{
	const struct trial *trial = argument;
	char why[BOX_STORE_WHY];
	struct box_store store;

	if (!box_store_open(&store, trial->directory, trial->job, 0, why))
		box_store_close(&store);
	*(char *)result = 1;
}

/* Its errors are reported by whoever opens it next. */
static bool answers(const char *directory, const char *job)
{
	const struct trial trial = { directory, job };
	char done;

	return in_time_call(try_store, &trial, &done, sizeof(done), OPEN_MS) != -ETIMEDOUT;
}

static int open_store(struct box_store *store, const char *directory, const char *job, uint64_t limit,
		      char why[BOX_STORE_WHY])
{
	if (answers(directory, job))
		return box_store_open(store, directory, job, limit, why);
	snprintf(why, BOX_STORE_WHY, "%.100s: does not answer", directory);
	return -ETIMEDOUT;
}

struct saver *saver_open(uv_loop_t *loop, const char *directory, const char *job, uint64_t limit)
{
	struct saver *saver = calloc(1, sizeof(*saver));
	char why[BOX_STORE_WHY] = "no memory";

	if (saver && !open_store(&saver->store, directory, job, limit, why)) {
		saver->loop = loop;
		saver->last = &saver->first;
		return saver;
	}
	free(saver);
	foreign_line(stderr, "rankwatch: black boxes are not saved: %s", why);
	return NULL;
}

static void work(uv_work_t *work)
{
	struct errand *errand = (struct errand *)work;

	struct box_store *store = &errand->saver->store;

	errand->err = *errand->evidence
			  ? box_store_save_evidence(store, errand->directory, errand->evidence, errand->why)
			  : box_store_save(store, &errand->reader, errand->why);
}

static void start_first(struct saver *saver);

static void on_done(uv_work_t *work, int status)
{
	struct errand *errand = (struct errand *)work;
	struct saver *saver = errand->saver;

	if (!status && errand->err) {
		saver->failed++;
		foreign_line(stderr, "rankwatch: %s: %s", saver->store.path, errand->why);
	}
	saver->first = errand->next;
	if (!saver->first)
		saver->last = &saver->first;
	saver->pending--;
	if (*errand->evidence)
		close(errand->directory);
	else
		box_reader_close(&errand->reader);
	free(errand);
	start_first(saver);
}

/* One at a time: the store's, and a job's last seconds have better use for the CPUs. */
static void start_first(struct saver *saver)
{
	if (saver->first)
		uv_queue_work(saver->loop, &saver->first->work, work, on_done);
}

static void queue(struct saver *saver, struct errand *errand)
{
	errand->saver = saver;
	*saver->last = errand;
	saver->last = &errand->next;
	if (++saver->pending == 1)
		start_first(saver);
}

void saver_save_evidence(struct saver *saver, const char *directory, const char *name)
{
	struct errand *errand = saver ? calloc(1, sizeof(*errand)) : NULL;

	if (!errand)
		return;
	snprintf(errand->evidence, sizeof(errand->evidence), "%s", name);
	errand->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (errand->directory >= 0)
		queue(saver, errand);
	else
		free(errand);
}

void saver_save(struct saver *saver, const struct box_reader *reader)
{
	if (!saver)
		return;
	struct errand *errand = calloc(1, sizeof(*errand));
	int fd = errand ? fcntl(reader->fd, F_DUPFD_CLOEXEC, 3) : -1;

	if (fd < 0) {
		free(errand);
		saver->failed++;
		foreign_line(stderr, "rankwatch: %s: a black box is not saved: no memory or descriptor",
			     saver->store.path);
		return;
	}
	errand->reader = *reader;
	errand->reader.fd = fd;
	queue(saver, errand);
}

unsigned saver_pending(const struct saver *saver)
{
	return saver ? saver->pending : 0;
}

const char *saver_directory(const struct saver *saver)
{
	return saver ? saver->store.path : NULL;
}

bool saver_has_all(const struct saver *saver)
{
	return saver && !saver->failed;
}

void saver_finish(struct saver *saver, uint64_t timeout_ms)
{
	if (!saver)
		return;
	uint64_t end_ns = uv_hrtime() + timeout_ms * 1000000;

	while (saver->pending && uv_hrtime() < end_ns)
		uv_run(saver->loop, UV_RUN_ONCE);
	if (saver->pending)
		foreign_line(stderr, "rankwatch: %s: %u black boxes could not be saved in time", saver->store.path,
			     saver->pending);
}

void saver_close(struct saver *saver)
{
	if (!saver || saver->pending)
		return; /* its thread still works in it; the process ends */
	box_store_close(&saver->store);
	free(saver);
}
