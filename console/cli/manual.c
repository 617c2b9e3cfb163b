/* SPDX-License-Identifier: MIT */
#include "console/cli/manual.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "console/cli/option.h"

/* What is not a command: exit statuses, files and variables, for the overview. Lines as man's macros want them. */
static const char overview_end[] =
    ".SH EXIT STATUS\n"
    ".TP\n0\ndone\n"
    ".TP\n1\nfailed\n"
    ".TP\n2\nmisuse\n"
    ".PP\n"
    "\\fBrankwatch run\\fR passes on the status of its job; \\fBrankwatch report \\-\\-exit\\-code\\fR, "
    "\\fBrankwatch diff\\fR, \\fBrankwatch drill\\fR and \\fBrankwatch demo\\fR have statuses of their own, see "
    "there.\n"
    ".SH FILES\n"
    ".TP\n\\fI/dev/shm/rankwatch\\-UID/JOB/rankR\\-PID.rwbox\\fR\n"
    "Black boxes, one a process; elsewhere when this is not usable: \\fBrankwatch doctor\\fR says where.\n"
    ".TP\n\\fI$XDG_RUNTIME_DIR/rankwatch.sock\\fR (root: \\fI/run/rankwatch/socket\\fR)\n"
    "The collector's socket: findings as JSON lines.\n"
    ".SH ENVIRONMENT\n"
    "The plugin reads RANKWATCH and RANKWATCH_*, listed in docs/environment.md, in every process that uses NCCL. A "
    "name that it does not know is answered with the nearest one. The command looks for boxes where RANKWATCH_DIR "
    "and XDG_RUNTIME_DIR say, and reads NO_COLOR, TERM and COLUMNS.\n";

static void put_upper(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(toupper((unsigned char)*text), out);
}

/* troff takes \ as its escape, - as a hyphen, and . or ' at the start of a line as a request. */
static void put_text(FILE *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		bool starts_line = i == 0 || text[i - 1] == '\n';

		if (starts_line && (text[i] == '.' || text[i] == '\''))
			fputs("\\&", out);
		if (text[i] == '\\')
			fputs("\\e", out);
		else if (text[i] == '-')
			fputs("\\-", out);
		else
			fputc(text[i], out);
	}
}

static void put(FILE *out, const char *text)
{
	put_text(out, text, strlen(text));
}

static void print_option(void *argument, const struct argp_option *option)
{
	FILE *out = argument;

	fputs(".TP\n", out);
	if (isgraph(option->key))
		fprintf(out, "\\fB\\-%c\\fR, ", option->key);
	fputs("\\fB\\-\\-", out);
	put(out, option->name);
	fputs("\\fR", out);
	if (option->arg) {
		fputs("=\\fI", out);
		put(out, option->arg);
		fputs("\\fR", out);
	}
	fputc('\n', out);
	put(out, option->doc);
	fputc('\n', out);
}

/* A paragraph a line; lines that start with two spaces are examples and stay as they are. */
static void print_paragraphs(FILE *out, const char *text)
{
	bool in_example = false;

	while (*text) {
		size_t length = strcspn(text, "\n");
		bool example = !strncmp(text, "  ", 2);

		if (example != in_example)
			fputs(example ? ".PP\n.nf\n.RS\n" : ".RE\n.fi\n", out);
		in_example = example;
		if (length && !example)
			fputs(".PP\n", out);
		put_text(out, example ? text + 2 : text, example ? length - 2 : length);
		if (length)
			fputc('\n', out);
		text += length + (text[length] == '\n');
	}
	if (in_example)
		fputs(".RE\n.fi\n", out);
}

/* The help text has the description, \v, notes, and examples at the end: here these have headings of their own. */
static const char *examples_of(const char *doc)
{
	for (const char *at = strstr(doc, "Example"); at; at = strstr(at + 1, "Example"))
		if (at > doc && (at[-1] == '\n' || at[-1] == '\v'))
			return at;
	return doc + strlen(doc);
}

static void print_description(FILE *out, const char *doc)
{
	char *text = strndup(doc, (size_t)(examples_of(doc) - doc));
	char *split = text ? strchr(text, '\v') : NULL;

	if (split)
		*split = '\n';
	fputs(".SH DESCRIPTION\n", out);
	if (text)
		print_paragraphs(out, text);
	free(text);
}

static void print_examples(FILE *out, const char *doc)
{
	const char *examples = strchr(examples_of(doc), '\n');

	if (!examples)
		return;
	fputs(".SH EXAMPLES\n", out);
	print_paragraphs(out, examples + 1);
}

static void print_head(FILE *out, const char *name, const char *summary)
{
	fputs(".TH ", out);
	put_upper(out, name);
	fprintf(out, " 1 \"\" \"rankwatch %s\" \"User Commands\"\n.SH NAME\n", RANKWATCH_VERSION);
	put(out, name);
	fputs(" \\- ", out);
	put(out, summary);
	fputs("\n.SH SYNOPSIS\n", out);
}

static void print_command(FILE *out, const struct command *command)
{
	const char *operands = option_operands(command->argp);
	char name[64];

	snprintf(name, sizeof(name), "rankwatch-%s", command->name);
	print_head(out, name, command->summary);
	fprintf(out, "\\fBrankwatch %s\\fR [\\fIOPTION\\fR...]", command->name);
	if (operands) {
		fputs(" \\fI", out);
		put(out, operands);
		fputs("\\fR", out);
	}
	fputc('\n', out);
	print_description(out, command->argp->doc);
	fputs(".SH OPTIONS\n", out);
	option_each(command->argp, print_option, out);
	print_examples(out, command->argp->doc);
	fputs(".SH SEE ALSO\n.BR rankwatch (1)\n", out);
}

static void print_overview(FILE *out)
{
	print_head(out, "rankwatch", "names the rank that makes a training job slow, stop or go NaN, and says why");
	fputs("\\fBrankwatch\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR...]\n.SH COMMANDS\n", out);
	for (const struct command *const *command = command_table; *command; command++) {
		fprintf(out, ".TP\n.BR rankwatch\\-%s (1)\n", (*command)->name);
		put(out, (*command)->summary);
		fputc('\n', out);
	}
	fputs(overview_end, out);
}

void manual_print(FILE *out, const struct command *command)
{
	if (command)
		print_command(out, command);
	else
		print_overview(out);
}
