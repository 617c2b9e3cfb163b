/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/unix_connect.h"
#include "protocol/address.h"

/* 0 when somebody listens. */
static int try_connect(const char *path)
{
	int fd = unix_connect(path, SOCK_STREAM);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static void collector_run_check(struct check_context *context, struct check_result *result)
{
	const char *job = check_get(context, "RANKWATCH_JOB");
	struct address address;
	int error = address_find(&address, check_get(context, "XDG_RUNTIME_DIR"), getuid(), job ? job : "local");

	if (!error)
		error = try_connect(address.shared);
	if (!error) {
		check_say(result, VERDICT_OK, "running, on %s", address.shared);
	} else if (error == -ENOENT) {
		check_say(result, VERDICT_OK, "none is running; \"rankwatch run\" starts one for its job");
	} else {
		check_say(result, VERDICT_WARNING, "%s: %s", address.shared, strerror(-error));
		check_advise(result,
			     "\"rankwatch findings\" cannot follow it; --findings FILE works without the socket");
	}
}

const struct check collector_check = { .name = "collector", .run = collector_run_check };
