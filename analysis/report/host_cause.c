/* SPDX-License-Identifier: MIT */
#include "analysis/report/host_cause.h"

#include <stdio.h>
#include <string.h>

#include "analysis/report/cause_text.h"

enum { NAMED = 3 /* different causes; of more only these are named */ };

enum rw_cause_class host_cause_story(enum rw_cause_class class_)
{
	return class_ == RW_CAUSE_RUNNING ? RW_CAUSE_CPU : class_;
}

bool host_cause_is_of_gpu(enum rw_cause_class class_)
{
	return class_ == RW_CAUSE_GPU || class_ == RW_CAUSE_THROTTLE;
}

static bool is_better(const struct cause *cause, const struct cause *than)
{
	if (than->class_ == RW_CAUSE_UNKNOWN || cause->class_ == RW_CAUSE_UNKNOWN)
		return than->class_ == RW_CAUSE_UNKNOWN && cause->class_ != RW_CAUSE_UNKNOWN;
	if (!cause->inferred != !than->inferred)
		return !cause->inferred;
	return cause->share > than->share;
}

void host_cause_add(struct host_cause *host, const struct job *job, uint32_t rank, const struct cause *cause)
{
	enum rw_cause_class story = host_cause_story(cause->class_);
	struct host_cause_best *best = host_cause_is_of_gpu(story) ? &host->by_gpu : &host->otherwise;

	host->ranks++;
	if (!best->ranks++ || is_better(cause, &best->cause)) {
		best->cause = *cause;
		best->rank = rank;
	}
	host->known += story != RW_CAUSE_UNKNOWN;
	host->classes[story].certain |= !cause->inferred;
	if (!host->classes[story].ranks++) {
		host->classes[story].first = job->ranks[rank].world;
		cause_text(host->classes[story].text, HOST_CAUSE_TEXT, cause, job->ranks[rank].process);
	}
}

/* Where some causes are certain, those that are only likely contradict none of them. */
static bool counts(const struct host_cause *host, int class_)
{
	return class_ != RW_CAUSE_UNKNOWN && host->classes[class_].ranks &&
	       (host->classes[class_].certain || !host->certain);
}

/* One of several GPUs that is held back does not make a host late. */
static void leave_out_gpus(struct host_cause *host)
{
	host->left_out = host->by_gpu.ranks && host_cause_is_of_few(host->by_gpu.ranks, host->ranks);
	if (!host->left_out)
		return;
	host->known -= host->by_gpu.ranks;
	for (int class_ = 0; class_ < RW_CAUSE_COUNT; class_++)
		if (host_cause_is_of_gpu((enum rw_cause_class)class_))
			host->classes[class_].ranks = 0;
}

static void take_best(struct host_cause *host)
{
	bool gpu = !host->left_out && host->by_gpu.ranks &&
		   (!host->otherwise.ranks || is_better(&host->by_gpu.cause, &host->otherwise.cause));
	const struct host_cause_best *best = gpu ? &host->by_gpu : &host->otherwise;

	host->cause = best->cause;
	host->rank = best->rank;
}

void host_cause_end(struct host_cause *host)
{
	uint32_t classes = 0;

	leave_out_gpus(host);
	take_best(host);
	for (int class_ = 0; class_ < RW_CAUSE_COUNT; class_++)
		host->certain |=
		    class_ != RW_CAUSE_UNKNOWN && host->classes[class_].ranks && host->classes[class_].certain;
	for (int class_ = 0; class_ < RW_CAUSE_COUNT; class_++)
		classes += counts(host, class_);
	host->differ = classes > 1;
	if (!host->differ) {
		host->known = host->known ? host->classes[host_cause_story(host->cause.class_)].ranks : 0;
		return;
	}
	host->cause = (struct cause){ .share = -1, .fd = -1, .seen = host->cause.seen, .tid = host->cause.tid,
				      .lost = host->cause.lost, .forgotten = host->cause.forgotten };
}

/* "its ranks are late for different reasons: rank 8 fsync(2), rank 9 waiting for a CPU" */
static void write_different(char *text, size_t room, const struct host_cause *host)
{
	size_t used = (size_t)snprintf(text, room, "its ranks are late for different reasons");
	uint32_t named = 0;

	for (int class_ = 0; class_ < RW_CAUSE_COUNT && named < NAMED && used < room; class_++)
		if (counts(host, class_))
			used += (size_t)snprintf(text + used, room - used, "%s rank %d %s", named++ ? "," : ":",
						 host->classes[class_].first, host->classes[class_].text);
}

static void set_different(struct record *record, const struct host_cause *host)
{
	record_set_words(record, RW_CAUSE_UNKNOWN, "",
			 "look for what the ranks of this host share and what can look like each of these: its disks, "
			 "CPUs, memory and power");
	write_different(record->differing, sizeof(record->differing), host);
	record->finding.cause.text = record->differing;
}

static void add_unexplained(struct record *record, const struct host_cause *host)
{
	uint32_t open = host->ranks - host->known;
	char what[128];

	if (record->finding.confidence == RW_CERTAIN)
		record->finding.confidence = RW_LIKELY;
	snprintf(what, sizeof(what), "why %u of the host's %u ranks %s late: this cause was seen on the other%s only",
		 open, host->ranks, open == 1 ? "is" : "are", host->known == 1 ? " one" : "s");
	record_add_missing(record, what);
}

static void add_left_out(struct record *record, const struct job *job, const struct host_cause *host)
{
	uint32_t ranks = host->by_gpu.ranks;
	char what[192];

	snprintf(what, sizeof(what),
		 "why the host's other %u ranks are late: what the GPU of rank %d%s shows (%.60s) explains %s only",
		 host->ranks - ranks, job->ranks[host->by_gpu.rank].world, ranks > 1 ? " and of others" : "",
		 host->by_gpu.cause.gpu_text, ranks > 1 ? "these" : "this rank");
	record_add_missing(record, what);
}

void host_cause_set(struct record *record, const struct intern *intern, const struct job *job,
		    const struct host_cause *host)
{
	record_set_cause(record, intern, job->ranks[host->rank].process, &host->cause);
	if (host->left_out && !host->known)
		add_left_out(record, job, host);
	if (host->ranks < 2 || !host->known)
		return;
	if (host->differ)
		set_different(record, host);
	else
		record->finding.cause.rank = job->ranks[host->rank].world;
	if (!host->differ && host->known < host->ranks)
		add_unexplained(record, host);
}
