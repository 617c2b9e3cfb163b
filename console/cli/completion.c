/* SPDX-License-Identifier: MIT */
#include "console/cli/completion.h"

#include <errno.h>
#include <string.h>

#include "console/cli/command.h"
#include "console/cli/finding_page.h"
#include "console/cli/option.h"

/* What the word after an option, or an operand, may be. By the names that help texts use. */
enum words { WORDS_ANY, WORDS_FILES, WORDS_DIRECTORIES, WORDS_COMMAND };

static enum words words_of(const char *name)
{
	if (!name)
		return WORDS_ANY;
	if (strstr(name, "COMMAND [ARGUMENT"))
		return WORDS_COMMAND;
	if (strstr(name, "FILE"))
		return WORDS_FILES;
	return strstr(name, "DIR") ? WORDS_DIRECTORIES : WORDS_ANY;
}

static void print_names(FILE *out)
{
	for (const struct command *const *command = command_table; *command; command++)
		fprintf(out, "%s%s", command == command_table ? "" : " ", (*command)->name);
}

static void print_kinds(FILE *out)
{
	for (size_t i = 0; i < finding_page_count; i++)
		fprintf(out, " %s", finding_pages[i].kind);
}

static void print_bash_option(void *argument, const struct argp_option *option)
{
	fprintf(argument, " --%s%s", option->name, option->arg ? "=" : "");
}

static void print_bash_command(FILE *out, const struct command *command)
{
	static const char *const actions[] = {
		[WORDS_ANY] = "",
		[WORDS_FILES] = "compopt -o default",
		[WORDS_DIRECTORIES] = "compopt -o dirnames",
		[WORDS_COMMAND] = "_command_offset $(_rankwatch_operand)",
	};
	const char *action = actions[words_of(option_operands(command->argp))];

	fprintf(out, "\t%s)\n\t\toptions=\"", command->name);
	option_each(command->argp, print_bash_option, out);
	fputs("\"\n\t\toperand='", out);
	if (command == &help_command)
		fputs("COMPREPLY=($(compgen -W \"$commands", out), print_kinds(out), fputs("\" -- \"$cur\"))", out);
	else
		fputs(action, out);
	fputs("'\n\t\t;;\n", out);
}

static void print_bash(FILE *out)
{
	fputs("# bash completion for rankwatch\n"
	      "# The place of the first word after the command that is no option.\n"
	      "_rankwatch_operand() {\n"
	      "\tlocal i\n"
	      "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	      "\t\t[[ ${COMP_WORDS[i]} == -- ]] && { echo $((i + 1)); return; }\n"
	      "\t\t[[ ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]] || break\n"
	      "\tdone\n"
	      "\techo \"$i\"\n"
	      "}\n"
	      "_rankwatch() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} options operand commands=\"",
	      out);
	print_names(out);
	fputs("\"\n"
	      "\tCOMPREPLY=()\n"
	      "\tif ((COMP_CWORD == 1)); then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$commands --help --version\" -- \"$cur\"))\n"
	      "\t\treturn\n"
	      "\tfi\n"
	      "\tcase ${COMP_WORDS[1]} in\n",
	      out);
	for (const struct command *const *command = command_table; *command; command++)
		print_bash_command(out, *command);
	fputs("\t*) return ;;\n"
	      "\tesac\n"
	      "\tif [[ $cur == = || ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then\n"
	      "\t\tcur=${cur#=}\n"
	      "\t\tcompopt -o filenames\n"
	      "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	      "\telif [[ $cur == -* && $(_rankwatch_operand) == \"$COMP_CWORD\" ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	      "\t\t[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
	      "\telse\n"
	      "\t\teval \"$operand\"\n"
	      "\tfi\n"
	      "}\n"
	      "complete -F _rankwatch rankwatch\n",
	      out);
}

/* In single quotes inside [ ] of an _arguments specification. */
static void put_zsh(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", out);
		if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static const char *const zsh_actions[] = {
	[WORDS_ANY] = " ",
	[WORDS_FILES] = "_files",
	[WORDS_DIRECTORIES] = "_files -/",
	[WORDS_COMMAND] = "_normal",
};

static void print_zsh_option(void *argument, const struct argp_option *option)
{
	FILE *out = argument;

	fprintf(out, " \\\n\t\t\t'--%s%s[", option->name, option->arg ? "=" : "");
	put_zsh(out, option->doc);
	fputc(']', out);
	if (option->arg)
		fprintf(out, ":%s:%s", option->arg, zsh_actions[words_of(option->arg)]);
	fputc('\'', out);
}

static void print_zsh_command(FILE *out, const struct command *command)
{
	enum words words = words_of(option_operands(command->argp));

	fprintf(out, "\t\t%s)\n\t\t_arguments", command->name);
	option_each(command->argp, print_zsh_option, out);
	if (command == &help_command)
		fputs(" \\\n\t\t\t'1:command:(", out), print_names(out), print_kinds(out), fputs(")'", out);
	else if (words == WORDS_COMMAND)
		fputs(" \\\n\t\t\t'*::command:_normal'", out);
	else if (option_operands(command->argp))
		fprintf(out, " \\\n\t\t\t'*:operand:%s'", zsh_actions[words]);
	fputs("\n\t\t;;\n", out);
}

static void print_zsh(FILE *out)
{
	fputs("#compdef rankwatch\n"
	      "_rankwatch() {\n"
	      "\tlocal line state\n"
	      "\t_arguments -C '1:command:->command' '*::argument:->argument'\n"
	      "\tcase $state in\n"
	      "\tcommand)\n"
	      "\t\tlocal -a commands=(",
	      out);
	for (const struct command *const *command = command_table; *command; command++) {
		fprintf(out, "\n\t\t\t'%s:", (*command)->name);
		put_zsh(out, (*command)->summary);
		fputc('\'', out);
	}
	fputs(")\n\t\t_describe command commands\n\t\t;;\n\targument)\n\t\tcase $line[1] in\n", out);
	for (const struct command *const *command = command_table; *command; command++)
		print_zsh_command(out, *command);
	fputs("\t\tesac\n\t\t;;\n\tesac\n}\n_rankwatch \"$@\"\n", out);
}

/* In single quotes. */
static void put_fish(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
}

static const char *const fish_actions[] = {
	[WORDS_ANY] = "",
	[WORDS_FILES] = " -F",
	[WORDS_DIRECTORIES] = " -xa '(__fish_complete_directories)'",
	[WORDS_COMMAND] = " -xa '(__fish_complete_subcommand --fcs-skip=2)'",
};

struct fish {
	FILE *out;
	const char *command;
};

static void print_fish_option(void *argument, const struct argp_option *option)
{
	const struct fish *fish = argument;

	fprintf(fish->out, "complete -c rankwatch -n '__fish_seen_subcommand_from %s' -l %s%s%s -d '", fish->command,
		option->name, option->arg ? " -r" : "", option->arg ? fish_actions[words_of(option->arg)] : "");
	put_fish(fish->out, option->doc);
	fputs("'\n", fish->out);
}

static void print_fish_command(FILE *out, const struct command *command)
{
	struct fish fish = { out, command->name };
	const char *action = fish_actions[words_of(option_operands(command->argp))];

	fprintf(out, "complete -c rankwatch -n __fish_use_subcommand -a %s -d '", command->name);
	put_fish(out, command->summary);
	fputs("'\n", out);
	option_each(command->argp, print_fish_option, &fish);
	if (command == &help_command) {
		fputs("complete -c rankwatch -n '__fish_seen_subcommand_from help' -a '", out);
		print_names(out), print_kinds(out);
		fputs("'\n", out);
	} else if (*action) {
		fprintf(out, "complete -c rankwatch -n '__fish_seen_subcommand_from %s'%s\n", command->name, action);
	}
}

static void print_fish(FILE *out)
{
	fputs("# fish completion for rankwatch\ncomplete -c rankwatch -f\n", out);
	for (const struct command *const *command = command_table; *command; command++)
		print_fish_command(out, *command);
}

int completion_print(FILE *out, const char *shell)
{
	if (!strcmp(shell, "bash"))
		print_bash(out);
	else if (!strcmp(shell, "zsh"))
		print_zsh(out);
	else if (!strcmp(shell, "fish"))
		print_fish(out);
	else
		return -EINVAL;
	return 0;
}
