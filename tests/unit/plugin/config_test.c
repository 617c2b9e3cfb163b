/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "plugin/guest/config.h"
#include "plugin/recording/environment.h"

static char told[1024];

static const char *get(void *argument, const char *name)
{
	size_t length = strlen(name);

	for (char *const *at = argument; *at; at++)
		if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
			return *at + length + 1;
	return NULL;
}

static void tell(void *argument, const char *line)
{
	size_t used = strlen(told);

	(void)argument;
	snprintf(told + used, sizeof(told) - used, "%s\n", line);
}

#define ENVIRONMENT(...) ((char *[]){ __VA_ARGS__, NULL })

static struct config read_from(char **environment)
{
	struct config config;

	config_read(&config, get, environment, tell, environment);
	return config;
}

Test(config, an_empty_environment_gives_the_defaults_and_no_word)
{
	struct config config = read_from(ENVIRONMENT("HOME=/"));

	cr_expect_eq(config.on, 1);
	cr_expect_eq(config.gpu_time, CONFIG_GPU_TIME_AUTO);
	cr_expect_eq(config.kernelch, 0);
	cr_expect_eq(config.quiet, 0);
	cr_expect_eq(config.history_bytes, 0);
	cr_expect_null(config.directory);
	cr_expect_str_eq(told, "");
}

Test(config, values_are_read)
{
	struct config config = read_from(ENVIRONMENT("RANKWATCH=OFF", "RANKWATCH_HISTORY=8MiB", "RANKWATCH_DIR=/x",
						     "RANKWATCH_GPU_TIME=watermark", "RANKWATCH_QUIET=1"));

	cr_expect_eq(config.on, 0);
	cr_expect_eq(config.history_bytes, 8u << 20);
	cr_expect_str_eq(config.directory, "/x");
	cr_expect_eq(config.gpu_time, CONFIG_GPU_TIME_WATERMARK);
	cr_expect_eq(config.quiet, 1);
	cr_expect_str_eq(told, "");
}

Test(config, a_wrong_value_is_told_and_the_default_holds)
{
	struct config config =
	    read_from(ENVIRONMENT("RANKWATCH_HISTORY=lots", "RANKWATCH_KERNELCH=yes", "RANKWATCH_GPU_TIME=auto|off"));

	cr_expect_eq(config.history_bytes, 0);
	cr_expect_eq(config.kernelch, 0);
	cr_expect_eq(config.gpu_time, CONFIG_GPU_TIME_AUTO);
	cr_expect_str_eq(told, "RANKWATCH_HISTORY=lots is not a SIZE; 0 is used\n"
			       "RANKWATCH_GPU_TIME=auto|off is not one of auto|watermark|off; auto is used\n"
			       "RANKWATCH_KERNELCH=yes is not one of 0|1; 0 is used\n");
}

Test(config, values_that_others_read_are_checked_here)
{
	read_from(ENVIRONMENT("RANKWATCH_RANK=first", "RANKWATCH_TIMEOUT=soon", "RANKWATCH_JOB=any thing"));
	cr_expect_str_eq(told, "RANKWATCH_RANK=first is not a NUMBER; none is used\n"
			       "RANKWATCH_TIMEOUT=soon is not a DURATION; none is used\n");
}

Test(config, a_mesh_that_names_nothing_is_told_with_what_is_wrong)
{
	static const char end[] = ", as in pp=2,fsdp=4; no communicator is named by it\n";
	static const struct {
		char *variable;
		const char *why;
	} cases[] = {
		{ "RANKWATCH_MESH=fsdp=8", NULL },
		{ "RANKWATCH_MESH=pp=2,fsdp=2,tp=2,", NULL },
		{ "RANKWATCH_MESH=fsdp=banana,tp=2", "\"fsdp=banana\" is no NAME=SIZE" },
		{ "RANKWATCH_MESH=pp=2,,tp=2", "\"\" is no NAME=SIZE" },
		{ "RANKWATCH_MESH=2x4", "\"2x4\" is no NAME=SIZE" },
		{ "RANKWATCH_MESH=pp=0", "\"pp=0\" is no NAME=SIZE" },
		{ "RANKWATCH_MESH=pp=99999999999", "\"pp=99999999999\" is no NAME=SIZE" },
		{ "RANKWATCH_MESH=a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=2", NULL },
		{ "RANKWATCH_MESH=a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=2", "it has more than 8 dimensions" },
		{ "RANKWATCH_MESH=a=65536,b=65536", "no job has so many ranks" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char line[256] = "";

		if (cases[i].why)
			snprintf(line, sizeof(line), "%s: %s%s", cases[i].variable, cases[i].why, end);
		told[0] = '\0';
		read_from(ENVIRONMENT(cases[i].variable));
		cr_expect_str_eq(told, line);
	}
}

Test(config, sizes_that_overflow_are_wrong)
{
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_HISTORY=99999999999999999999")).history_bytes, 0);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_HISTORY=18446744073709551615G")).history_bytes, 0);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_HISTORY=-1")).history_bytes, 0);
	cr_expect_neq(told[0], '\0');
}

Test(config, a_misspelt_name_is_told_with_the_nearest_one)
{
	read_from(ENVIRONMENT("RANKWATCH_TIMOUT=5", "RANKWATCHER=1", "RANKWATCH_MESH=fsdp=8"));
	cr_expect_str_eq(told, "RANKWATCH_TIMOUT is not a variable of rankwatch; did you mean RANKWATCH_TIMEOUT?\n");
}

Test(config, a_name_of_any_length_is_survived)
{
	static char name[4096];

	memset(name, 'X', sizeof(name) - 3);
	memcpy(name, "RANKWATCH_", 10);
	strcpy(name + sizeof(name) - 3, "=1");
	read_from(ENVIRONMENT(name));
	cr_expect(strstr(told, "is not a variable of rankwatch"));
}

Test(config, the_budget_is_a_share_of_time)
{
	cr_expect_eq(read_from(ENVIRONMENT("HOME=/")).budget_ppm, 2500);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_BUDGET=1.5")).budget_ppm, 15000);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_BUDGET=0")).budget_ppm, 0);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_BUDGET=100.000")).budget_ppm, 1000000);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_BUDGET=0.00125")).budget_ppm, 12);
	cr_expect_str_eq(told, "");
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_BUDGET=100.001")).budget_ppm, 2500);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_BUDGET=99999999999999999999999")).budget_ppm, 2500);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_BUDGET=101")).budget_ppm, 2500);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_BUDGET=-1")).budget_ppm, 2500);
	cr_expect_eq(read_from(ENVIRONMENT("RANKWATCH_BUDGET=nan")).budget_ppm, 2500);
	cr_expect(strstr(told, "RANKWATCH_BUDGET=101 is not a PERCENT; 0.25 is used\n"));
}

Test(config, bytes_are_what_each_function_is_said_to_send)
{
	struct config config = read_from(ENVIRONMENT("RANKWATCH_UINT8_AS=AllGather:float8_e4m3,ReduceScatter:BF16"));

	cr_expect_eq(config.uint8_as[RW_FUNCTION_ALL_GATHER], RW_DTYPE_FLOAT8_E4M3);
	cr_expect_eq(config.uint8_as[RW_FUNCTION_REDUCE_SCATTER], RW_DTYPE_BFLOAT16);
	cr_expect_eq(config.uint8_as[RW_FUNCTION_ALL_REDUCE], RW_DTYPE_UNKNOWN);
	cr_expect_str_eq(told, "");
	config = read_from(ENVIRONMENT("RANKWATCH_UINT8_AS=AllGather:float8_e4m3,Gossip:bf16"));
	cr_expect_eq(config.uint8_as[RW_FUNCTION_ALL_GATHER], RW_DTYPE_UNKNOWN, "all of it or nothing");
	cr_expect_str_eq(told, "RANKWATCH_UINT8_AS=AllGather:float8_e4m3,Gossip:bf16 is not a FUNCTION:TYPE; none is used\n");
}

static void row_of(const struct config_variable *variable, char *row, size_t size)
{
	int used = snprintf(row, size, "| `%s` | ", variable->name);

	for (const char *at = variable->values; *at; at++)
		used += snprintf(row + used, size - (size_t)used, *at == '|' ? " or " : "%c", *at);
	snprintf(row + used, size - (size_t)used, " | %s | %s |\n", variable->initial, variable->meaning);
}

Test(config, every_variable_is_in_the_documentation_as_the_table_has_it)
{
	FILE *file = fopen(ENVIRONMENT_PAGE, "re");
	static char page[16384];
	char row[256];

	cr_assert(file, "%s", ENVIRONMENT_PAGE);
	cr_assert(fread(page, 1, sizeof(page) - 1, file) > 0);
	fclose(file);
	for (const struct config_variable *variable = config_variables(); variable->name; variable++) {
		row_of(variable, row, sizeof(row));
		cr_expect(strstr(page, row), "docs/environment.md lacks: %s", row);
	}
}

Test(environment, the_telling_part_is_kept_and_secrets_are_not)
{
	char room[256];
	char *variables[] = { "SLURM_JOB_ID=7",
			      "HOME=/root",
			      "NCCL_DEBUG=WARN",
			      "RANK=3",
			      "RANKING=1",
			      "TORCH_HUB_TOKEN=hush",
			      "NCCL_PROXY=http://me:hush@host",
			      NULL };
	static const char expected[] = "RANK=3\0NCCL_DEBUG=WARN\0SLURM_JOB_ID=7\0";

	environment_keep(variables, room, sizeof(room));
	cr_expect_arr_eq(room, expected, sizeof(expected));
}

Test(environment, what_does_not_fit_whole_is_left_out)
{
	char room[16];
	char *variables[] = { "RANK=3", "NCCL_DEBUG=WARN", "NCCL_P2P=1", NULL };

	environment_keep(variables, room, sizeof(room));
	cr_expect_str_eq(room, "RANK=3");
	cr_expect_eq(room[7], '\0');
}
