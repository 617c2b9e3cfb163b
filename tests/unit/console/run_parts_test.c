/* SPDX-License-Identifier: MIT */
/* The parts of `rankwatch run` that need no collector. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console/run/farewell.h"
#include "console/run/gloo.h"
#include "console/run/job.h"
#include "console/run/job_environment.h"
#include "console/run/launcher.h"
#include "console/run/other_hosts.h"
#include "console/run/saved_page.h"
#include "console/run/start_line.h"
#include "crafted_box.h"

static char *advice_for(char *const *argv)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	int argc = 0;

	while (argv[argc])
		argc++;
	launcher_print_advice(stream, argc, argv, "rankwatch run --");
	fclose(stream);
	return text;
}

Test(launcher, the_corrected_command_line_is_printed)
{
	static char *const lines[][12] = {
		{ "/usr/bin/srun", "-n8", "--gpus-per-node", "8", "--exclusive", "python", "a b.py", NULL },
		{ "mpirun", "-np", "8", "--mca", "btl", "tcp", "-x", "PATH", "./train", NULL },
		{ "docker", "run", "--rm", "-it", "--gpus", "all", "image:1", "python", "t.py", NULL },
		{ "kubectl", "exec", "-it", "pod-1", "--", "python", "t.py", NULL },
	};
	static const char *const expected[] = {
		"  /usr/bin/srun -n8 --gpus-per-node 8 --exclusive rankwatch run -- python 'a b.py'\n",
		"  mpirun -np 8 --mca btl tcp -x PATH rankwatch run -- ./train\n",
		"  docker run --rm -it --gpus all image:1 rankwatch run -- python t.py\n",
		"  kubectl exec -it pod-1 -- rankwatch run -- python t.py\n",
	};

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		char *text = advice_for(lines[i]);

		cr_assert(launcher_is(lines[i][0]));
		cr_expect(strstr(text, expected[i]), "%s", text);
		free(text);
	}
}

Test(launcher, where_the_program_is_in_a_script_that_is_said)
{
	static char *const line[] = { "sbatch", "--nodes=2", "job.sh", NULL };
	char *text = advice_for(line);

	cr_expect(strstr(text, "in the script job.sh\n"), "%s", text);
	free(text);
	cr_expect_not(launcher_is("torchrun"));
	cr_expect_not(launcher_is("python"));
}

static struct install install = { .plugin_directory = "/p", .plugin = "/p/" INSTALL_PLUGIN_NAME };

static void clear_job_names(void)
{
	static const char *const names[] = { "RANKWATCH_JOB", "SLURM_JOB_ID", "PBS_JOBID",          "LSB_JOBID",
					     "FLUX_JOB_ID",   "RAY_JOB_ID",   "TORCHELASTIC_RUN_ID" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
}

TestSuite(job_environment, .init = clear_job_names);

Test(job_environment, variables_are_prepended_and_a_foreign_plugin_is_kept)
{
	struct job_environment environment;

	setenv("LD_LIBRARY_PATH", "/x", 1);
	setenv("LD_PRELOAD", "/y.so", 1);
	setenv("NCCL_PROFILER_PLUGIN", "other", 1);
	cr_assert_eq(job_environment_fill(&environment, &install, "j", true), 0);
	cr_assert_eq(job_environment_apply(&environment), 0);
	cr_expect_str_eq(getenv("LD_LIBRARY_PATH"), "/p:/x");
	cr_expect_str_eq(getenv("LD_PRELOAD"), "/p/" INSTALL_PLUGIN_NAME ":/y.so");
	cr_expect_str_eq(getenv("NCCL_PROFILER_PLUGIN"), INSTALL_PLUGIN_NAME);
	cr_expect_str_eq(getenv("RANKWATCH_CHAIN"), "other");
	cr_expect_str_eq(getenv("RANKWATCH_JOB"), "j");
	job_environment_clear(&environment);
}

Test(job_environment, the_schedulers_name_is_left_to_stand_and_without_one_a_name_is_made)
{
	struct job_environment environment;

	setenv("SLURM_JOB_ID", "81123", 1);
	cr_assert_eq(job_environment_fill(&environment, &install, NULL, false), 0);
	cr_expect_not(environment.names_job);
	cr_expect_null(environment.preload);
	job_environment_clear(&environment);

	unsetenv("SLURM_JOB_ID");
	cr_assert_eq(job_environment_fill(&environment, &install, NULL, false), 0);
	cr_expect(environment.names_job);
	cr_expect_eq(strncmp(environment.job, "run-", 4), 0);
	job_environment_clear(&environment);
}

static int status_of(struct job *job)
{
	int status;
	pid_t pid;

	while (!job->ended && (pid = waitpid(-1, &status, 0)) > 0)
		job_note(job, pid, status);
	return job_exit_status(job);
}

static int status_of_command(char *const *command)
{
	struct job job;

	cr_assert_eq(job_start(&job, (char **)command, NULL), 0);
	return status_of(&job);
}

Test(job, its_status_is_passed_through_as_a_shell_says_it)
{
	cr_expect_eq(status_of_command((char *const[]){ "sh", "-c", "exit 7", NULL }), 7);
	cr_expect_eq(status_of_command((char *const[]){ "sh", "-c", "kill -9 $$", NULL }), 137);
	cr_expect_eq(status_of_command((char *const[]){ "/nonexistent/command", NULL }), 127);
	cr_expect_eq(status_of_command((char *const[]){ "/dev/null", NULL }), 126);
}

Test(job, a_signal_sent_to_us_reaches_it, .timeout = 30)
{
	struct job job;

	cr_assert_eq(job_start(&job, (char *[]){ "sleep", "60", NULL }, NULL), 0);
	kill(getpid(), SIGTERM);
	job_read_signals(&job); /* it may have ended of it already */
	cr_expect_eq(status_of(&job), 128 + SIGTERM);
}

Test(job, it_starts_with_the_signal_mask_that_we_had)
{
	struct job job;
	char *command[] = { "grep", "-q", "SigBlk:.*0000000000000000", "/proc/self/status", NULL };

	cr_assert_eq(job_start(&job, command, NULL), 0);
	cr_expect_eq(status_of(&job), 0);
}

static bool starts(char **arguments, int exit_status)
{
	struct job job;
	int status;

	cr_assert_eq(job_start(&job, arguments, NULL), 0);
	cr_assert_eq(waitpid(job.pid, &status, 0), job.pid);
	cr_assert(job_note(&job, job.pid, status));
	cr_expect_eq(job_exit_status(&job), exit_status);
	return job_was_started(&job);
}

Test(job, that_ended_was_started_unless_its_program_could_not_be_executed)
{
	char *fails[] = { "/bin/false", NULL }, *missing[] = { "/no/such/program", NULL },
	     *no_program[] = { "/etc/passwd", NULL };

	cr_expect(starts(fails, 1));
	cr_expect_not(starts(missing, 127));
	cr_expect_not(starts(no_program, 126));
}

/* Other hosts */

/* NAME=VALUE, … */
static const char *from_table(void *argument, const char *name)
{
	size_t length = strlen(name);

	for (const char *const *entry = argument; *entry; entry++)
		if (!strncmp(*entry, name, length) && (*entry)[length] == '=')
			return *entry + length + 1;
	return NULL;
}

Test(other_hosts, are_certain_by_what_the_launcher_says)
{
	static const struct {
		const char *command[9], *environment[6];
		int hosts; /* -1: nothing is certain */
		const char *by;
	} cases[] = {
		{ { "torchrun", "--nnodes", "4", "t.py" }, { NULL }, 4, "--nnodes" },
		{ { "/opt/torchrun", "--nproc-per-node=8", "--nnodes=2:4", "t.py" }, { NULL }, 2, "--nnodes" },
		{ { "python3", "-u", "-m", "torch.distributed.run", "-m", "--nnodes", "3", "mod" },
		  { NULL },
		  3,
		  "--nnodes" },
		{ { "torchrun", "--nproc-per-node", "8", "t.py", "--nnodes", "4" }, { NULL }, -1, NULL },
		{ { "torchrun", "--nnodes=1:4", "t.py" }, { NULL }, -1, NULL },
		{ { "torchrun", "--standalone", "t.py" },
		  { "PET_NNODES=4", "SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_NNODES=4" },
		  -1,
		  NULL },
		{ { "torchrun", "t.py" }, { "PET_NNODES=4" }, 4, "PET_NNODES" },
		{ { "torchrun", "t.py" }, { "SLURM_STEP_ID=0", "SLURM_PROCID=0", "SLURM_NNODES=4" }, -1, NULL },
		{ { "torchrun", "--nnodes" }, { NULL }, -1, NULL },
		{ { "python", "t.py", "--nnodes", "4" }, { "PET_NNODES=4" }, -1, NULL },
		{ { "python", "t.py" }, { "SLURM_STEP_ID=0", "SLURM_PROCID=3", "SLURM_NNODES=4" }, 4, "SLURM_NNODES" },
		{ { "python", "t.py" },
		  { "SLURM_STEP_ID=0", "SLURM_PROCID=3", "SLURM_JOB_NUM_NODES=4" },
		  4,
		  "SLURM_JOB_NUM_NODES" },
		{ { "python", "t.py" },
		  { "SLURM_STEP_ID=0", "SLURM_PROCID=3", "SLURM_STEP_NUM_NODES=1", "SLURM_NNODES=4" },
		  -1,
		  NULL },
		{ { "python", "t.py" }, { "SLURM_JOB_NUM_NODES=4", "SLURM_NNODES=4" }, -1, NULL },
		{ { "./t" }, { "OMPI_COMM_WORLD_SIZE=16", "OMPI_COMM_WORLD_LOCAL_SIZE=8" }, 0, "OMPI_COMM_WORLD_SIZE" },
		{ { "./t" }, { "OMPI_COMM_WORLD_SIZE=8", "OMPI_COMM_WORLD_LOCAL_SIZE=8" }, -1, NULL },
		{ { "./t" }, { "WORLD_SIZE=16", "LOCAL_WORLD_SIZE=8" }, 0, "WORLD_SIZE" },
		{ { "./t" }, { "WORLD_SIZE=16" }, -1, NULL },
		{ { "./t" }, { "WORLD_SIZE=many", "LOCAL_WORLD_SIZE=8" }, -1, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct other_hosts hosts;
		bool found =
		    other_hosts_find(&hosts, (char *const *)cases[i].command, from_table, (void *)cases[i].environment);

		cr_expect_eq(found, cases[i].hosts >= 0, "%zu", i);
		if (!found || cases[i].hosts < 0)
			continue;
		cr_expect_eq(hosts.hosts, cases[i].hosts, "%zu: %d", i, hosts.hosts);
		cr_expect_str_eq(hosts.by, cases[i].by, "%zu", i);
	}
}

Test(other_hosts, what_is_not_seen_is_one_sentence)
{
	static const struct other_hosts four = { 4, "--nnodes" }, several = { 0, "WORLD_SIZE" };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	other_hosts_print(out, &four, 0);
	other_hosts_print(out, &several, 0);
	fclose(out);
	cr_expect(strstr(text, "rankwatch: the job has 4 hosts (--nnodes), and each is watched by itself: "), "%s",
		  text);
	cr_expect(strstr(text, "rankwatch: the job has several hosts (WORLD_SIZE), "), "%s", text);
	free(text);
}

/* The end */

static char *others_of(int seen, int total, unsigned removed)
{
	json_t *summary = json_pack("{s:{s:i, s:i, s:b, s:s}}", "summary", "ranks_seen", seen, "ranks_total", total,
				    "last", 1, "directory", "/dev/shm/j");
	const struct tidied tidied = { .own = { .removed = removed } };
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	farewell_print_others(stream, summary, &tidied);
	fclose(stream);
	json_decref(summary);
	return text;
}

Test(farewell, names_ranks_that_were_elsewhere_where_boxes_are_left)
{
	char *some = others_of(8, 32, 0), *all = others_of(32, 32, 0), *removed = others_of(8, 32, 8),
	     *none = others_of(0, 32, 0);

	cr_expect_str_eq(
	    some, "  elsewhere  24 of 32 ranks: rankwatch report DIR judges all, with the boxes of all hosts in DIR\n");
	cr_expect_str_eq(all, "");
	cr_expect_str_eq(removed, "");
	cr_expect_str_eq(none, "");
	free(some);
	free(all);
	free(removed);
	free(none);
}

static char *farewell_with(const json_t *worst)
{
	json_t *summary = json_pack("{s:{s:i, s:i, s:b, s:s, s:n, s:{s:i, s:i}}}", "summary", "ranks_seen", 8,
				    "ranks_total", 8, "last", 1, "directory", "/dev/shm/j", "saved", "findings",
				    "critical", worst != NULL, "warning", 0);
	const struct tidied tidied = { 0 };
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	farewell_print(stream, "j", 0, summary, &tidied, KEPT_BOXES_ALL, worst, FAREWELL_UNEXPLAINED);
	if (worst)
		farewell_print_page(stream, summary, "");
	fclose(stream);
	json_decref(summary);
	return text;
}

static bool ends_with(const char *text, const char *ending)
{
	size_t length = strlen(text), size = strlen(ending);

	return length >= size && strcmp(text + length - size, ending) == 0;
}

Test(farewell, its_last_lines_name_the_rank_the_cause_and_the_page)
{
	json_t *finding = json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:f}}", "kind", "straggler", "text", "rank 3 is late\x1b",
				    "cause", "class", "io", "text", "fsync(2)", "thread", "python-main", "share", 0.9);
	char *text = farewell_with(finding), *without = farewell_with(NULL);

	cr_expect(ends_with(text, "\n  verdict    straggler: rank 3 is late\\x1b\n"
				  "             because its thread \"python-main\" was 90 % of the time fsync(2)\n"
				  "  as a page  rankwatch report --html report.html /dev/shm/j\n"),
		  "%s", text);
	cr_expect(ends_with(without, "  look again rankwatch report /dev/shm/j\n"), "%s", without);
	json_object_set_new(finding, "cause", json_pack("{s:s, s:s}", "class", "gone", "text", "fell silent"));
	json_object_set_new(finding, "confidence", json_string("certain"));
	free(text);
	text = farewell_with(finding);
	cr_expect(strstr(text, "rank 3 is late\\x1b\n  as a page "), "what the text says already is not said again: %s", text);
	json_object_set_new(finding, "confidence", json_string("likely"));
	json_object_set_new(finding, "advice", json_string("drain it\x1b"));
	free(text);
	text = farewell_with(finding);
	cr_expect(strstr(text, "rank 3 is late\\x1b (likely)\n  do         drain it\\x1b\n"),
		  "how sure it is and what to do: %s", text);
	free(text);
	free(without);
	json_decref(finding);
}

/* In place of rankwatch: a script that gets "report --html FILE DIRECTORY". 0 or -errno of saved_page_write(). */
static int page_by(const char *script, unsigned timeout_ms, int signal_fd, char path[PATH_MAX])
{
	char program[] = "/tmp/rankwatch-test.XXXXXX", directory[] = "/tmp/rankwatch-test.XXXXXX";
	int fd = mkstemp(program), err;
	sigset_t mask;

	cr_assert(fd >= 0 && mkdtemp(directory));
	cr_assert(dprintf(fd, "#!/bin/sh\n%s\n", script) > 0 && !fchmod(fd, 0700));
	close(fd);
	sigprocmask(SIG_SETMASK, NULL, &mask);
	const struct saved_page_request request = {
		.program = program, .directory = directory, .mask = &mask, .timeout_ms = timeout_ms, .signal_fd = signal_fd
	};

	err = saved_page_write(&request, path);
	cr_expect(err || !strncmp(path, directory, strlen(directory)), "%s", path);
	cr_expect(!unlink(program));
	if (!err)
		cr_expect(!unlink(path), "it is there");
	cr_expect(!rmdir(directory), "and nothing else");
	return err;
}

Test(saved_page, is_beside_the_boxes_or_nowhere)
{
	char path[PATH_MAX];

	cr_expect_eq(page_by("test \"$1 $2 $3\" = \"report --html $4/report.html\" && echo page >\"$3\"", 60000, -1, path), 0);
	cr_expect_eq(page_by("echo page >\"$3\"; exit 3", 60000, -1, path), 0, "a box was not read to its end");
	cr_expect_eq(page_by("exit 1", 60000, -1, path), -EIO);
	cr_expect_str_empty(path);
	cr_expect_eq(page_by("exec sleep 600", 20, -1, path), -ETIMEDOUT);
	cr_expect_str_empty(path);
}

/* page_by() itself sees that the directory is empty in the end. */
Test(saved_page, one_that_takes_too_long_removes_its_half_page_or_is_killed)
{
	char path[PATH_MAX];

	cr_expect_eq(
	    page_by("trap 'rm -f \"$3.half\"; kill $!; exit 1' TERM; echo page >\"$3.half\"; sleep 600 & wait $!", 500,
		    -1, path),
	    -ETIMEDOUT);
	cr_expect_eq(page_by("trap '' TERM; exec sleep 600", 200, -1, path), -ETIMEDOUT);
}

Test(saved_page, a_signal_ends_it_but_for_that_of_a_child)
{
	char path[PATH_MAX];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	cr_assert(!sigprocmask(SIG_BLOCK, &set, NULL));
	int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);

	raise(SIGCHLD);
	cr_expect_eq(page_by("echo page >\"$3\"", 60000, fd, path), 0);
	raise(SIGTERM);
	cr_expect_eq(page_by("exec sleep 600", 60000, fd, path), -EINTR);
	close(fd);
}

Test(farewell, a_job_without_nccl_gets_one_line_and_none_when_it_failed_at_once)
{
	static const enum farewell_absence absences[] = { FAREWELL_UNEXPLAINED, FAREWELL_GLOO, FAREWELL_FAILED_AT_ONCE };

	for (size_t i = 0; i < sizeof(absences) / sizeof(absences[0]); i++) {
		bool failed = absences[i] == FAREWELL_FAILED_AT_ONCE;
		json_t *summary = json_pack("{s:{s:i, s:b}}", "summary", "ranks_seen", 0, "last", 1);
		const struct tidied tidied = { 0 };
		char *text = NULL;
		size_t size;
		FILE *stream = open_memstream(&text, &size);

		farewell_print(stream, "a-job-that-nobody-has", 0, summary, &tidied, KEPT_BOXES_ALL, NULL, absences[i]);
		fclose(stream);
		cr_expect_eq(strcspn(text, "\n") + 1, failed ? 1 : size, "one line: %s", text);
		cr_expect_leq(size, failed ? 0 : 101, "%s", text);
		cr_expect_eq(strstr(text, "gloo") != NULL, absences[i] == FAREWELL_GLOO, "%s", text);
		json_decref(summary);
		free(text);
	}
}

/* In a directory that RANKWATCH_DIR names may be boxes of others, and of earlier runs: they say nothing of this one. */
Test(farewell, boxes_of_others_are_not_taken_for_those_of_a_job_that_recorded_nothing)
{
	static const struct {
		const char *job;
		uint64_t began_ns;
		bool is_of_run;
	} cases[] = { { "job", 0, true }, { "another", 0, false }, { "job", UINT64_MAX, false } };
	const char *directory = crafted_directory();
	const struct tidied tidied = { 0 };
	struct box_writer writer;

	setenv("RANKWATCH_DIR", directory, 1);
	crafted_box(&writer, directory, "job", 0, 7);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *text = NULL;
		size_t size;
		FILE *stream = open_memstream(&text, &size);

		farewell_print(stream, cases[i].job, cases[i].began_ns, NULL, &tidied, KEPT_BOXES_ALL, NULL, FAREWELL_FAILED_AT_ONCE);
		fclose(stream);
		cr_expect_eq(strstr(text, "the job was recorded") != NULL, cases[i].is_of_run, "%zu: %s", i, text);
		free(text);
	}
}

static void write_thread(const char *proc, int pid, int tid, const char *name, const char *children)
{
	char path[512];

	for (int depth = 0; depth < 3; depth++) {
		snprintf(path, sizeof(path), depth == 0 ? "%s/%d" : depth == 1 ? "%s/%d/task" : "%s/%d/task/%d", proc, pid, tid);
		mkdir(path, 0700);
	}
	for (int file = 0; file < 2; file++) {
		snprintf(path, sizeof(path), "%s/%d/task/%d/%s", proc, pid, tid, file ? "children" : "comm");
		FILE *out = fopen(path, "we");
		cr_assert(out, "%s", path);
		fprintf(out, file ? "%s" : "%s\n", file ? children : name);
		fclose(out);
	}
}

/* A launcher, one of whose threads has started two ranks; the second has a thread of gloo's. */
Test(gloo, is_seen_by_its_thread_in_any_process_below_the_one_that_was_started)
{
	char proc[] = "/tmp/rankwatch-test-XXXXXX", remove[64];

	cr_assert(mkdtemp(proc));
	write_thread(proc, 10, 10, "torchrun", "");
	write_thread(proc, 10, 11, "starter", "20 30 ");
	write_thread(proc, 20, 20, "python3", "");
	write_thread(proc, 30, 30, "python3", "");
	write_thread(proc, 30, 31, "pt_autograd_0", "");
	cr_expect_not(gloo_is_used(proc, 10));
	write_thread(proc, 30, 32, "pt_gloo_runloop", "");
	cr_expect(gloo_is_used(proc, 10));
	cr_expect_not(gloo_is_used(proc, 20), "a process beside it is another one's");
	cr_expect_not(gloo_is_used(proc, 99), "one that has ended has no threads");
	snprintf(remove, sizeof(remove), "rm -r %s", proc);
	cr_expect_eq(system(remove), 0);
}

static char *start_of(const struct start_line *line, const char *why, int width)
{
	json_t *sight = json_pack("{s:s, s:s, s:i, s:i, s:s?}", "level", why ? "proc" : "ebpf", "below", "proc",
				  "processes", 8, "with_ebpf", why ? 0 : 8, "why", why);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	start_line_print(out, line, sight, width);
	fclose(out);
	json_decref(sight);
	return text;
}

static void expect_start(const struct start_line *line, const char *why, int width, const char *expected)
{
	char *text = start_of(line, why, width);

	cr_expect_str_eq(text, expected);
	free(text);
}

Test(start_line, it_names_the_job_the_depth_and_where_findings_go)
{
	static const struct start_line first = { .who = "rankwatch", .job = "run-4711", .findings = "come here" },
				       later = { .who = "rankwatch" },
				       filed = { .who = "rankwatch",
						 .job = "run-4711",
						 .findings = "come here",
						 .file = "f\033.jsonl" };

	expect_start(&first, NULL, 0, "rankwatch: job run-4711: watching 8 ranks with eBPF; findings come here\n");
	expect_start(&filed, NULL, 0,
		     "rankwatch: job run-4711: watching 8 ranks with eBPF; findings come here and go to f\\x1b.jsonl\n");
	expect_start(&later, NULL, 0, "rankwatch: watching 8 ranks with eBPF\n");
}

Test(start_line, what_does_not_fit_a_hundred_columns_goes_to_the_next_line)
{
	static const struct start_line first = { .who = "rankwatch", .job = "slurm-81123", .findings = "come here" };
	static const char why[] = "no CAP_BPF and CAP_PERFMON; run the collector as root";

	expect_start(&first, why, 0,
		     "rankwatch: job slurm-81123: watching 8 ranks through /proc only: no CAP_BPF and CAP_PERFMON; run the\n"
		     "           collector as root; findings come here\n");
	expect_start(&first, why, 120,
		     "rankwatch: job slurm-81123: watching 8 ranks through /proc only: no CAP_BPF and CAP_PERFMON; run the\n"
		     "           collector as root; findings come here\n");
	expect_start(&first, NULL, 60,
		     "rankwatch: job slurm-81123: watching 8 ranks with eBPF;\n"
		     "           findings come here\n");
}
