/* SPDX-License-Identifier: MIT */
#include "console/trials/demo_run.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/foreign_text.h"
#include "console/boxes/box_removal.h"
#include "console/boxes/box_runs.h"
#include "console/boxes/boxes.h"

enum { ARGUMENTS = 48, POLL_MS = 100, SIGN_OF_LIFE_S = 10 };

static void put_in_front(const char *name, const char *value)
{
	const char *old = getenv(name);
	char joined[2 * INSTALL_PATH];

	snprintf(joined, sizeof(joined), "%s%s%s", value, old && *old ? ":" : "", old ? old : "");
	setenv(name, joined, 1);
}

static void put_all(const char *const *variables)
{
	for (; variables && *variables; variables++)
		putenv((char *)*variables);
}

static void set_environment(const struct demo_run *demo, const struct scenario *scenario)
{
	put_all(scenario_environment);
	put_all(scenario->environment);
	setenv("RANKWATCH_JOB", demo->job, 1);
	/* Where the workload's faults of a GPU are written. */
	setenv("SIM_NVML", demo->nvml, 1);
	setenv("SIM_KERNEL_LOG", demo->kernel_log, 1);
	put_in_front("LD_LIBRARY_PATH", demo->install.sim_libraries);
}

/* slow-… rankwatch run --findings FILE -- workload …; strings live as long as the child needs them. */
static void start_in_child(struct demo_run *demo, const struct scenario *scenario)
{
	static char script[INSTALL_PATH + 32], workload[INSTALL_PATH + 16];
	const char *arguments[ARGUMENTS] = { 0 };
	size_t count = 0;

	snprintf(workload, sizeof(workload), "%s/workload", demo->install.workload_directory);
	if (scenario->script) {
		snprintf(script, sizeof(script), "%s/%s", demo->install.workload_directory, scenario->script);
		arguments[count++] = script;
	}
	arguments[count++] = demo->install.program;
	arguments[count++] = "run";
	arguments[count++] = "--findings";
	arguments[count++] = demo->findings;
	/* The stand-in's GPUs have their own health: what this machine's kernel log says is not about them. */
	/* The demo looks at them, and removes them itself. */
	arguments[count++] = "--keep-boxes";
	arguments[count++] = "all";
	arguments[count++] = "--kernel-log";
	arguments[count++] = demo->kernel_log;
	arguments[count++] = "--";
	arguments[count++] = workload;
	for (const char *const *one = scenario->arguments; *one && count < ARGUMENTS - 1; one++)
		arguments[count++] = *one;
	set_environment(demo, scenario);
	execv(arguments[0], (char *const *)arguments);
	foreign_line(stderr, "rankwatch demo: %s: %s", arguments[0], strerror(errno));
	_exit(127);
}

static void child(struct demo_run *demo, const struct scenario *scenario, const sigset_t *mask)
{
	/* A group of its own: a Ctrl-C comes here first and is passed on once, so the slow disk is always undone. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigprocmask(SIG_SETMASK, mask, NULL);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0)
		dup2(null, STDIN_FILENO);
	start_in_child(demo, scenario);
}

static int check_parts(struct demo_run *demo, const struct scenario *scenario)
{
	const char *const parts[] = { "workload", scenario->script };
	int error = install_find(&demo->install);

	if (error) {
		snprintf(demo->failed, sizeof(demo->failed), "/proc/self/exe");
		return error;
	}
	for (size_t i = 0; i < (scenario->script ? 2 : 1); i++) {
		snprintf(demo->failed, sizeof(demo->failed), "%s/%s", demo->install.workload_directory, parts[i]);
		if (access(demo->failed, X_OK) != 0)
			return -errno;
	}
	return 0;
}

static int make_findings_file(struct demo_run *demo)
{
	snprintf(demo->findings, sizeof(demo->findings), "/tmp/rankwatch-demo-XXXXXX");
	snprintf(demo->failed, sizeof(demo->failed), "%s", demo->findings);
	int fd = mkstemp(demo->findings);

	if (fd < 0) {
		demo->findings[0] = '\0';
		return -errno;
	}
	close(fd);
	return 0;
}

/* Files that a fault of the GPUs is written to: they lie beside the findings, and are there before a collector looks.
 */
static int make_gpu_files(struct demo_run *demo)
{
	char *const paths[] = { demo->nvml, demo->kernel_log };

	snprintf(demo->nvml, sizeof(demo->nvml), "%s.nvml", demo->findings);
	snprintf(demo->kernel_log, sizeof(demo->kernel_log), "%s.kernel-log", demo->findings);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		int fd = open(paths[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		snprintf(demo->failed, sizeof(demo->failed), "%s", paths[i]);
		if (fd < 0)
			return -errno;
		close(fd);
	}
	return 0;
}

/* What demo_run_wait() takes from its queue; blocked before the child can end. */
static void fill_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGCHLD);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGHUP);
}

int demo_run_start(struct demo_run *demo, const struct scenario *scenario)
{
	sigset_t ours, before;

	*demo = (struct demo_run){ .duration_s = scenario->duration_s };
	demo_witness_open(&demo->witness);
	snprintf(demo->job, sizeof(demo->job), "demo-%s-%d", scenario->name, (int)getpid());
	int error = check_parts(demo, scenario);

	if (!error)
		error = make_findings_file(demo);
	if (!error)
		error = make_gpu_files(demo);
	if (error)
		return error;
	fill_signals(&ours);
	sigprocmask(SIG_BLOCK, &ours, &before);
	demo->child = fork();
	if (demo->child == 0)
		child(demo, scenario, &before);
	snprintf(demo->failed, sizeof(demo->failed), "fork");
	return demo->child < 0 ? -errno : 0;
}

/* A line of somebody else's in that file is not passed on. */
static void print_finding(const char *line, FILE *to)
{
	json_t *finding = json_loads(line, 0, NULL);

	if (finding && json_dumpf(finding, to, JSON_COMPACT | JSON_REAL_PRECISION(12)) == 0)
		fputc('\n', to);
	json_decref(finding);
}

/* Copies whole lines that were appended since the last call. */
static void copy_lines(FILE *from, FILE *to)
{
	char *line = NULL;
	size_t size = 0;
	long at = ftell(from);

	clearerr(from);
	while (getline(&line, &size, from) > 0 && strchr(line, '\n')) {
		print_finding(line, to);
		at = ftell(from);
	}
	/* Half a line: once more when the rest is there. */
	fseek(from, at, SEEK_SET);
	fflush(to);
	free(line);
}

static void show_life(const struct demo_run *demo, time_t started)
{
	static time_t shown;
	time_t seconds = time(NULL) - started;

	if (seconds / SIGN_OF_LIFE_S == shown / SIGN_OF_LIFE_S || !isatty(STDERR_FILENO))
		return;
	shown = seconds;
	fprintf(stderr, "rankwatch demo: %ld s of about %d s\n", (long)seconds, demo->duration_s);
}

static bool has_ended(struct demo_run *demo, int *status)
{
	int wait_status;

	if (waitpid(demo->child, &wait_status, WNOHANG) != demo->child)
		return false;
	demo->child = 0;
	*status = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
	return true;
}

int demo_run_wait(struct demo_run *demo, bool json)
{
	FILE *lines = json ? fopen(demo->findings, "re") : NULL;
	struct timespec pause = { .tv_nsec = POLL_MS * 1000000L };
	time_t started = time(NULL);
	int status = 0;
	sigset_t set;

	fill_signals(&set);
	while (!has_ended(demo, &status)) {
		int signal = sigtimedwait(&set, NULL, &pause);

		if (signal > 0 && signal != SIGCHLD) {
			demo->signal = signal;
			kill(demo->child, SIGTERM);
		}
		if (!demo->witness.saw_all)
			demo_witness_listen(&demo->witness, demo->job);
		if (lines)
			copy_lines(lines, stdout);
		else
			show_life(demo, started);
	}
	if (!demo->witness.saw_all)
		demo_witness_listen(&demo->witness, demo->job);
	if (lines) {
		copy_lines(lines, stdout);
		fclose(lines);
	}
	return status;
}

static void refuse_quietly(void *argument, const char *path, const char *why)
{
	(void)argument;
	(void)path;
	(void)why;
}

/* The job's name is this demo's own, so its directory is, too; RANKWATCH_DIR is not removed while others' files are in
 * it. */
static void remove_boxes(const struct demo_run *demo)
{
	struct boxes boxes;

	if (boxes_open(&boxes, NULL, 0, refuse_quietly, NULL) == 0)
		box_runs_keep_job(&boxes, demo->job);
	for (size_t i = 0; i < boxes.count; i++) {
		char directory[INSTALL_PATH];

		snprintf(directory, sizeof(directory), "%s", boxes.entries[i].path);
		dirname(directory);
		unlink(boxes.entries[i].path);
		if (strstr(directory, demo->job))
			box_remove_directory(&boxes.entries[i]);
	}
	boxes_close(&boxes);
}

void demo_run_close(struct demo_run *demo, bool keep)
{
	demo_witness_close(&demo->witness);
	if (*demo->nvml)
		unlink(demo->nvml);
	if (*demo->kernel_log)
		unlink(demo->kernel_log);
	if (keep || !*demo->job)
		return;
	if (*demo->findings)
		unlink(demo->findings);
	remove_boxes(demo);
}
