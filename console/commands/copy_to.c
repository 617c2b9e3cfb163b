/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/foreign_text.h"
#include "console/cli/command.h"
#include "console/cli/json_line.h"
#include "console/cli/option.h"
#include "console/cli/unfinished.h"
#include "console/dump/box_json.h"
#include "console/install/install.h"

enum { PIECE = 1 << 16 };

struct options {
	const char *directory;
	bool json;
};

static error_t parse(int key, char *argument, struct argp_state *state)
{
	struct options *options = state->input;
	const struct option_field fields[] = { { 'J', .flag = &options->json }, { 0 } };

	switch (key) {
	case ARGP_KEY_ARG:
		if (options->directory)
			argp_usage(state);
		options->directory = argument;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_usage(state);
		return 0;
	default:
		return option_take(fields, key, argument, state);
	}
}

static int fail(const char *path, int error)
{
	foreign_line(stderr, "rankwatch copy-to: %s: %s", path, strerror(error));
	return COMMAND_FAILED;
}

static int write_all(int out, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t written = write(out, bytes, size);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			bytes += written;
			size -= (size_t)written;
		}
	}
	return 0;
}

static int copy_bytes(int in, int out)
{
	char piece[PIECE];

	for (;;) {
		ssize_t length = read(in, piece, sizeof(piece));
		int err = length > 0 ? write_all(out, piece, (size_t)length) : 0;

		if (err || length == 0)
			return err;
		if (length < 0 && errno != EINTR)
			return -errno;
	}
}

/* Under its name only when it is whole: a container that starts meanwhile finds the old one, the new one or none. */
static int write_whole(int in, const char *path)
{
	char half[INSTALL_PATH + 32];

	snprintf(half, sizeof(half), "%s.%d", path, (int)getpid());
	int out = open(half, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);

	if (out < 0)
		return -errno;
	unfinished_guard(half);
	int err = copy_bytes(in, out);

	if (!err && fchmod(out, 0755))
		err = -errno;
	if (close(out) && !err)
		err = -errno;
	if (!err && rename(half, path))
		err = -errno;
	if (err)
		unlink(half);
	unfinished_release();
	return err;
}

static int make_directory(const char *path)
{
	struct stat state;

	if (mkdir(path, 0755) == 0 || (errno == EEXIST && stat(path, &state) == 0 && S_ISDIR(state.st_mode)))
		return 0;
	return errno == EEXIST ? -ENOTDIR : -errno;
}

/* Those of `path`, from its byte `from` on. */
static int make_directories(char *path, size_t from)
{
	for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		int err = make_directory(path);

		if (err)
			return fail(path, -err);
		*slash = '/';
	}
	return COMMAND_DONE;
}

/* Copies `from` to DIRECTORY/FOLDER/NAME, and says so. */
static int copy(const struct options *options, const char *from, const char *folder, const char *name)
{
	char path[INSTALL_PATH];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s/%s", options->directory, folder, name) >= sizeof(path))
		return fail(options->directory, ENAMETOOLONG);
	if (make_directories(path, strlen(options->directory)))
		return COMMAND_FAILED;
	int in = open(from, O_RDONLY | O_CLOEXEC);

	if (in < 0)
		return fail(from, errno);
	int err = write_whole(in, path);

	close(in);
	if (err)
		return fail(path, -err);
	if (options->json)
		json_line_print(json_pack("{s:o}", "path", box_json_text(path, sizeof(path))));
	else
		foreign_line(stdout, "%s", path);
	return COMMAND_DONE;
}

/* A relocatable tree has bin/rankwatch.bin, and before it a launcher, which says why that cannot run here. */
static bool has_launcher(const struct install *install, char launcher[static INSTALL_PATH])
{
	const char *end = strrchr(install->program, '/');

	if (!end || strcmp(end, "/rankwatch.bin"))
		return false;
	snprintf(launcher, INSTALL_PATH, "%.*s/rankwatch", (int)(end - install->program), install->program);
	return access(launcher, R_OK) == 0;
}

/* The last of its files comes last of all: where it is, all is. */
static int copy_command(const struct options *options, const struct install *install)
{
	char launcher[INSTALL_PATH];

	if (!has_launcher(install, launcher))
		return copy(options, install->program, RANKWATCH_BINDIR, "rankwatch");
	int status = copy(options, install->program, RANKWATCH_BINDIR, "rankwatch.bin");

	return status == COMMAND_DONE ? copy(options, launcher, RANKWATCH_BINDIR, "rankwatch") : status;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct options options = { 0 };
	struct install install;
	int status;

	command_parse(command, argc, argv, 0, &options);
	int err = install_find(&install);

	if (err)
		return fail("/proc/self/exe", -err);
	status = copy(&options, install.drill, RANKWATCH_LIBDIR, strrchr(install.drill, '/') + 1);
	if (status == COMMAND_DONE)
		status = copy(&options, install.plugin, RANKWATCH_LIBDIR, INSTALL_PLUGIN_NAME);
	if (status == COMMAND_DONE)
		status = copy_command(&options, &install);
	return status;
}

static const struct argp_option copy_to_options[] = { { "json", 'J', NULL, 0, "One JSON object a line: path", 0 },
						      { 0 } };

static const struct argp copy_to_argp = {
	.options = copy_to_options,
	.parser = parse,
	.args_doc = "DIRECTORY",
	.doc = "Copies this command and its plugin to DIRECTORY/" RANKWATCH_BINDIR " and DIRECTORY/" RANKWATCH_LIBDIR
	       ", and prints the files it wrote. They work from there: an init container copies them into a volume of "
	       "the pod, and "
	       "the image of the job stays as it is.\v"
	       "A file gets its name when it is whole, and the command comes last. From a relocatable tree or the "
	       "image it "
	       "is two files: bin/rankwatch is a shell script that starts bin/rankwatch.bin, or says why that cannot "
	       "run and "
	       "starts the job without it. Where there is no shell, start bin/rankwatch.bin.\n\n"
	       "Examples:\n"
	       "  rankwatch copy-to /rankwatch\n"
	       "  rankwatch copy-to ~/rankwatch && ~/rankwatch/bin/rankwatch run -- torchrun train.py\n",
};

const struct command copy_to_command = {
	.name = "copy-to",
	.summary = "copy this command and its plugin into a directory",
	.argp = &copy_to_argp,
	.run = run,
};
