/* SPDX-License-Identifier: MIT */
#include "console/run/launcher.h"

#include <string.h>

struct launcher {
	const char *name;
	bool short_values_attached; /* -n8 is one word with its value */
	bool has_verb;              /* docker run, kubectl exec: options follow a verb */
	bool has_object;            /* and then an image or a pod, before the program */
	bool is_script;             /* what follows the options is a script, not the program */
	const char *flags;          /* options without a value, each between two spaces */
	const char *pairs;          /* options with two */
};

#define MPI_FLAGS                                                                                                      \
	" --allow-run-as-root --oversubscribe --tag-output --bynode --byslot --display-map --report-bindings -q -v "   \
	"--quiet --verbose --nooversubscribe --do-not-launch --enable-recovery -oversubscribe -tag-output -l "         \
	"-verbose "
#define MPI_PAIRS " --mca -mca --gmca -gmca --prtemca --pmixmca -env -genv "

static const struct launcher launchers[] = {
	{ .name = "srun",
	  .short_values_attached = true,
	  .flags =
	      " --exclusive --overlap --overcommit --label --unbuffered --pty --quiet --verbose --no-kill --spread-job "
	      "--preserve-env --disable-status --immediate --wait-all-nodes --kill-on-bad-exit --contiguous -O -l -u "
	      "-Q -v -s -H -k -K -Z -E -X " },
	{ .name = "sbatch",
	  .short_values_attached = true,
	  .is_script = true,
	  .flags = " --exclusive --overcommit --parsable --requeue --no-requeue --wait --quiet --verbose --hold "
		   "--contiguous "
		   "--spread-job --test-only -O -W -Q -v -s -H -k " },
	{ .name = "mpirun", .flags = MPI_FLAGS, .pairs = MPI_PAIRS },
	{ .name = "mpiexec", .flags = MPI_FLAGS, .pairs = MPI_PAIRS },
	{ .name = "kubectl",
	  .has_verb = true,
	  .has_object = true,
	  .flags = " -i -t -it -ti --stdin --tty --quiet -q --rm " },
	{ .name = "docker",
	  .has_verb = true,
	  .has_object = true,
	  .flags = " --rm -d --detach -i --interactive -t --tty -it -ti -itd -dit --init --privileged --read-only -P "
		   "--publish-all --no-healthcheck --oom-kill-disable --quiet -q " },
};

static const struct launcher *find(const char *command)
{
	const char *slash = strrchr(command, '/');

	for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++)
		if (strcmp(launchers[i].name, slash ? slash + 1 : command) == 0)
			return &launchers[i];
	return NULL;
}

bool launcher_is(const char *command)
{
	return find(command) != NULL;
}

static bool lists(const char *options, const char *option)
{
	size_t length = strlen(option);

	for (const char *at = options; at && (at = strstr(at, option)); at++)
		if (at != options && at[-1] == ' ' && at[length] == ' ')
			return true;
	return false;
}

/* How many words this option takes, itself included. */
static int words_of(const struct launcher *launcher, const char *option)
{
	if (lists(launcher->pairs, option))
		return 3;
	if (strchr(option, '=') || lists(launcher->flags, option))
		return 1;
	if (launcher->short_values_attached && option[1] != '-' && option[2])
		return 1;
	return 2;
}

static int skip_options(const struct launcher *launcher, int at, int argc, char *const *argv)
{
	while (at < argc && argv[at][0] == '-' && argv[at][1]) {
		if (strcmp(argv[at], "--") == 0)
			return at + 1;
		at += words_of(launcher, argv[at]);
	}
	return at;
}

/* Where the program starts; argc when that cannot be known. */
static int find_program(const struct launcher *launcher, int argc, char *const *argv)
{
	int at = 1;

	if (launcher->has_verb)
		at = skip_options(launcher, at, argc, argv) + 1;
	at = skip_options(launcher, at, argc, argv);
	if (launcher->has_object)
		at = skip_options(launcher, at + 1, argc, argv);
	return at < argc ? at : argc;
}

static void print_word(FILE *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./-_";

	if (*word && strspn(word, plain) == strlen(word)) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc(*word, out);
	}
	fputc('\'', out);
}

void launcher_print_advice(FILE *out, int argc, char *const *argv, const char *inserted)
{
	const struct launcher *launcher = find(argv[0]);
	int program = find_program(launcher, argc, argv);

	fprintf(out, "%s starts the ranks elsewhere: put \"%s\" inside, in front of the program", launcher->name,
		inserted);
	if (launcher->is_script) {
		fprintf(out, ", in the script%s%s\n", program < argc ? " " : "", program < argc ? argv[program] : "");
		return;
	}
	if (program == argc) {
		fputc('\n', out);
		return;
	}
	fputs(":\n ", out);
	for (int i = 0; i < argc; i++) {
		if (i == program)
			fprintf(out, " %s", inserted);
		fputc(' ', out);
		print_word(out, argv[i]);
	}
	fputc('\n', out);
}
