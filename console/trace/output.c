/* SPDX-License-Identifier: MIT */
#include "console/trace/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "console/cli/unfinished.h"

enum { BUFFER = 1 << 16 };

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

static int open_temporary(struct output *output)
{
	if (snprintf(output->name, sizeof(output->name), "%s.XXXXXX", output->path) >= (int)sizeof(output->name))
		return -ENAMETOOLONG;
	output->fd = unfinished_make(output->name); /* mode 0600, as findings: names in it are the job's */
	if (output->fd < 0)
		return output->fd;
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
	unfinished_release();
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
