/* SPDX-License-Identifier: MIT */
/* The parts of `rankwatch run` that need no collector. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector/sinks/line_sink.h"
#include "console/run/announcer.h"
#include "console/run/job.h"
#include "console/run/job_environment.h"
#include "console/run/launcher.h"

#define SECOND UINT64_C(1000000000)

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

static char *text_shown;
static size_t text_size;

static struct announcer announcer(void)
{
	return (struct announcer){ .text = open_memstream(&text_shown, &text_size) };
}

static void take(struct announcer *announcer, const char *state, const char *class_, int rank, uint64_t now_ns)
{
	json_t *finding = json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i], s:s, s:{s:s, s:s}}", "schema", 1, "id", "x",
				    "state", state, "severity", "warning", "kind", "straggler", "ranks", rank, "text", "slow",
				    "cause", "class", class_, "text", class_);

	announcer_take(announcer, finding, now_ns);
	announcer_tick(announcer, now_ns);
	json_decref(finding);
}

static unsigned shown(struct announcer *announcer)
{
	unsigned count = 0;

	fflush(announcer->text);
	for (const char *at = text_shown; (at = strstr(at, "STRAGGLER")); at++)
		count++;
	return count;
}

static void finish(struct announcer *announcer)
{
	announcer_finish(announcer);
	fclose(announcer->text);
	free(text_shown);
}

Test(announcer, the_same_rank_and_kind_is_shown_once_a_minute)
{
	struct announcer one = announcer();

	take(&one, "open", "io", 0, SECOND);
	for (unsigned second = 2; second < 60; second++)
		take(&one, "update", "io", 0, second * SECOND);
	cr_expect_eq(shown(&one), 1);
	take(&one, "update", "io", 0, 62 * SECOND);
	cr_expect_eq(shown(&one), 2);
	take(&one, "open", "io", 5, 63 * SECOND);
	cr_expect_eq(shown(&one), 3);
	finish(&one);
}

Test(announcer, what_names_a_link_instead_of_the_job_is_shown_at_once)
{
	struct announcer one = announcer();
	json_t *finding = json_pack("{s:i, s:s, s:s, s:s, s:s, s:[i,i], s:s, s:s, s:{s:s}}", "schema", 1, "id", "x",
				    "state", "open", "severity", "warning", "kind", "straggler", "ranks", 0, 1, "scope", "job",
				    "text", "slow", "cause", "class", "network");

	announcer_take(&one, finding, SECOND);
	announcer_tick(&one, SECOND);
	json_object_set_new(finding, "state", json_string("update"));
	announcer_take(&one, finding, 2 * SECOND);
	announcer_tick(&one, 2 * SECOND);
	cr_expect_eq(shown(&one), 1);
	json_object_set_new(finding, "scope", json_string("link"));
	announcer_take(&one, finding, 7 * SECOND);
	announcer_tick(&one, 7 * SECOND);
	cr_expect_eq(shown(&one), 2);
	json_decref(finding);
	finish(&one);
}

Test(announcer, a_cause_that_is_not_known_yet_is_waited_for_a_moment)
{
	struct announcer one = announcer();

	take(&one, "open", "unknown", 0, SECOND);
	cr_expect_eq(shown(&one), 0);
	take(&one, "update", "io", 0, SECOND + SECOND / 2);
	cr_expect_eq(shown(&one), 1);
	take(&one, "open", "unknown", 1, 2 * SECOND);
	announcer_tick(&one, 5 * SECOND);
	cr_expect_eq(shown(&one), 2);
	finish(&one);
}

Test(announcer, a_finding_that_a_new_collector_announces_again_is_written_once)
{
	char path[] = "/tmp/rankwatch-announcer-XXXXXX", lines[4096] = "";
	int file = mkstemp(path);
	struct announcer one = announcer();

	cr_assert_geq(file, 0);
	one.lines = line_sink_open(path, "test");
	cr_assert(one.lines);
	take(&one, "open", "io", 0, SECOND);
	take(&one, "open", "io", 0, 2 * SECOND);
	take(&one, "closed", "io", 0, 3 * SECOND);
	take(&one, "open", "io", 0, 4 * SECOND);
	line_sink_close(one.lines, 10000);
	one.lines = NULL;
	unlink(path);
	cr_assert_gt(read(file, lines, sizeof(lines) - 1), 0);
	unsigned count = 0;
	for (const char *at = lines; (at = strchr(at, '\n')); at++)
		count++;
	cr_expect_eq(count, 3, "%s", lines);
	close(file);
	finish(&one);
}

static struct install install = { .plugin_directory = "/p", .plugin = "/p/" INSTALL_PLUGIN_NAME };

static void clear_job_names(void)
{
	static const char *const names[] = { "RANKWATCH_JOB", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID",
					     "RAY_JOB_ID", "TORCHELASTIC_RUN_ID" };

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
	cr_expect_not(job_read_signals(&job));
	cr_expect_eq(status_of(&job), 128 + SIGTERM);
}

Test(job, it_starts_with_the_signal_mask_that_we_had)
{
	struct job job;
	char *command[] = { "grep", "-q", "SigBlk:.*0000000000000000", "/proc/self/status", NULL };

	cr_assert_eq(job_start(&job, command, NULL), 0);
	cr_expect_eq(status_of(&job), 0);
}
