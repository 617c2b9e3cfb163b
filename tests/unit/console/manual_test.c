/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "console/cli/command.h"
#include "console/cli/completion.h"
#include "console/cli/manual.h"
#include "console/cli/option.h"

struct page {
	char *text;
	size_t size;
	const char *name;
};

static struct page print_page(const struct command *command)
{
	struct page page = { .name = command ? command->name : "overview" };
	FILE *out = open_memstream(&page.text, &page.size);

	manual_print(out, command);
	fclose(out);
	return page;
}

static struct page print_completion(const char *shell)
{
	struct page page = { .name = shell };
	FILE *out = open_memstream(&page.text, &page.size);

	cr_assert_eq(completion_print(out, shell), 0);
	fclose(out);
	return page;
}

/* Status of a program that reads the page; its output must be empty. Skips where the program is missing. */
static void must_accept(const char *program, const struct page *page)
{
	char command[256];

	snprintf(command, sizeof(command), "command -v %.*s >/dev/null", (int)strcspn(program, " "), program);
	if (system(command) != 0)
		cr_skip_test("no %s", program);
	snprintf(command, sizeof(command), "%s", program);
	FILE *pipe = popen(command, "w");
	cr_assert(pipe);
	fwrite(page->text, 1, page->size, pipe);
	cr_expect_eq(pclose(pipe), 0, "%s does not accept the page of %s", program, page->name);
}

static void must_have(void *argument, const struct argp_option *option)
{
	const struct page *page = argument;
	char name[64] = "", *end = name;

	for (const char *at = option->name; *at && end < name + sizeof(name) - 3; at++)
		end = stpcpy(end, *at == '-' ? "\\-" : (char[]){ *at, '\0' });
	cr_expect(strstr(page->text, name), "no %s in the manual page of %s", name, page->name);
}

Test(manual, has_every_option_of_every_command_and_its_example)
{
	for (const struct command *const *command = command_table; *command; command++) {
		struct page page = print_page(*command);

		option_each((*command)->argp, must_have, &page);
		char *examples = strstr(page.text, ".SH EXAMPLES\n");
		cr_assert(examples, "%s", (*command)->name);
		cr_expect(strstr(examples, "\nrankwatch ") || strstr(examples, "rankwatch"), "%s", (*command)->name);
		free(page.text);
	}
}

Test(manual, and_completion_know_the_operands_that_commands_share)
{
	struct page page = print_page(&report_command), bash = print_completion("bash"), zsh = print_completion("zsh");
	char *in_bash = strstr(bash.text, "\treport)\n"), *in_zsh = strstr(zsh.text, "\treport)\n");

	cr_expect(strstr(page.text, "[\\fIOPTION\\fR...] \\fI[DIRECTORY|FILE...]\\fR\n"), "%s", page.text);
	cr_assert(in_bash && in_zsh);
	*strstr(in_bash, ";;") = *strstr(in_zsh, ";;") = '\0';
	cr_expect(strstr(in_bash, "operand='compopt -o default'"), "%s", in_bash);
	cr_expect(strstr(in_zsh, "'*:operand:_files'"), "%s", in_zsh);
	free(page.text);
	free(bash.text);
	free(zsh.text);
}

Test(manual, an_option_that_would_do_nothing_is_not_offered)
{
	struct page page = print_page(&clean_command);

	cr_expect_null(strstr(page.text, "\\-\\-all"), "%s", page.text);
	free(page.text);
}

Test(manual, pages_have_no_error_in_their_troff)
{
	struct page overview = print_page(NULL);

	must_accept("groff -man -ww -Tutf8 2>&1 >/dev/null | (! grep .)", &overview);
	for (const struct command *const *command = command_table; *command; command++) {
		struct page page = print_page(*command);

		must_accept("groff -man -ww -Tutf8 2>&1 >/dev/null | (! grep .)", &page);
		free(page.text);
	}
	free(overview.text);
}

Test(completion, scripts_are_good_shell)
{
	struct page bash = print_completion("bash"), zsh = print_completion("zsh"), fish = print_completion("fish");

	cr_expect_lt(completion_print(stdout, "tcsh"), 0);
	must_accept("bash -n", &bash);
	must_accept("zsh -n", &zsh);
	must_accept("fish -n", &fish);
	free(bash.text);
	free(zsh.text);
	free(fish.text);
}

/* What bash offers behind `words` when its last one is completed. */
static void offers(const char *words, const char *wanted)
{
	struct page page = print_completion("bash");
	char command[512], offered[4096] = "";
	char path[] = "/tmp/rankwatch-completion-XXXXXX";
	int fd = mkstemp(path);
	FILE *script = fd >= 0 ? fdopen(fd, "w") : NULL;

	cr_assert(script);
	fprintf(script, "%s\ncompopt() { :; }\nCOMP_WORDS=(%s)\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_rankwatch\n"
			"printf '%%s ' \"${COMPREPLY[@]}\"\n",
		page.text, words);
	fclose(script);
	snprintf(command, sizeof(command), "bash %s 2>&1", path);
	FILE *pipe = popen(command, "r");
	cr_assert(pipe && fgets(offered, sizeof(offered), pipe));
	pclose(pipe);
	remove(path);
	cr_expect_str_eq(offered, wanted, "%s: %s", words, offered);
	free(page.text);
}

Test(completion, bash_offers_commands_then_their_options)
{
	if (system("command -v bash >/dev/null") != 0)
		cr_skip_test("no bash");
	offers("rankwatch do", "doctor ");
	offers("rankwatch version --", "--json --help --usage ");
	offers("rankwatch dump --he", "--header --help ");
	offers("rankwatch help fin", "findings ");
}

Test(option, an_unknown_one_is_told_before_anything_happens_with_the_nearest_one)
{
	char *good[] = { "rankwatch run", "--find=x", "--job", "--odd-name", "-q", "prog", "--unknown", NULL };
	char *bad[] = { "rankwatch run", "--quiet", "--fidings=x", "prog", NULL };
	char *dash[] = { "rankwatch run", "--", "--unknown", NULL };

	cr_expect_null(option_unknown(run_command.argp, 7, good, true));
	cr_expect_str_eq(option_unknown(run_command.argp, 4, bad, true), "--fidings=x");
	cr_expect_str_eq(option_nearest(run_command.argp, "--fidings=x")->name, "findings");
	cr_expect_null(option_nearest(run_command.argp, "--kubernetes"));
	cr_expect_null(option_unknown(run_command.argp, 3, dash, true));
	char *shared[] = { "rankwatch report", "--all", "--job", "x", NULL };
	cr_expect_null(option_unknown(report_command.argp, 4, shared, false));
	cr_expect_str_eq(option_unknown(dump_command.argp, 7, good, false), "--find=x");
}
