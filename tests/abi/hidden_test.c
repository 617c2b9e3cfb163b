/* SPDX-License-Identifier: MIT */
/*
 * What the plugin's first line says of a NCCL that exports its functions, and of one that hides them. This program is
 * the NCCL: with EXPORTS it is one of the first kind.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/abi/player.h"

#ifdef EXPORTS
enum { HIDES = 0 };

extern int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
	*version = 22809;
	return 0;
}
#else
enum { HIDES = 1 };
#endif

static int lines_of(const char *text)
{
	int lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

/* Where it records, and what it does not see. Lines for a file are written by a thread of their own. 10 s at most. */
static void read_start(int file, char *text, size_t size)
{
	for (int tries = 0; tries < 10000 && lines_of(text) < 2; tries++) {
		ssize_t length = pread(file, text, size - 1, 0);

		cr_assert_geq(length, 0);
		text[length] = '\0';
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

Test(hidden, the_start_says_what_is_not_seen_of_a_nccl_that_hides_its_functions)
{
	char log[] = "/tmp/rankwatch-hidden.XXXXXX", text[4096] = "";
	int file = mkstemp(log);
	struct player player;

	cr_assert_geq(file, 0);
	player_directory();
	setenv("RANKWATCH_LOG", log, 1);
	unsetenv("RANKWATCH_QUIET");
	player_init(&player, player_load(), 5, 0x5eed, 0, 4);
	read_start(file, text, sizeof(text));
	unlink(log);
	cr_expect_eq(strstr(text, "this NCCL hides its functions") != NULL, HIDES, "%s", text);
	cr_expect_eq(strstr(text, "libnccl.so.2") != NULL, HIDES, "%s", text);
	player_finalize(&player);
}
