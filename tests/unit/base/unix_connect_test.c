/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/unix_connect.h"

enum { SOMEBODY = 65534 };

static char directory[] = "/tmp/rankwatch-connect-XXXXXX", path[64];

static void begin(void)
{
	cr_assert(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/socket", directory);
}

static void end(void)
{
	unlink(path);
	rmdir(directory);
}

TestSuite(unix_connect, .init = begin, .fini = end, .timeout = 60);

static int listen_there(int type)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strcpy(name.sun_path, path);
	cr_assert_eq(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	cr_assert_eq(listen(fd, 4), 0);
	return fd;
}

Test(unix_connect, to_ones_own_listener_of_the_same_kind)
{
	int listener = listen_there(SOCK_SEQPACKET), fd = unix_connect(path, SOCK_SEQPACKET);

	cr_assert_geq(fd, 0);
	cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	cr_expect(fcntl(fd, F_GETFL) & O_NONBLOCK);
	cr_expect_eq(unix_connect(path, SOCK_STREAM), -EPROTOTYPE);
	close(fd);
	close(listener);
	cr_expect_eq(unix_connect(path, SOCK_SEQPACKET), -ENOENT, "nobody listens any more");
	unlink(path);
	cr_expect_eq(unix_connect(path, SOCK_SEQPACKET), -ENOENT);
}

Test(unix_connect, a_path_that_does_not_fit_is_not_cut)
{
	char longer[256];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	cr_expect_eq(unix_connect(longer, SOCK_STREAM), -ENAMETOOLONG);
}

/* As root listens for nobody; the other way nobody is not believed by root. */
Test(unix_connect, another_users_listener_is_not_believed)
{
	int ready[2];
	char byte;

	if (geteuid())
		cr_skip_test("needs root");
	cr_assert(pipe(ready) == 0 && chmod(directory, 0777) == 0);
	pid_t child = fork();

	if (!child) {
		if (setuid(SOMEBODY))
			_exit(1);
		listen_there(SOCK_STREAM);
		_exit(write(ready[1], "", 1) != 1 || pause());
	}
	cr_assert_eq(read(ready[0], &byte, 1), 1);
	cr_expect_eq(unix_connect(path, SOCK_STREAM), -EPERM);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}
