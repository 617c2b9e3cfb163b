/* SPDX-License-Identifier: MIT */
#include "collector/host/absentees.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "base/proc_stat.h"
#include "base/small_file.h"
#include "collector/sources/process/owner_rights.h"
#include "collector/sources/process/proc_io.h"
#include "identity/identity.h"

enum {
	ENVIRONMENT_MAX = 128 << 10, /* what is beyond is not looked at */
	BUSY_PERCENT = 2,            /* of a CPU: interpreters wake now and then */
	EARLY_PART = 8,              /* before anybody waits: a sample each such part of the time so far */
};
static const uint64_t poll_pause_ns = 1000000000, early_pause_max_ns = 10000000000, deadline_ns = 5000000000;
static const uint64_t farewell_ns = 1000000000; /* how long closing waits for a pass */

struct environment {
	char text[ENVIRONMENT_MAX + 1];
	size_t size;
};

/* What was found of one rank in this pass. */
struct found {
	int32_t pid;          /* the lowest: children inherit the environment … */
	uint32_t tid;         /* … its main thread, by its own number … */
	uint64_t start_ticks; /* … and when it began; 0 not known */
	uint32_t count, stopped;
	uint64_t ticks, bytes;
	bool uncertain; /* what it used could not be read */
};

/* What the job's processes that can be seen say of the job. */
struct sight {
	bool one_host; /* its launcher: all ranks are here */
	int32_t world_size, generation;
	int32_t pids[ABSENTEES_WORLD]; /* one of each rank; 0: none */
};

/* One look at all processes: may be made on a thread of its own, since the memory of a process that is in trouble can
 * keep its reader waiting. Everything that it needs is in it. */
struct absentees_pass {
	uv_work_t work;              /* first: freed through it */
	struct absentees *absentees; /* NULL: nobody waits any more. For the loop's thread */
	uint64_t begun_ns;
	char proc[288], job[sizeof(((struct identity *)0)->job)], node[sizeof(((struct identity *)0)->host)];
	uid_t owner;
	int32_t world_ranks[ABSENTEES_MAX];
	size_t count;
	struct found found[ABSENTEES_MAX];
	struct sight sight;
	struct environment environment;
	bool readable; /* /proc was */
};

static const char *from_environment(void *argument, const char *name)
{
	const struct environment *environment = argument;
	size_t length = strlen(name);
	const char *end = environment->text + environment->size;

	for (const char *at = environment->text; at < end; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return at + length + 1;
	return NULL;
}

struct stat_line {
	char state;
	uint64_t ticks, start_ticks; /* CPU time, and when it began */
};

static bool read_stat(int process, struct stat_line *line)
{
	char text[1024];
	uint64_t user, system;

	*line = (struct stat_line){ 0 };
	if (small_file_read(process, "stat", text, sizeof(text)) <= 0)
		return false;
	const char *state = proc_stat_text(text, PROC_STAT_STATE);

	if (!state || !proc_stat_number(text, PROC_STAT_USER_TICKS, &user) ||
	    !proc_stat_number(text, PROC_STAT_SYSTEM_TICKS, &system))
		return false;
	line->state = *state;
	line->ticks = user + system;
	proc_stat_number(text, PROC_STAT_START_TICKS, &line->start_ticks);
	return true;
}

static bool has_ended(const struct stat_line *line)
{
	return line->state == 'Z' || line->state == 'X';
}

/* The last number of "NSpid:	4711	17": in the innermost pid namespace that it is in. */
static uint32_t own_number(int process, int32_t pid)
{
	char text[4096];
	char *line = small_file_read(process, "status", text, sizeof(text)) > 0 ? strstr(text, "\nNSpid:") : NULL;

	if (!line)
		return (uint32_t)pid;
	line[strcspn(line + 1, "\n") + 1] = '\0';
	return (uint32_t)strtoul(strpbrk(line, "\t") ? strrchr(line, '\t') + 1 : "", NULL, 10);
}

/* What a process or a thread has used. */
struct use {
	uint64_t ticks, bytes;
};

static bool read_use(int directory, struct use *use)
{
	struct stat_line line;

	use->bytes = 0;
	if (!read_stat(directory, &line))
		return false;
	use->ticks = line.ticks;
	proc_io_bytes(directory, &use->bytes);
	return true;
}

/* The directory of the plugin's thread; -1: there is none, as in every process that has no black box. */
static int open_plugin_thread(int process)
{
	int tasks = openat(process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), thread = -1;
	DIR *directory = tasks < 0 ? NULL : fdopendir(tasks);

	if (!directory && tasks >= 0)
		close(tasks);
	for (const struct dirent *entry; thread < 0 && directory && (entry = readdir(directory));) {
		char name[32] = "";

		if (*entry->d_name == '.')
			continue;
		thread = openat(dirfd(directory), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (thread >= 0 && (small_file_read(thread, "comm", name, sizeof(name)) <= 0 ||
				    strcmp(name, RW_PLUGIN_THREAD "\n") != 0)) {
			close(thread);
			thread = -1;
		}
	}
	if (directory)
		closedir(directory);
	return thread;
}

/* What the program has used. The plugin's thread, which reads /proc for the black box, is not the program: it is taken
 * off, as it was while the process was read. */
static bool read_program_use(int process, struct use *use)
{
	enum { TRIES = 5 };
	struct use before, after;
	int thread = open_plugin_thread(process);
	bool read = false;

	if (thread < 0)
		return read_use(process, use);
	for (int try = 0; !read && try < TRIES; try++)
		read = read_use(thread, &before) && read_use(process, use) && read_use(thread, &after) &&
		       before.bytes == after.bytes;
	close(thread);
	if (!read)
		return false;
	use->ticks -= after.ticks < use->ticks ? after.ticks : use->ticks;
	use->bytes -= after.bytes < use->bytes ? after.bytes : use->bytes;
	return true;
}

static void add_process(int process, int32_t pid, struct found *found)
{
	struct stat_line line;
	struct use use;

	if (!read_stat(process, &line) || has_ended(&line))
		return;
	if (!found->count || pid < found->pid) {
		found->pid = pid;
		found->tid = own_number(process, pid);
		found->start_ticks = line.start_ticks;
	}
	found->count++;
	found->stopped += line.state == 'T' || line.state == 't';
	if (read_program_use(process, &use)) {
		found->ticks += use.ticks;
		found->bytes += use.bytes;
	} else {
		found->uncertain = true;
	}
}

static int index_of(const int32_t *world_ranks, size_t count, int32_t world_rank)
{
	for (size_t i = 0; i < count; i++)
		if (world_ranks[i] == world_rank)
			return (int)i;
	return -1;
}

/* Several slurmd on one machine, or a stand-in of several hosts: each has a collector of its own. */
static bool is_elsewhere(const struct absentees_pass *pass)
{
	const char *node = *pass->node ? from_environment((void *)&pass->environment, "SLURMD_NODENAME") : NULL;

	return node && *node && strcmp(node, pass->node) != 0;
}

static void look_at(struct absentees_pass *pass, int process, int32_t pid)
{
	struct environment *environment = &pass->environment;
	struct sight *sight = &pass->sight;
	struct identity identity;
	ssize_t size = small_file_read(process, "environ", environment->text, sizeof(environment->text));

	environment->size = size > 0 ? (size_t)size : 0;
	if (!environment->size || is_elsewhere(pass))
		return;
	identity_read(&identity, from_environment, environment, 0, NULL, 0);
	/* A collector that a task of srun started has inherited that task's rank. */
	if (strcmp(identity.job, pass->job) || identity.world_rank < 0 || pid == getpid())
		return;
	int at = index_of(pass->world_ranks, pass->count, identity.world_rank);
	if (at >= 0)
		add_process(process, pid, &pass->found[at]);
	if (identity.generation < sight->generation)
		return;
	if (identity.generation > sight->generation)
		*sight = (struct sight){ .generation = identity.generation };
	if (identity.world_rank < ABSENTEES_WORLD && !sight->pids[identity.world_rank])
		sight->pids[identity.world_rank] = pid;
	sight->world_size = identity.world_size;
	sight->one_host |= identity.world_size > 0 && identity.local_size == identity.world_size;
}

/* Only processes of the boxes' owner, and with no more rights than he has: an environment holds passwords, and whoever
 * looks as root could be shown a set-user-id program under the number of a process of his. */
static void look_at_owners(struct absentees_pass *pass, int process, int32_t pid)
{
	struct stat status;

	if (fstat(process, &status) || status.st_uid != pass->owner)
		return;
	owner_rights_choose(pass->owner, status.st_gid);
	if (owner_rights_take())
		look_at(pass, process, pid);
	owner_rights_give_back();
	owner_rights_choose_own();
}

/* Would a process of the job on this host be seen here? Those of ranks that wait are, unless they are in another pid
 * namespace, or /proc is closed to us: then nothing is said of any. */
static bool sees_all(const struct sight *sight, const int32_t *world_ranks, size_t count)
{
	if (!sight->one_host || sight->world_size > ABSENTEES_WORLD)
		return false;
	for (int32_t rank = 0; rank < sight->world_size; rank++)
		if (!sight->pids[rank] && index_of(world_ranks, count, rank) < 0)
			return false;
	return true;
}

static void remember(struct absentees *absentees, const struct sight *sight)
{
	if (!sight->world_size)
		return; /* none of the job's */
	if (sight->generation != absentees->generation)
		memset(absentees->seen, 0, sizeof(absentees->seen));
	absentees->generation = sight->generation;
	absentees->world_size = sight->one_host ? sight->world_size : -1;
	for (size_t rank = 0; rank < ABSENTEES_WORLD; rank++)
		if (sight->pids[rank])
			absentees->seen[rank] = sight->pids[rank];
}

/* On any thread: touches the pass alone. */
static void look_at_all(struct absentees_pass *pass)
{
	DIR *directory = opendir(pass->proc);

	pass->readable = directory != NULL;
	for (const struct dirent *entry; directory && (entry = readdir(directory));) {
		if (strspn(entry->d_name, "0123456789") != strlen(entry->d_name))
			continue;
		int process = openat(dirfd(directory), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (process < 0)
			continue;
		look_at_owners(pass, process, atoi(entry->d_name));
		close(process);
	}
	if (directory)
		closedir(directory);
}

static struct absentees_rank *known(struct absentees *absentees, int32_t world_rank)
{
	struct absentees_rank *unused = &absentees->ranks[0];

	for (size_t i = 0; i < ABSENTEES_MAX; i++) {
		struct absentees_rank *rank = &absentees->ranks[i];

		if (rank->polled_ns && rank->world_rank == world_rank)
			return rank;
		if (rank->polled_ns < unused->polled_ns)
			unused = rank;
	}
	*unused = (struct absentees_rank){ .world_rank = world_rank };
	return unused;
}

static bool gets_on(const struct absentees_rank *before, const struct found *found, uint64_t now_ns)
{
	uint64_t ticks_ns = UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t cpu_ns = found->ticks > before->ticks ? (found->ticks - before->ticks) * ticks_ns : 0;

	return !before->polled_ns || found->uncertain || found->bytes != before->bytes ||
	       cpu_ns * 100 > (now_ns - before->polled_ns) * BUSY_PERCENT;
}

/* One that was seen may have taken the rank out of its environment since. */
static bool is_there(const struct absentees *absentees, int32_t number)
{
	struct stat_line line;
	char path[288];

	snprintf(path, sizeof(path), "%s/%d", absentees->proc, number);
	int process = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool there = process >= 0 && read_stat(process, &line) && !has_ended(&line);

	if (process >= 0)
		close(process);
	return there;
}

static int32_t seen_pid(const struct absentees *absentees, int32_t world_rank)
{
	return world_rank >= 0 && world_rank < ABSENTEES_WORLD ? absentees->seen[world_rank] : 0;
}

static enum analysis_absence judge_without(const struct absentees *absentees, int32_t world_rank, bool all)
{
	int32_t pid = seen_pid(absentees, world_rank);

	if (!all || (pid && is_there(absentees, pid)))
		return ANALYSIS_ABSENT_UNKNOWN;
	return pid ? ANALYSIS_ABSENT_ENDED : ANALYSIS_ABSENT_NONE;
}

static enum analysis_absence judge(const struct absentees *absentees, const struct absentees_rank *before,
				   const struct found *found, bool all, uint64_t now_ns)
{
	if (!found->count)
		return judge_without(absentees, before->world_rank, all);
	if (found->stopped == found->count)
		return ANALYSIS_ABSENT_STOPPED;
	return gets_on(before, found, now_ns) ? ANALYSIS_ABSENT_BUSY : ANALYSIS_ABSENT_IDLE;
}

/* Is there a rank without a black box, whose process may end before anybody waits for it? Among processes on several
 * hosts, nobody could know that it did. */
static bool may_be_missed(const struct absentees *absentees)
{
	struct analysis_summary summary;

	if (absentees->world_size <= 0)
		return !absentees->world_size;
	analysis_summarise(absentees->analysis, &summary);
	return summary.processes < (uint32_t)absentees->world_size;
}

static bool is_due(struct absentees *absentees, size_t waited_for, uint64_t now_ns)
{
	if (!absentees->begun_ns)
		absentees->begun_ns = now_ns;
	uint64_t pause_ns = waited_for ? poll_pause_ns : (now_ns - absentees->begun_ns) / EARLY_PART;

	if (pause_ns < poll_pause_ns)
		pause_ns = poll_pause_ns;
	if (pause_ns > early_pause_max_ns)
		pause_ns = early_pause_max_ns;
	if (absentees->polled_ns && now_ns < absentees->polled_ns + pause_ns)
		return false;
	absentees->polled_ns = now_ns;
	return waited_for || may_be_missed(absentees);
}

static void release(struct absentees *absentees, struct absentees_held *held)
{
	if (!held->writer.pid)
		return;
	absentees->unwatch(absentees->argument, analysis_absent_process(held->world_rank));
	writer_process_close(&held->writer);
}

static void release_others(struct absentees *absentees, const int32_t *world_ranks, size_t count)
{
	for (size_t i = 0; i < ABSENTEES_MAX; i++)
		if (absentees->held[i].writer.pid && index_of(world_ranks, count, absentees->held[i].world_rank) < 0)
			release(absentees, &absentees->held[i]);
}

void absentees_let_go(struct absentees *absentees, pid_t pid)
{
	for (size_t i = 0; i < ABSENTEES_MAX; i++)
		if (absentees->held[i].writer.pid == pid)
			release(absentees, &absentees->held[i]);
}

/* The entry of this rank, else an unused one; NULL: all are used. */
static struct absentees_held *held_of(struct absentees *absentees, int32_t world_rank)
{
	struct absentees_held *unused = NULL;

	for (size_t i = 0; i < ABSENTEES_MAX; i++) {
		struct absentees_held *held = &absentees->held[i];

		if (held->writer.pid && held->world_rank == world_rank)
			return held;
		if (!held->writer.pid && !unused)
			unused = held;
	}
	return unused;
}

/* One that gets on is not spoken of, so that nobody needs to know what its threads do. */
static void hold(struct absentees *absentees, int32_t world_rank, enum analysis_absence absence,
		 const struct found *found)
{
	struct absentees_held *held = absentees->watch ? held_of(absentees, world_rank) : NULL;
	char why[WRITER_PROCESS_WHY];

	if (!held || (held->writer.pid == found->pid && absence == ANALYSIS_ABSENT_IDLE))
		return;
	release(absentees, held);
	if (absence != ANALYSIS_ABSENT_IDLE ||
	    writer_process_open(&held->writer, found->pid, absentees->owner, found->start_ticks, why))
		return;
	held->world_rank = world_rank;
	if (!absentees->watch(absentees->argument, analysis_absent_process(world_rank), &held->writer))
		writer_process_close(&held->writer);
}

static void conclude(struct absentees *absentees, const struct absentees_pass *pass)
{
	bool all = pass->readable && sees_all(&pass->sight, pass->world_ranks, pass->count);

	if (pass->readable)
		remember(absentees, &pass->sight);
	for (size_t i = 0; i < pass->count; i++) {
		int32_t world_rank = pass->world_ranks[i];
		const struct found *found = &pass->found[i];
		struct absentees_rank *rank = known(absentees, world_rank);
		struct analysis_absentee absentee = { .world_rank = world_rank, .pid = found->pid, .tid = found->tid };

		absentee.absence = judge(absentees, rank, found, all, pass->begun_ns);
		if (absentee.absence == ANALYSIS_ABSENT_ENDED)
			absentee.pid = seen_pid(absentees, world_rank);
		*rank = (struct absentees_rank){ world_rank, found->ticks, found->bytes, pass->begun_ns };
		analysis_set_absentee(absentees->analysis, &absentee, pass->begun_ns);
		hold(absentees, world_rank, absentee.absence, found);
	}
}

static void work(uv_work_t *work)
{
	look_at_all((struct absentees_pass *)work);
}

static void on_done(uv_work_t *work, int status)
{
	struct absentees_pass *pass = (struct absentees_pass *)work;
	struct absentees *absentees = pass->absentees;

	if (absentees && !status)
		conclude(absentees, pass);
	if (absentees)
		absentees->pass = NULL;
	free(pass);
}

static void begin_pass(struct absentees *absentees, const int32_t *world_ranks, size_t count, uint64_t now_ns)
{
	struct absentees_pass *pass = calloc(1, sizeof(*pass));

	if (!pass)
		return;
	pass->absentees = absentees;
	pass->begun_ns = now_ns;
	pass->owner = absentees->owner;
	pass->count = count;
	memcpy(pass->world_ranks, world_ranks, count * sizeof(*world_ranks));
	snprintf(pass->proc, sizeof(pass->proc), "%s", absentees->proc);
	snprintf(pass->job, sizeof(pass->job), "%s", absentees->job);
	snprintf(pass->node, sizeof(pass->node), "%s", absentees->node ? absentees->node : "");
	absentees->pass = pass;
	if (absentees->loop && uv_queue_work(absentees->loop, &pass->work, work, on_done) == 0)
		return;
	look_at_all(pass);
	on_done(&pass->work, 0);
}

/* A rank whose process cannot be read is not said to be gone: nothing new is said of anybody until the pass comes back.
 */
static void await_pass(struct absentees *absentees, uint64_t now_ns)
{
	if (absentees->silence_said || now_ns - absentees->pass->begun_ns < deadline_ns)
		return;
	absentees->silence_said = true;
	foreign_line(stderr,
		     "rankwatch: %s has not answered for %d s: of ranks without a black box nothing new is known "
		     "meanwhile (said once)",
		     absentees->proc, (int)(deadline_ns / 1000000000));
}

void absentees_poll(struct absentees *absentees, uint64_t now_ns)
{
	int32_t world_ranks[ABSENTEES_MAX];
	size_t count = analysis_absentees(absentees->analysis, world_ranks, ABSENTEES_MAX);

	release_others(absentees, world_ranks, count < ABSENTEES_MAX ? count : ABSENTEES_MAX);
	if (absentees->pass)
		await_pass(absentees, now_ns);
	else if (absentees->owner != ABSENTEES_NOBODY && count <= ABSENTEES_MAX && is_due(absentees, count, now_ns))
		begin_pass(absentees, world_ranks, count, now_ns);
}

bool absentees_close(struct absentees *absentees)
{
	const struct timespec moment = { .tv_nsec = 10000000 };
	uint64_t end_ns = uv_hrtime() + farewell_ns;

	release_others(absentees, NULL, 0);
	if (absentees->pass)
		uv_cancel((uv_req_t *)&absentees->pass->work);
	while (absentees->pass && uv_hrtime() < end_ns) {
		uv_run(absentees->loop, UV_RUN_NOWAIT);
		if (absentees->pass)
			nanosleep(&moment, NULL);
	}
	if (!absentees->pass)
		return true;
	absentees->pass->absentees = NULL;
	absentees->pass = NULL;
	return false;
}
