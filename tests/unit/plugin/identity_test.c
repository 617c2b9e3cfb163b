/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "identity/identity.h"

/* "NAME=VALUE" strings, NULL-terminated. */
static const char *get(void *argument, const char *name)
{
	size_t length = strlen(name);

	for (const char *const *at = argument; *at; at++)
		if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
			return *at + length + 1;
	return NULL;
}

#define ENVIRONMENT(...) ((const char *[]){ __VA_ARGS__, NULL })

static struct identity identify(const char **environment, int32_t largest)
{
	struct identity identity;

	identity_read(&identity, get, environment, largest, NULL, 0);
	return identity;
}

/* Arguments separated by spaces, as /proc/PID/cmdline has them with NULs. */
static struct identity identify_command(const char **environment, const char *command)
{
	struct identity identity;
	char line[512];
	size_t size = strlen(command) + 1;

	memcpy(line, command, size);
	for (size_t i = 0; i < size; i++)
		if (line[i] == ' ')
			line[i] = '\0';
	identity_read(&identity, get, environment, 8, line, size);
	return identity;
}

Test(identity, nothing_is_known_in_an_empty_environment)
{
	struct identity identity = identify(ENVIRONMENT("HOME=/"), 8);

	cr_expect_eq(identity.world_rank, -1);
	cr_expect_eq(identity.world_size, -1);
	cr_expect_eq(identity.local_rank, -1);
	cr_expect_eq(identity.generation, 0);
	cr_expect_str_eq(identity.rank_from, "");
	cr_expect_str_eq(identity.job, "local");
	cr_expect_str_eq(identity.job_from, "");
	cr_expect_neq(identity.host[0], '\0');
	cr_expect_eq(identity.watchdog_ms, 0);
}

Test(identity, our_own_variable_comes_before_the_launchers)
{
	struct identity identity =
	    identify(ENVIRONMENT("OMPI_COMM_WORLD_RANK=3", "RANK=2", "RANKWATCH_RANK=1", "WORLD_SIZE=8"), 8);

	cr_expect_eq(identity.world_rank, 1);
	cr_expect_str_eq(identity.rank_from, "RANKWATCH_RANK");
	cr_expect_eq(identity.world_size, 8);
}

Test(identity, slurm_procid_is_the_rank_when_there_are_as_many_tasks_as_ranks)
{
	const char **environment = ENVIRONMENT("SLURM_PROCID=5", "SLURM_NTASKS=16");

	cr_expect_eq(identify(environment, 16).world_rank, 5);
	cr_expect_eq(identify(environment, 128).world_rank, -1, "srun torchrun: it is the node");
}

Test(identity, a_value_that_is_no_number_is_not_a_rank)
{
	cr_expect_eq(identify(ENVIRONMENT("RANK=two"), 8).world_rank, -1);
	cr_expect_eq(identify(ENVIRONMENT("RANK=-1"), 8).world_rank, -1);
	cr_expect_eq(identify(ENVIRONMENT("RANK=99999999999"), 8).world_rank, -1);
	cr_expect_eq(identify(ENVIRONMENT("RANK="), 8).world_rank, -1);
}

Test(identity, the_node_has_slurms_or_kubernetes_name)
{
	cr_expect_str_eq(identify(ENVIRONMENT("SLURMD_NODENAME=n1", "NODE_NAME=k1"), 8).host, "n1");
	cr_expect_str_eq(identify(ENVIRONMENT("NODE_NAME=k1"), 8).host, "k1");
}

Test(identity, jobs_are_named_by_their_scheduler)
{
	cr_expect_str_eq(identify(ENVIRONMENT("SLURM_JOB_ID=81123"), 8).job, "slurm-81123");
	cr_expect_str_eq(
	    identify(ENVIRONMENT("SLURM_JOB_ID=9", "SLURM_ARRAY_JOB_ID=7", "SLURM_ARRAY_TASK_ID=2", "SLURM_STEP_ID=0"),
		     8)
		.job,
	    "slurm-7_2.0");
	cr_expect_str_eq(identify(ENVIRONMENT("PBS_JOBID=12.head"), 8).job, "pbs-12.head");
	cr_expect_str_eq(identify(ENVIRONMENT("RANKWATCH_JOB=night", "SLURM_JOB_ID=1"), 8).job, "night");
}

Test(identity, a_constant_rendezvous_id_names_a_job_only_with_its_address)
{
	const char *address = "MASTER_ADDR=a", *port = "MASTER_PORT=29500";

	cr_expect_str_eq(identify(ENVIRONMENT("TORCHELASTIC_RUN_ID=none", address, port), 8).job, "torch-a:29500");
	cr_expect_str_eq(identify(ENVIRONMENT("TORCHELASTIC_RUN_ID=101", address, port), 8).job, "torch-101-a:29500");
	cr_expect_str_eq(identify(ENVIRONMENT("TORCHELASTIC_RUN_ID=6f0c-9a", address, port), 8).job, "torch-6f0c-9a");
	cr_expect_str_eq(identify(ENVIRONMENT("TORCHELASTIC_RUN_ID=none"), 8).job, "local");
}

Test(identity, overlong_names_are_cut)
{
	char job[256] = "RANKWATCH_JOB=";

	memset(job + strlen(job), 'j', 200);
	cr_expect_eq(strlen(identify(ENVIRONMENT(job), 8).job), 63);
}

Test(identity, a_restart_is_another_generation)
{
	cr_expect_eq(identify(ENVIRONMENT("TORCHELASTIC_RESTART_COUNT=2"), 8).generation, 2);
	cr_expect_eq(identify(ENVIRONMENT("SLURM_RESTART_COUNT=1"), 8).generation, 1);
}

static void expect_watchdog(struct identity identity, uint64_t ms, uint64_t init_ms, const char *from)
{
	cr_expect_eq(identity.watchdog_ms, ms, "%s: %lu", from, (unsigned long)identity.watchdog_ms);
	cr_expect_eq(identity.watchdog_init_ms, init_ms, "%s: init %lu", from,
		     (unsigned long)identity.watchdog_init_ms);
	cr_expect_str_eq(identity.watchdog_from, from);
}

Test(watchdog, our_own_variable_takes_seconds_or_a_unit)
{
	expect_watchdog(identify(ENVIRONMENT("RANKWATCH_TIMEOUT=100"), 8), 100000, 0, "RANKWATCH_TIMEOUT");
	expect_watchdog(identify(ENVIRONMENT("RANKWATCH_TIMEOUT=10m"), 8), 600000, 0, "RANKWATCH_TIMEOUT");
	expect_watchdog(identify(ENVIRONMENT("RANKWATCH_TIMEOUT=1.5h"), 8), 5400000, 0, "RANKWATCH_TIMEOUT");
	expect_watchdog(identify(ENVIRONMENT("RANKWATCH_TIMEOUT=soon"), 8), 0, 0, "");
}

Test(watchdog, command_lines_are_read_in_both_spellings)
{
	const char **none = ENVIRONMENT("HOME=/");

	expect_watchdog(identify_command(none, "python -m torchtitan.train --comm.train_timeout_seconds 50"), 50000,
			300000, "cmdline");
	expect_watchdog(
	    identify_command(none, "python t.py --comm.train-timeout-seconds=50 --comm.init_timeout_seconds=9"), 50000,
	    9000, "cmdline");
	expect_watchdog(identify_command(none, "python pretrain.py --distributed-timeout-minutes 20"), 1200000, 0,
			"cmdline");
	expect_watchdog(identify_command(none, "python run.py --ddp_timeout=1800"), 1800000, 0, "cmdline");
	expect_watchdog(identify_command(none, "python run.py --ddp_timeout"), 0, 0, "");
}

Test(watchdog, defaults_of_frameworks_are_called_assumed)
{
	expect_watchdog(identify_command(ENVIRONMENT("HOME=/"), "python3 -m torchtitan.train"), 100000, 300000,
			"torchtitan, assumed");
	expect_watchdog(identify_command(ENVIRONMENT("MASTER_ADDR=a"), "/usr/bin/python3 train.py"), 600000, 0,
			"PyTorch, assumed");
	expect_watchdog(identify_command(ENVIRONMENT("MASTER_ADDR=a"), "./workload"), 0, 0, "");
}

/* Whoever opens it waits for a writer, as on a mount that does not answer. */
Test(watchdog, a_configuration_file_is_not_opened_and_what_it_may_say_is_not_known, .timeout = 10)
{
	char directory[] = "/tmp/rankwatch-test-XXXXXX", path[64], command[256];

	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/fifo", directory);
	cr_assert_eq(mkfifo(path, 0600), 0);
	snprintf(command, sizeof(command), "python -m torchtitan.train --job.config_file %s", path);
	expect_watchdog(identify_command(ENVIRONMENT("HOME=/"), command), 0, 0, "");
	snprintf(command, sizeof(command), "python train.py --job.config_file=%s --comm.train_timeout_seconds 70.5",
		 path);
	expect_watchdog(identify_command(ENVIRONMENT("HOME=/"), command), 70500, 300000, "cmdline");
	unlink(path);
	rmdir(directory);
}
