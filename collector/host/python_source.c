/* SPDX-License-Identifier: MIT */
#include "collector/host/python_source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "base/yama.h"
#include "collector/sources/python/python_sampler.h"

_Static_assert(sizeof(((struct python_place *)0)->function) == sizeof(((struct analysis_python_place *)0)->function) &&
		   sizeof(((struct python_place *)0)->file) == sizeof(((struct analysis_python_place *)0)->file) &&
		   PYTHON_VIEW_THREADS <= (int)ANALYSIS_PYTHON_THREADS,
	       "a view becomes evidence as it is");

enum { SUSPECTS = 16, TIMEOUTS = 2 /* then a process is left alone */ };

/* A sample costs a fork. The first few come quickly: a straggler is waited for but a moment. One that hangs has
 * time. */
static const struct {
	uint32_t samples;
	uint64_t pause_ns;
} paces[] = { { 8, 250000000 }, { 32, 2000000000 }, { UINT32_MAX, 10000000000 } };
static const uint64_t forget_ns = 60000000000; /* not waited for so long: a new story */
static const uint64_t farewell_ns = 1500000000;

struct process {
	analysis_process_id id;
	const struct writer_process *writer;
	bool left_alone; /* no interpreter, or one that cannot be read */
	uint32_t samples, timeouts;
	uint64_t next_ns, wanted_ns;
};

/* On any thread: everything that a sample needs. */
struct pass {
	uv_work_t work; /* first: freed through it */
	struct python_source *source;
	analysis_process_id process;
	struct python_sampler sampler;
	struct python_seen seen;
	int error;
};

struct python_source {
	uv_loop_t *loop;
	struct analysis *analysis;
	struct process *processes;
	size_t count, room;
	struct pass *pass;
	int ancestor;
	bool refusal_said, version_said;
};

struct python_source *python_source_open(uv_loop_t *loop, struct analysis *analysis, int ancestor)
{
	struct python_source *source = calloc(1, sizeof(*source));

	if (source)
		*source = (struct python_source){ .loop = loop, .analysis = analysis, .ancestor = ancestor };
	return source;
}

bool python_source_close(struct python_source *source)
{
	const struct timespec moment = { .tv_nsec = 10000000 };

	if (!source)
		return true;
	uint64_t end_ns = uv_hrtime() + farewell_ns;

	if (source->pass)
		uv_cancel((uv_req_t *)&source->pass->work);
	while (source->pass && uv_hrtime() < end_ns) {
		uv_run(source->loop, UV_RUN_NOWAIT);
		if (source->pass)
			nanosleep(&moment, NULL);
	}
	bool is_back = !source->pass;

	if (!is_back)
		source->pass->source = NULL;
	free(source->processes);
	free(source);
	return is_back;
}

static struct process *find(const struct python_source *source, analysis_process_id id)
{
	for (size_t i = 0; i < source->count; i++)
		if (source->processes[i].id == id)
			return &source->processes[i];
	return NULL;
}

void python_source_watch(struct python_source *source, analysis_process_id id, const struct writer_process *writer)
{
	if (!source)
		return;
	if (source->count == source->room) {
		size_t room = source->room ? source->room * 2 : 16;
		struct process *processes = realloc(source->processes, room * sizeof(*processes));

		if (!processes)
			return;
		source->processes = processes;
		source->room = room;
	}
	source->processes[source->count++] = (struct process){ .id = id, .writer = writer };
}

void python_source_unwatch(struct python_source *source, analysis_process_id id)
{
	struct process *process = source ? find(source, id) : NULL;

	if (process)
		*process = source->processes[--source->count];
}

static struct analysis_python_place place_of(const struct python_place *place)
{
	struct analysis_python_place reported = { .line = place->line };

	memcpy(reported.function, place->function, sizeof(reported.function));
	memcpy(reported.file, place->file, sizeof(reported.file));
	return reported;
}

static void report(const struct python_source *source, const struct pass *pass)
{
	static struct analysis_python reported;
	const struct python_view *view = &pass->seen.view;

	reported = (struct analysis_python){ .process = pass->process,
					 .at_ns = pass->seen.at_ns,
					 .tid = pass->sampler.tid,
					 .waits = pass->seen.waits,
					 .holder = view->holder,
					 .collecting = view->collecting };
	for (uint32_t i = 0; i < view->thread_count; i++) {
		reported.threads[reported.thread_count].tid = view->threads[i].tid;
		reported.threads[reported.thread_count].inner = place_of(&view->threads[i].inner);
		reported.threads[reported.thread_count++].own = place_of(&view->threads[i].own);
	}
	analysis_add_python(source->analysis, &reported);
}

static void say_version(struct python_source *source, const struct process *process, uint32_t version)
{
	if (source->version_said)
		return;
	source->version_said = true;
	foreign_line(
	    stderr,
	    "rankwatch: process %d runs Python %u.%u, of which this build does not know where its functions are kept "
	    "(it knows 3.11 to 3.15 on x86-64): no Python functions are read (said once)",
	    (int)process->writer->pid, version >> 24, version >> 16 & 0xff);
}

/* By its program's name, which is all that can be known of a process whose memory is closed. */
static bool is_python(const struct writer_process *writer)
{
	char path[512];
	ssize_t length = readlinkat(writer->proc_fd, "exe", path, sizeof(path) - 1);

	path[length > 0 ? length : 0] = '\0';
	const char *slash = strrchr(path, '/');

	return slash && !strncmp(slash + 1, "python", 6);
}

static bool is_refusal(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* Yama's first scope is no refusal to whoever started the process: but that was not the launcher of this collector. */
static void say_refusal(struct python_source *source, const struct process *process)
{
	char why[160] = "another user's, or set-user-id";
	unsigned scope = yama_scope();

	if (source->refusal_said || !is_python(process->writer))
		return;
	source->refusal_said = true;
	if (scope)
		snprintf(why, sizeof(why), "kernel.yama.ptrace_scope is %u%s; with 0, or as root, it may be", scope,
			 scope == 1 ? ", and the \"rankwatch run\" that started this collector did not start it" : "");
	foreign_line(
	    stderr,
	    "rankwatch: the Python functions of process %d are not known: its memory may not be read (%s) (said once)",
	    (int)process->writer->pid, why);
}

/* What does not change is not asked again. */
static void conclude(struct python_source *source, const struct pass *pass)
{
	struct process *process = find(source, pass->process);

	if (!process)
		return;
	process->timeouts += pass->error == -ETIMEDOUT;
	process->left_alone = process->timeouts >= TIMEOUTS;
	if (pass->error)
		return;
	if (is_refusal(pass->seen.error) || pass->seen.error == -EPIPE) {
		say_refusal(source, process);
		process->left_alone = true;
	}
	if (pass->seen.error == -ENOTSUP)
		say_version(source, process, pass->seen.view.version);
	process->left_alone |=
	    pass->seen.error == -ENOTSUP || pass->seen.error == -ENOENT || pass->seen.error == -EXDEV;
	if (!pass->seen.error)
		report(source, pass);
}

static void work(uv_work_t *work)
{
	struct pass *pass = (struct pass *)work;

	pass->error = python_sampler_take(&pass->sampler, &pass->seen);
}

static void on_done(uv_work_t *work, int status)
{
	struct pass *pass = (struct pass *)work;
	struct python_source *source = pass->source;

	if (source && !status)
		conclude(source, pass);
	if (source)
		source->pass = NULL;
	python_sampler_close(&pass->sampler);
	free(pass);
}

static void begin(struct python_source *source, struct process *process, uint32_t tid)
{
	struct pass *pass = calloc(1, sizeof(*pass));
	int err = pass ? python_sampler_open(&pass->sampler, process->writer, tid, source->ancestor) : -ENOMEM;

	if (is_refusal(err)) {
		say_refusal(source, process);
		process->left_alone = true;
	}
	if (err) {
		free(pass);
		return;
	}
	pass->source = source;
	pass->process = process->id;
	source->pass = pass;
	if (uv_queue_work(source->loop, &pass->work, work, on_done)) {
		source->pass = NULL;
		python_sampler_close(&pass->sampler);
		free(pass);
	}
}

static bool is_due(struct process *process, uint64_t now_ns)
{
	size_t pace = 0;

	if (now_ns > process->wanted_ns + forget_ns)
		process->samples = 0;
	process->wanted_ns = now_ns;
	if (process->left_alone || now_ns < process->next_ns)
		return false;
	while (process->samples >= paces[pace].samples)
		pace++;
	process->samples++;
	process->next_ns = now_ns + paces[pace].pause_ns;
	return true;
}

void python_source_poll(struct python_source *source, uint64_t now_ns)
{
	struct analysis_suspect suspects[SUSPECTS];

	if (!source || !source->count || source->pass)
		return;
	size_t count = analysis_suspects(source->analysis, suspects, SUSPECTS);

	if (count > SUSPECTS)
		count = SUSPECTS;
	for (size_t i = 0; i < count && !source->pass; i++) {
		struct process *process = suspects[i].tid ? find(source, suspects[i].process) : NULL;

		if (process && is_due(process, now_ns))
			begin(source, process, suspects[i].tid);
	}
}
