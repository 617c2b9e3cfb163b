/* SPDX-License-Identifier: MIT */
#include "collector/host/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rankwatch/blackbox.h>
#include <rankwatch/helper.h>

#include "base/foreign_text.h"
#include "base/shortage.h"
#include "collector/host/awaited.h"
#include "collector/host/inner_threads.h"
#include "collector/host/own_cost.h"
#include "collector/sources/process/descendants.h"
#include "collector/sources/process/memory_limit.h"
#include "collector/sources/process/owner_rights.h"
#include "collector/sources/waits/kernel_source.h"
#include "collector/sources/waits/mounts.h"
#include "collector/sources/waits/proc_source.h"

enum {
	SUSPECTS = 16,
	SAMPLE_MS = 45, /* a little less than the 50 ms between two polls */
	MEMORY_MS = 1000,
	UNLIMITED_ROUNDS = 4, /* of a second each, in which a process that has no memory limit is not asked again */
	PROOF_MS = 5000,
	EARLY_MS =
	    25, /* while it is calm a poll that comes so much too early is in time: the next is 100 or 200 ms away */
	LOSS_MS = 250,
	CALM_LOSS_MS = 1000,
	RETRY_MS = 5000,        /* what the kernel would not watch; each time in vain twice as long … */
	RETRY_MOST_MS = 300000, /* … up to this */
	MANY_RECORDS =
	    256, /* in 100 ms: a twelfth of the kernel's buffer, of which polls that are 200 ms apart find a sixth */
	CHILDREN_AFTER_MS = 1000, /* others have waited for the rank: its child processes are read, … */
	CHILDREN_MS = 490,        /* … a little less often than twice a second */
	COST_SHARE = 20,          /* a round of samples may take one part in so many of a CPU */
	WHY = 256,
	ROOT = 96,
};

struct process {
	analysis_process_id id;
	const struct writer_process *writer;
	struct inner_threads *inner; /* NULL: it knows its threads by the numbers that we know */
	struct awaited awaited;
	struct descendants *descendants; /* NULL: not read yet */
	uint64_t next_children_ns;
	bool by_kernel; /* the kernel source watches it too */
	bool stopped;
	unsigned unlimited; /* rounds that are left of UNLIMITED_ROUNDS */
};

struct host {
	struct analysis *analysis;
	char root[ROOT], proc_root[ROOT + 8];
	struct mounts *mounts;
	int records; /* of the kernel's, in the last poll, or -errno */
	bool many;   /* of them, for the time in which they came */
	uint64_t polled_ns;
	bool calm;   /* when that was last asked */
	bool helper_gone;
	bool foreign_proc; /* /proc numbers the processes of another pid namespace */
	struct proc_source *proc;
	struct kernel_source *kernel;      /* NULL: not possible, see why */
	char why[WHY], unwatched_why[WHY]; /* the latter: of the last process that the kernel did not watch */
	host_ended *ended;
	void *argument;
	host_more_suspects *more_suspects; /* NULL: none */
	void *more_argument;
	struct process *processes;
	size_t count, room;
	struct memory_round *memory; /* NULL: each group is read for each of its processes */
	uint64_t next_proof_ns, next_sample_ns, next_memory_ns, next_loss_ns, next_retry_ns;
	uint64_t retry_ms;
	struct loss loss;
	uint64_t lost_told, loss_ns;  /* how many the analysis knows of, and up to when */
	struct proc_source_view view; /* of the process that is being looked at */
	bool frozen;                  /* that process, by a control group */
	uint32_t asked_tid;           /* its thread that others wait for; 0: not known … */
	struct analysis_wait asked;   /* … and how that was seen; its tid is 0: not yet */
};

static struct process *find(const struct host *host, analysis_process_id id)
{
	for (size_t i = 0; i < host->count; i++)
		if (host->processes[i].id == id)
			return &host->processes[i];
	return NULL;
}

/* What a thread that has ended meanwhile was called inside is not known. */
static void pass_inner(struct host *host, struct inner_threads *inner, const struct analysis_wait *wait)
{
	struct analysis_wait reported = *wait;

	reported.tid = inner_threads_number(inner, wait->tid, wait->end_ns);
	if (!wait->out_of_process_wake)
		reported.waker_tid = inner_threads_number(inner, wait->waker_tid, wait->end_ns);
	if (reported.tid)
		analysis_add_wait(host->analysis, &reported);
}

static bool sleeps_in(const struct analysis_wait *wait, const char *function)
{
	size_t length = strlen(function);

	return !strncmp(wait->wait_channel, function, length) ||
	       (wait->frame_count && !strncmp(wait->frames[0], function, length));
}

/* Since Linux 6.1 a thread that version 1 freezes stays in its own wait, in state D: of the plugin's thread, which only
 * ever sleeps for a time, that says it. */
static bool is_frozen(const struct analysis_wait *wait)
{
	if (sleeps_in(wait, "do_freezer_trap") || sleeps_in(wait, "__refrigerator"))
		return true;
	return wait->state == 'D' && !strcmp(wait->thread, RW_PLUGIN_THREAD) &&
	       (sleeps_in(wait, "hrtimer_nanosleep") || sleeps_in(wait, "do_nanosleep"));
}

static void on_wait(void *argument, const struct analysis_wait *wait)
{
	struct host *host = argument;
	struct process *process = find(host, wait->process);

	if (process)
		awaited_note(&process->awaited, host->proc, wait);
	if (wait->kind == ANALYSIS_WAIT_SAMPLE) {
		host->view.threads++;
		host->view.stopped += wait->state == 'T' || wait->state == 't';
		host->frozen |= is_frozen(wait);
		if (wait->tid == host->asked_tid)
			host->asked = *wait;
	}
	if (process && process->inner)
		pass_inner(host, process->inner, wait);
	else
		analysis_add_wait(host->analysis, wait);
}

static void choose_rights(void *argument, analysis_process_id id)
{
	const struct process *process = find(argument, id);

	if (process)
		owner_rights_choose(process->writer->uid, process->writer->gid);
}

static void on_ended(void *argument, analysis_process_id process, int exit_status, uint64_t at_ns)
{
	struct host *host = argument;

	host->ended(host->argument, process, exit_status, at_ns);
}

/* A pid namespace without a /proc of its own: what we call a process by is somebody else's number there. */
static bool is_foreign(const char *proc_root)
{
	char self[ROOT + 16], text[16];

	snprintf(self, sizeof(self), "%s/self", proc_root);
	ssize_t size = readlink(self, text, sizeof(text) - 1);

	if (size < 0)
		return true;
	text[size] = '\0';
	return atoi(text) != getpid();
}

int host_open(struct host **host, struct analysis *analysis, const char *root, host_ended *ended, void *argument)
{
	struct host *made = calloc(1, sizeof(*made));
	int err = made ? 0 : -ENOMEM;

	*host = made;
	if (err)
		return err;
	*made = (struct host){ .analysis = analysis, .ended = ended, .argument = argument };
	snprintf(made->root, sizeof(made->root), "%s", root);
	snprintf(made->proc_root, sizeof(made->proc_root), "%s/proc", made->root);
	made->memory = memory_round_new();
	made->foreign_proc = is_foreign(made->proc_root);
	err = mounts_open(&made->mounts, made->proc_root);
	if (!err)
		err = proc_source_open(&made->proc, made->proc_root, made->mounts);
	if (err) {
		host_close(made);
		*host = NULL;
	}
	return err;
}

static void release(struct process *process)
{
	inner_threads_close(process->inner);
	descendants_free(process->descendants);
}

void host_close(struct host *host)
{
	if (!host)
		return;
	kernel_source_close(host->kernel);
	proc_source_close(host->proc);
	mounts_close(host->mounts);
	memory_round_free(host->memory);
	for (size_t i = 0; i < host->count; i++)
		release(&host->processes[i]);
	free(host->processes);
	free(host);
}

static const char *refusal(int err)
{
	switch (err) {
	case -ENOSPC:
		return "the BPF programs watch as many processes as they can";
	case -ESRCH:
		return "the kernel's task iterator shows no thread of it";
	default:
		return strerror(-err);
	}
}

/* 0 or -errno. */
static int watch_in_kernel(struct host *host, struct process *process)
{
	const struct writer_process *writer = process->writer;
	char why[WHY] = "", unproven[WRITER_PROCESS_WHY];
	int err =
	    host->kernel ? kernel_source_watch(host->kernel, process->id, writer->pid, writer->pidfd, why) : -ENOSYS;

	/* Only now: an exec that comes later ends the watching by itself. */
	int unfit = err ? 0 : writer_process_check(writer, unproven);

	if (unfit) {
		kernel_source_unwatch(host->kernel, writer->pid);
		err = shortage_is(unfit) ? unfit : -EPERM;
	}
	process->by_kernel = !err;
	if (host->kernel && err)
		snprintf(host->unwatched_why, sizeof(host->unwatched_why), "process %d: %s", (int)writer->pid,
			 *why ? why : refusal(err));
	return err;
}

/* It may have lacked memory, or room that others have left. Where the first is refused again the others are left for
 * later: attaching the programs in vain takes milliseconds. A helper that is slow, as while it loads them, is asked as
 * soon again. */
static void retry(struct host *host, uint64_t now_ns)
{
	int err = 0;

	if (!host->kernel || now_ns < host->next_retry_ns)
		return;
	for (size_t i = 0; i < host->count && !err; i++)
		if (!host->processes[i].by_kernel)
			err = watch_in_kernel(host, &host->processes[i]);
	bool refused = err && err != -EAGAIN && err != -ETIMEDOUT;

	host->retry_ms = !refused || !host->retry_ms ? RETRY_MS : host->retry_ms * 2;
	if (host->retry_ms > RETRY_MOST_MS)
		host->retry_ms = RETRY_MOST_MS;
	host->next_retry_ns = now_ns + host->retry_ms * UINT64_C(1000000);
}

void host_deepen(struct host *host)
{
	const struct kernel_source_events events = {
		.choose_rights = choose_rights, .wait = on_wait, .ended = on_ended, .argument = host
	};

	/* A recorded machine has no helper. */
	const char *helper = *host->root ? NULL : RW_HELPER_SOCKET;

	if (kernel_source_open(&host->kernel, helper, host->proc_root, host->mounts, &events, host->why))
		host->kernel = NULL;
	else
		*host->why = '\0';
	if (host->foreign_proc)
		snprintf(host->why, sizeof(host->why),
			 "/proc is not that of the collector's pid namespace; mount it (unshare: "
			 "--mount-proc)");
	for (size_t i = 0; i < host->count; i++)
		watch_in_kernel(host, &host->processes[i]);
}

void host_see(const struct host *host, struct sight *sight)
{
	*sight = (struct sight){
		.below = host->foreign_proc ? RW_LEVEL_SELF : proc_source_level(host->proc),
		.processes = (unsigned)host->count,
		.by_helper = host->kernel && kernel_source_is_helpers(host->kernel),
	};
	for (size_t i = 0; i < host->count; i++)
		sight->with_ebpf += host->processes[i].by_kernel;

	bool expected = host->kernel && !host->foreign_proc && !host->count;

	sight->level = sight->with_ebpf || expected ? RW_LEVEL_EBPF : sight->below;
	if (*host->why || sight->with_ebpf < sight->processes)
		snprintf(sight->why, sizeof(sight->why), "%s", *host->why ? host->why : host->unwatched_why);
}

void host_watch(struct host *host, analysis_process_id process, const struct writer_process *writer)
{
	if (host->foreign_proc)
		return;
	if (host->count == host->room) {
		size_t room = host->room ? host->room * 2 : 16;
		struct process *processes = realloc(host->processes, room * sizeof(*processes));

		if (!processes)
			return;
		host->processes = processes;
		host->room = room;
	}
	host->processes[host->count] = (struct process){ .id = process, .writer = writer };
	inner_threads_open(&host->processes[host->count].inner, host->proc_root, writer->pid);
	watch_in_kernel(host, &host->processes[host->count++]);
}

bool host_watches(const struct host *host, pid_t pid)
{
	for (size_t i = 0; i < host->count; i++)
		if (host->processes[i].writer->pid == pid)
			return true;
	return false;
}

void host_unwatch(struct host *host, analysis_process_id id)
{
	struct process *process = find(host, id);

	if (!process)
		return;
	if (process->by_kernel)
		kernel_source_unwatch(host->kernel, process->writer->pid);
	proc_source_forget(host->proc, process->writer->pid);
	awaited_forget(&process->awaited, host->proc);
	release(process);
	*process = host->processes[--host->count];
}

static void set_stopped(struct host *host, struct process *process, uint64_t now_ns)
{
	bool stopped = host->frozen || (host->view.threads && host->view.stopped == host->view.threads);

	if (stopped == process->stopped)
		return;
	process->stopped = stopped;
	analysis_set_life(host->analysis, process->id, stopped ? ANALYSIS_STOPPED : ANALYSIS_ALIVE, -1, now_ns);
}

/* A rank may have begun others; these are judged by what they do themselves. The collector itself may be a rank's
 * child. */
static bool is_left_out(void *argument, pid_t pid)
{
	return pid == getpid() || host_watches(argument, pid);
}

/* It makes progress by what its child processes do, too. */
static void read_children(struct host *host, struct process *process, uint64_t now_ns)
{
	const struct descendants_request request = { .proc_root = host->proc_root,
						     .pid = process->writer->pid,
						     .owner = process->writer->uid,
						     .leave_out = is_left_out,
						     .argument = host };
	struct analysis_children seen;

	if (now_ns < process->next_children_ns)
		return;
	process->next_children_ns = now_ns + CHILDREN_MS * UINT64_C(1000000);
	if (!descendants_read(&process->descendants, &request, now_ns, &seen))
		return;
	seen.process = process->id;
	analysis_add_children(host->analysis, &seen);
}

/* All threads, not the suspect's alone: the thread that it waits for is the one to be named. */
static void sample_suspect(struct host *host, struct process *process, const struct analysis_suspect *suspect,
			   uint64_t now_ns)
{
	uint32_t tid = suspect ? suspect->tid : 0;
	int err;

	/* Of a process in a pid namespace of its own the analysis knows its threads by other numbers. */
	host->asked_tid = process->inner ? 0 : tid;
	host->asked.tid = 0;
	owner_rights_choose(process->writer->uid, process->writer->gid);
	host->view = (struct proc_source_view){ 0 };
	host->frozen = false;
	if (!process->by_kernel || kernel_source_sample(host->kernel, process->writer->pid)) {
		host->view = (struct proc_source_view){ 0 };
		err = proc_source_sample(host->proc, process->id, process->writer->pid, 0, now_ns, on_wait, host, NULL);
		host->loss.parts[LOSS_LOOKS] += err && err != -ESRCH;
	}
	awaited_sample(&process->awaited, host->proc, host->proc_root, host->analysis, process->id, process->writer,
		     host->asked.tid ? &host->asked : NULL, now_ns);
	if (suspect && now_ns >= suspect->since_ns + CHILDREN_AFTER_MS * UINT64_C(1000000))
		read_children(host, process, now_ns);
	owner_rights_choose_own();
	set_stopped(host, process, now_ns);
}

/* Is the process still what its box's owner may look at? One that is not is let go: the box is read on. */
static bool is_proven(struct host *host, const struct process *process)
{
	char why[WRITER_PROCESS_WHY] = "";
	int err = writer_process_check(process->writer, why);

	if (err == -EPERM) {
		foreign_line(stderr, "rankwatch: a process is watched no longer: %s", why);
		host_unwatch(host, process->id);
	}
	return !err;
}

/* What the helper does for us counts as if we did it. */
static uint64_t cost_ns(const struct host *host)
{
	return own_cpu_ns() + (host->kernel ? kernel_source_cost_ns(host->kernel) : 0);
}

/* NULL: it is none. */
static const struct analysis_suspect *suspect_of(const struct process *process, const struct analysis_suspect *suspects,
						 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (suspects[i].process == process->id)
			return &suspects[i];
	return NULL;
}

void host_suspect_too(struct host *host, host_more_suspects *more, void *argument)
{
	host->more_suspects = more;
	host->more_argument = argument;
}

static size_t find_suspects(struct host *host, struct analysis_suspect *suspects)
{
	size_t count = analysis_suspects(host->analysis, suspects, SUSPECTS);

	if (count > SUSPECTS)
		count = SUSPECTS;
	if (host->more_suspects)
		count += host->more_suspects(host->more_argument, suspects + count, SUSPECTS - count);
	return count > SUSPECTS ? SUSPECTS : count;
}

/* One that is silent, or that was found stopped, until it goes on. Where a whole job is stopped, those who seem to wait
 * for the first of them are so, too. */
static bool is_worth_a_sample(const struct host *host, const struct process *process, uint64_t now_ns)
{
	return process->stopped || analysis_is_silent(host->analysis, process->id, now_ns);
}

/* From the last on: where one is let go, the last takes its place. */
static void sample(struct host *host, uint64_t now_ns)
{
	struct analysis_suspect suspects[SUSPECTS];
	size_t count = find_suspects(host, suspects);

	for (size_t i = host->count; i-- > 0;) {
		const struct analysis_suspect *suspect = suspect_of(&host->processes[i], suspects, count);

		if ((suspect || is_worth_a_sample(host, &host->processes[i], now_ns)) &&
		    is_proven(host, &host->processes[i]))
			sample_suspect(host, &host->processes[i], suspect, now_ns);
	}
}

/* Whom nobody waits for is not looked at for long: one that may not be watched any more is let go all the same. */
static void prove_all(struct host *host, uint64_t now_ns)
{
	if (now_ns < host->next_proof_ns)
		return;
	for (size_t i = host->count; i-- > 0;)
		is_proven(host, &host->processes[i]);
	host->next_proof_ns = now_ns + PROOF_MS * UINT64_C(1000000);
}

/* Its control group is no secret of a process, and who ends leaves its box within a moment: this needs no proof. */
static void read_limit(struct host *host, struct process *process, uint64_t now_ns)
{
	struct analysis_memory_state state = { .process = process->id, .at_ns = now_ns };
	int err;

	if (process->unlimited) {
		process->unlimited--;
		return;
	}
	err = memory_limit_read(host->memory, host->root, process->writer->pid, &state);
	if (!err)
		analysis_add_memory_state(host->analysis, &state);
	else if (err == -ENOENT)
		process->unlimited = UNLIMITED_ROUNDS;
}

static void read_memory(struct host *host, uint64_t now_ns)
{
	if (now_ns + (host->calm ? EARLY_MS * UINT64_C(1000000) : 0) < host->next_memory_ns)
		return;
	memory_round_begin(host->memory);
	for (size_t i = 0; i < host->count; i++)
		read_limit(host, &host->processes[i], now_ns);
	host->next_memory_ns = now_ns + MEMORY_MS * UINT64_C(1000000);
}

static void read_losses(struct host *host, struct loss *loss)
{
	struct probes_loss kernel = { 0 };

	if (host->kernel)
		kernel_source_loss(host->kernel, &kernel);
	*loss = host->loss;
	loss->parts[LOSS_RING] = kernel.ring;
	loss->parts[LOSS_STORAGE] = kernel.waits;
	loss->parts[LOSS_RECURSION] = kernel.missed;
}

/* What was lost since the last time lies between then and now. To ask for it costs a system call for each program:
 * while it is calm, when hardly anything is lost, less often. */
static void count_losses(struct host *host, uint64_t now_ns)
{
	uint64_t patience_ns = host->calm ? (CALM_LOSS_MS - LOSS_MS) * UINT64_C(1000000) : 0;
	struct loss loss;

	if (now_ns < host->next_loss_ns + patience_ns)
		return;
	read_losses(host, &loss);
	analysis_add_loss(host->analysis, host->loss_ns ? host->loss_ns : now_ns, now_ns,
			  loss_total(&loss) - host->lost_told);
	host->lost_told = loss_total(&loss);
	host->loss = loss;
	host->loss_ns = now_ns;
	host->next_loss_ns = now_ns + LOSS_MS * UINT64_C(1000000);
}

/* It may have been installed anew; it is asked again like any that refused. */
static void miss_helper(struct host *host, uint64_t now_ns)
{
	for (size_t i = 0; i < host->count; i++)
		host->processes[i].by_kernel = false;
	if (!host->helper_gone)
		snprintf(host->unwatched_why, sizeof(host->unwatched_why),
			 "rankwatchd has gone; look what systemctl status rankwatchd says");
	if (!host->helper_gone)
		host->next_retry_ns = now_ns + RETRY_MS * UINT64_C(1000000);
	host->helper_gone = true;
}

static void poll_kernel(struct host *host, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - host->polled_ns;

	host->records = host->kernel ? kernel_source_poll(host->kernel) : 0;
	host->many = host->records > (passed_ns < UINT64_C(150000000) ? MANY_RECORDS : 2 * MANY_RECORDS);
	host->polled_ns = now_ns;
	if (host->records == -ENOTCONN)
		miss_helper(host, now_ns);
	else
		host->helper_gone = false;
}

void host_poll(struct host *host, uint64_t now_ns)
{
	poll_kernel(host, now_ns);
	owner_rights_choose_own();
	retry(host, now_ns);
	count_losses(host, now_ns);
	prove_all(host, now_ns);
	read_memory(host, now_ns);
	mounts_expire(host->mounts, now_ns);
	if (now_ns < host->next_sample_ns)
		return;
	uint64_t begin_ns = cost_ns(host);
	sample(host, now_ns);

	/* Processes with thousands of threads are looked at less often, not at everybody's cost. */
	uint64_t pause_ns = (cost_ns(host) - begin_ns) * COST_SHARE;

	if (pause_ns < SAMPLE_MS * UINT64_C(1000000))
		pause_ns = SAMPLE_MS * UINT64_C(1000000);
	host->next_sample_ns = now_ns + pause_ns;
}

bool host_is_calm(struct host *host)
{
	struct analysis_suspect suspects[SUSPECTS];

	host->calm = host->records >= 0 && !host->many;
	for (size_t i = 0; i < host->count && host->calm; i++)
		host->calm = host->processes[i].by_kernel && !host->processes[i].stopped;
	host->calm = host->calm && !find_suspects(host, suspects);
	return host->calm;
}

void host_name_mount(struct host *host, pid_t pid, uint64_t device, char file_system[16], char device_name[32])
{
	const struct mount_entry *mount = mounts_by_device(host->mounts, pid, device);

	if (!mount)
		return;
	memcpy(file_system, mount->file_system, 16);
	memcpy(device_name, mount->source, 32);
}

void host_loss(const struct host *host, struct loss *loss)
{
	*loss = host->loss;
}
