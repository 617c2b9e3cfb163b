/* SPDX-License-Identifier: MIT */
/*
 * What places.py puts into every file that it rewrites, and nothing else includes. MUTANT_NUMBER=N: the place of that
 * number does the changed thing. MUTANT_SEEN=FILE, of at least RW_MUTANTS bytes: byte N becomes 1 when place N is
 * executed, by whatever process. (Not RANKWATCH_…, which the plugin would call misspelt.) Every program and library has
 * its own copy of all this, made by each of its files. No libc headers, which the file may want otherwise.
 */
#ifndef RANKWATCH_MUTANTS_SWITCH_H
#define RANKWATCH_MUTANTS_SWITCH_H

#include <sys/syscall.h>

/* The tests are quick to build without optimisation; what they test is run millions of times. */
#if !defined(__OPTIMIZE__) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif

#define RW_MUTANT_SHARED __attribute__((weak, visibility("hidden")))

extern char *getenv(const char *name);
extern long syscall(long number, ...);

RW_MUTANT_SHARED int rw_mutant;
RW_MUTANT_SHARED unsigned char rw_mutant_unseen[RW_MUTANTS];
RW_MUTANT_SHARED unsigned char *rw_mutant_seen = rw_mutant_unseen;

__attribute__((constructor(101), unused)) static void rw_mutant_begin(void)
{
	const char *number = getenv("MUTANT_NUMBER"), *file = getenv("MUTANT_SEEN");

	if (rw_mutant || rw_mutant_seen != rw_mutant_unseen)
		return; /* another file of this program was here */
	for (; number && *number >= '0' && *number <= '9'; number++)
		rw_mutant = rw_mutant * 10 + *number - '0';
	if (!file)
		return;
	long fd = syscall(SYS_openat, -100 /* AT_FDCWD */, file, 2 /* O_RDWR */);

	if (fd < 0)
		return;
	long at = syscall(SYS_mmap, 0L, (long)RW_MUTANTS, 3L /* read and write */, 1L /* MAP_SHARED */, fd, 0L);

	syscall(SYS_close, fd);
	if (at != -1)
		rw_mutant_seen = (unsigned char *)at;
}

/* RW_MUTANT_BASE: each file's own. */
#define RW_MUTANT(n) (rw_mutant_seen[RW_MUTANT_BASE + (n)] = 1, rw_mutant == RW_MUTANT_BASE + (n))

#endif
