/* SPDX-License-Identifier: MIT */
#include "console/trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
enum { ENDINGS = sizeof(ending) / sizeof(*ending), BUFFER = 1 << 16 };

static char unfinished[PATH_MAX]; /* what a signal removes; "" nothing */

static void remove_and_end(int number)
{
	if (unfinished[0])
		unlink(unfinished);
	signal(number, SIG_DFL);
	raise(number);
}

/* Only while there is something to remove; what was ignored (nohup) stays so. */
static void heed_signals(bool heed)
{
	for (size_t i = 0; i < ENDINGS; i++) {
		struct sigaction action;

		sigaction(ending[i], NULL, &action);
		if (action.sa_handler == SIG_IGN)
			continue;
		action = (struct sigaction){ .sa_handler = heed ? remove_and_end : SIG_DFL };
		sigaction(ending[i], &action, NULL);
	}
}

static ssize_t write_some(void *cookie, const char *bytes, size_t size)
{
	struct output *output = cookie;
	ssize_t written;

	errno = 0;
	if (!size)
		return 0;
	written = output->packed ? gzwrite(output->packed, bytes, (unsigned)size) : write(output->fd, bytes, size);
	if (written > 0)
		return written;
	if (!output->error)
		output->error = errno ? errno : EIO;
	return 0;
}

static int close_all(void *cookie)
{
	struct output *output = cookie;

	errno = 0;
	if ((output->packed ? gzclose(output->packed) != Z_OK : close(output->fd) != 0) && !output->error)
		output->error = errno ? errno : EIO;
	return 0;
}

/* The fastest compression: most of the time goes there as it is. */
static int open_stream(struct output *output, bool gzip)
{
	static const cookie_io_functions_t functions = { .write = write_some, .close = close_all };

	output->packed = gzip ? gzdopen(output->fd, "wb1") : NULL;
	if (!gzip || output->packed)
		output->stream = fopencookie(output, "w", functions);
	if (output->stream) {
		setvbuf(output->stream, NULL, _IOFBF, BUFFER);
		return 0;
	}
	if (output->packed)
		gzclose(output->packed);
	else
		close(output->fd);
	return -ENOMEM;
}

/* A signal that comes when the file is just made waits until it is known what to remove. */
static void make_temporary(struct output *output)
{
	sigset_t held, before;

	sigemptyset(&held);
	for (size_t i = 0; i < ENDINGS; i++)
		sigaddset(&held, ending[i]);
	pthread_sigmask(SIG_BLOCK, &held, &before);
	output->fd = mkostemp(output->name, O_CLOEXEC); /* mode 0600, as findings: names in it are the job's */
	int error = errno;
	if (output->fd >= 0) {
		memcpy(unfinished, output->name, sizeof(unfinished));
		heed_signals(true);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
}

static int open_temporary(struct output *output)
{
	if (snprintf(output->name, sizeof(output->name), "%s.XXXXXX", output->path) >= (int)sizeof(output->name))
		return -ENAMETOOLONG;
	make_temporary(output);
	if (output->fd < 0)
		return -errno;
	output->temporary = true;
	return 0;
}

/* A link is followed: what it names is what is replaced. */
static int open_named(struct output *output, const char *path)
{
	struct stat status;
	bool there = stat(path, &status) == 0;

	if (there && !S_ISREG(status.st_mode)) {
		output->fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
		return output->fd < 0 ? -errno : 0;
	}
	if (there && !realpath(path, output->path))
		return -errno;
	if (!there && snprintf(output->path, sizeof(output->path), "%s", path) >= (int)sizeof(output->path))
		return -ENAMETOOLONG;
	return open_temporary(output);
}

static int open_standard(struct output *output)
{
	output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	return output->fd < 0 ? -errno : 0;
}

int output_open(struct output *output, const char *path, bool gzip)
{
	int err;

	*output = (struct output){ .fd = -1 };
	err = strcmp(path, "-") ? open_named(output, path) : open_standard(output);
	if (!err)
		err = open_stream(output, gzip);
	if (err)
		output_abandon(output);
	return err;
}

static void forget(struct output *output)
{
	if (!output->temporary)
		return;
	unfinished[0] = '\0';
	heed_signals(false);
	output->temporary = false;
}

int output_finish(struct output *output)
{
	fclose(output->stream);
	output->stream = NULL;
	if (!output->error && output->temporary && rename(output->name, output->path))
		output->error = errno;
	if (output->error && output->temporary)
		unlink(output->name);
	forget(output);
	return -output->error;
}

void output_abandon(struct output *output)
{
	if (output->stream)
		fclose(output->stream);
	output->stream = NULL;
	if (output->temporary)
		unlink(output->name);
	forget(output);
}
