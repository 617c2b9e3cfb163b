/* SPDX-License-Identifier: MIT */
/* A library that somebody else wrote: as it is loaded it writes down what it may do, into the file $WITNESS_FILE. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void bear_witness(void)
{
	const char *path = getenv("WITNESS_FILE");
	int from = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	int to = path ? open(path, O_WRONLY | O_TRUNC | O_CLOEXEC) : -1;
	char text[4096];
	ssize_t length = from < 0 ? 0 : read(from, text, sizeof(text));

	if (to < 0 || length <= 0 || write(to, text, (size_t)length) != length)
		_exit(3);
	close(to);
	close(from);
}

int ncclGetVersion(int *version);

__attribute__((visibility("default"))) int ncclGetVersion(int *version)
{
	*version = 22809;
	return 0;
}
