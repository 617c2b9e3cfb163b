/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "console/cli/command.h"

Test(command, the_table_is_alphabetical)
{
	for (const struct command *const *command = command_table; command[1]; command++)
		cr_expect_lt(strcmp(command[0]->name, command[1]->name), 0, "%s", command[1]->name);
}

static void print_help_of(const struct command *command, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");

	argp_help(command->argp, out, ARGP_HELP_STD_HELP & ~ARGP_HELP_EXIT_OK, (char *)command->name);
	fclose(out);
}

Test(command, each_has_a_summary_a_description_and_an_example_of_itself)
{
	for (const struct command *const *command = command_table; *command; command++) {
		char help[16384] = "", example[64];

		print_help_of(*command, help, sizeof(help));
		snprintf(example, sizeof(example), "rankwatch %s", (*command)->name);
		cr_expect((*command)->summary && strlen((*command)->summary) <= 68, "%s", (*command)->name);
		cr_expect((*command)->run != NULL);
		cr_expect(strstr(help, "Usage: "), "%s", (*command)->name);
		char *examples = strstr(help, "\nExample");

		cr_assert(examples, "no example in the help of %s", (*command)->name);
		cr_expect(strstr(examples, example), "the example of %s shows something else", (*command)->name);
	}
}

Test(command, each_option_is_documented)
{
	for (const struct command *const *command = command_table; *command; command++) {
		const struct argp_option *option = (*command)->argp->options;

		for (; option && option->name; option++)
			cr_expect(option->doc && strlen(option->doc) > 10, "%s --%s", (*command)->name, option->name);
	}
}

Test(command, is_found_by_its_exact_name_and_meant_by_a_near_one)
{
	cr_expect_eq(command_find("dump"), &dump_command);
	cr_expect_null(command_find("dum"));
	cr_expect_eq(command_nearest("dmup"), &dump_command);
	cr_expect_eq(command_nearest("verison"), &version_command);
	cr_expect_null(command_nearest("kubernetes"));
}

Test(command, overview_lists_every_command)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	command_print_overview(out);
	fclose(out);
	for (const struct command *const *command = command_table; *command; command++)
		cr_expect(strstr(text, (*command)->summary), "%s", (*command)->name);
	free(text);
}

/* Whatever comes behind -h, and the exit status. */
static int print_help_in_child(const struct command *command, int out)
{
	char name[32], help[] = "-h", *arguments[] = { name, help, NULL };
	int status;
	pid_t pid = fork();

	snprintf(name, sizeof(name), "rankwatch %s", command->name);
	if (!pid) {
		dup2(out, STDOUT_FILENO);
		_exit(command->run(command, 2, arguments));
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

Test(command, h_is_help_everywhere)
{
	for (const struct command *const *command = command_table; *command; command++) {
		FILE *out = tmpfile();
		char first[128] = "", expected[64];

		cr_expect_eq(print_help_in_child(*command, fileno(out)), 0, "%s", (*command)->name);
		rewind(out);
		cr_expect(fgets(first, sizeof(first), out));
		snprintf(expected, sizeof(expected), "Usage: rankwatch %s ", (*command)->name);
		cr_expect_eq(strncmp(first, expected, strlen(expected)), 0, "%s: %s", (*command)->name, first);
		fclose(out);
	}
}

/* What these print has a form of its own: a shell's, a page of a manual, Prometheus', a trace's file. */
static bool has_a_form_of_its_own(const struct command *command)
{
	static const char *const names[] = { "env", "help", "metrics", "trace" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(command->name, names[i]) == 0)
			return true;
	return false;
}

Test(command, json_is_to_be_had_everywhere)
{
	for (const struct command *const *command = command_table; *command; command++) {
		bool has = false;

		for (const struct argp_option *option = (*command)->argp->options; option && (option->name || option->doc); option++)
			has |= option->key == 'J' && option->name && strcmp(option->name, "json") == 0;
		cr_expect(has || has_a_form_of_its_own(*command), "%s", (*command)->name);
	}
}

Test(command, json_has_one_short_option)
{
	for (const struct command *const *command = command_table; *command; command++)
		for (const struct argp_option *option = (*command)->argp->options; option && option->name; option++)
			cr_expect(strcmp(option->name, "json") != 0 || option->key == 'J', "%s", (*command)->name);
}
