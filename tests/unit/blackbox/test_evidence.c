/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "blackbox/evidence.h"
#include "tests/unit/blackbox/fixture.h"

#define NAME       "job-host" EVIDENCE_SUFFIX
#define CREATED_NS (UINT64_C(1795999472) * 1000000000)

enum { RECORDS = 8, NOBODY = 65534 };

static char place[128];
static int directory = -1;

static struct seen {
	char records[RECORDS][64];
	size_t count;
	unsigned damaged;
	uint64_t created_ns;
} seen;

static void setup(void)
{
	snprintf(place, sizeof(place), "%s/run", fixture_directory());
	cr_assert_eq(mkdir(place, 0700), 0);
	directory = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(openat(directory, "rank0-1.rwbox", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	signal(SIGXFSZ, SIG_IGN);
}

static void end(void)
{
	close(directory);
	fixture_remove();
}

TestSuite(evidence, .init = setup, .fini = end);

static void note(void *argument, const char *record, size_t size)
{
	(void)argument;
	cr_assert_lt(seen.count, RECORDS);
	cr_assert_eq(strlen(record), size);
	snprintf(seen.records[seen.count++], sizeof(seen.records[0]), "%s", record);
}

/* Returns what evidence_read() does. */
static int read_named(const char *name, char why[EVIDENCE_WHY])
{
	seen = (struct seen){ 0 };
	return evidence_read(directory, name, geteuid(), note, NULL, &seen.created_ns, &seen.damaged, why);
}

static int read_all(void)
{
	char why[EVIDENCE_WHY] = "";
	int err = read_named(NAME, why);

	cr_expect(!err || !strncmp(why, NAME ": ", strlen(NAME ": ")), "%s", why);
	return err;
}

/* malloc'ed lines of these records. */
static char *lines_of(size_t *size, const char *one, const char *two)
{
	char *lines = NULL;
	FILE *out = open_memstream(&lines, size);

	evidence_put(out, one);
	if (two)
		evidence_put(out, two);
	fclose(out);
	return lines;
}

static int write_records(const char *one, const char *two)
{
	size_t size;
	char *lines = lines_of(&size, one, two);
	int err = evidence_write(directory, NAME, CREATED_NS, lines, size);

	free(lines);
	return err;
}

static int append_record(const char *record)
{
	size_t size;
	char *lines = lines_of(&size, record, NULL);
	int err = evidence_append(directory, NAME, lines, size);

	free(lines);
	return err;
}

static void put_bytes(const char *name, const char *bytes, size_t size, int how)
{
	int fd = openat(directory, name, O_WRONLY | O_CREAT | how | O_CLOEXEC, 0600);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, bytes, size), (ssize_t)size);
	close(fd);
}

static off_t size_of(const char *name)
{
	struct stat status;

	return fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) ? -1 : status.st_size;
}

Test(evidence, what_is_written_and_appended_is_read_in_order)
{
	int before = fixture_descriptors();

	cr_assert_eq(write_records("{\"a\":1}", "{\"b\":2}"), 0);
	cr_assert_eq(append_record("{\"c\":3}"), 0);
	cr_assert_eq(read_all(), 0);
	cr_expect_eq(seen.count, 3);
	cr_expect_str_eq(seen.records[0], "{\"a\":1}");
	cr_expect_str_eq(seen.records[2], "{\"c\":3}");
	cr_expect_eq(seen.created_ns, CREATED_NS);
	cr_expect_eq(seen.damaged, 0);
	cr_expect_eq(fixture_descriptors(), before);
}

Test(evidence, writing_anew_replaces_all)
{
	cr_assert_eq(write_records("old", "older"), 0);
	cr_assert_eq(write_records("new", NULL), 0);
	cr_assert_eq(read_all(), 0);
	cr_expect_eq(seen.count, 1);
	cr_expect_str_eq(seen.records[0], "new");
	cr_expect_eq(size_of("." NAME ".new"), -1);
}

/* Somebody has changed a byte; its writer is in the middle of the last line, or was killed there. */
Test(evidence, damaged_lines_are_counted_and_all_others_read)
{
	cr_assert_eq(write_records("one", "two"), 0);
	put_bytes(NAME, "00000000 forged\n", 16, O_APPEND);
	put_bytes(NAME, "\n", 1, O_APPEND);
	cr_assert_eq(append_record("three"), 0);
	put_bytes(NAME, "12345678 half", 13, O_APPEND);
	cr_assert_eq(read_all(), 0);
	cr_expect_eq(seen.count, 3);
	cr_expect_str_eq(seen.records[2], "three");
	cr_expect_eq(seen.damaged, 2);
}

Test(evidence, a_record_that_holds_a_zero_is_none)
{
	static const char record[] = "a\0b";
	char line[32];
	int length = snprintf(line, sizeof(line), "%08lx ", crc32(0, (const unsigned char *)record, 3));

	cr_assert_eq(write_records("one", NULL), 0);
	put_bytes(NAME, line, (size_t)length, O_APPEND);
	put_bytes(NAME, record, 3, O_APPEND);
	put_bytes(NAME, "\n", 1, O_APPEND);
	cr_assert_eq(read_all(), 0);
	cr_expect_eq(seen.count, 1);
	cr_expect_eq(seen.damaged, 1);
}

Test(evidence, what_is_no_file_of_evidence_is_refused_with_a_sentence)
{
	cr_expect_eq(read_all(), -ENOENT);
	put_bytes(NAME, "something else\n", 15, 0);
	cr_expect_eq(read_all(), -EPROTO);
	cr_assert_eq(unlinkat(directory, NAME, 0), 0);
	cr_assert_eq(mkfifoat(directory, NAME, 0600), 0);
	cr_expect_eq(read_all(), -EINVAL, "and a FIFO holds nobody up");
	cr_assert_eq(unlinkat(directory, NAME, 0), 0);
	cr_assert_eq(symlinkat("/etc/passwd", directory, NAME), 0);
	cr_expect_eq(read_all(), -ELOOP);
}

Test(evidence, another_users_file_is_refused)
{
	if (geteuid() != 0)
		cr_skip_test("needs root");
	cr_assert_eq(write_records("one", NULL), 0);
	cr_assert_eq(fchownat(directory, NAME, NOBODY, NOBODY, 0), 0);
	cr_expect_eq(read_all(), -EPERM);
	cr_expect_eq(append_record("two"), -EPERM);
	seen = (struct seen){ 0 };
	char why[EVIDENCE_WHY];
	cr_expect_eq(evidence_read(directory, NAME, NOBODY, note, NULL, &seen.created_ns, &seen.damaged, why), 0,
		     "it is the boxes' owner's");
}

Test(evidence, a_small_file_that_unpacks_to_a_large_one_is_refused)
{
	static char zeros[1 << 20];
	int fd = openat(directory, NAME, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	gzFile file = gzdopen(fd, "wb");

	for (uint64_t done = 0; done <= EVIDENCE_MOST; done += sizeof(zeros))
		cr_assert_eq(gzwrite(file, zeros, sizeof(zeros)), (int)sizeof(zeros));
	gzclose(file);
	cr_expect_eq(read_all(), -EFBIG);
}

Test(evidence, nothing_is_written_where_no_box_is_or_others_may_write)
{
	cr_assert_eq(fchmod(directory, 0770), 0);
	cr_expect_eq(write_records("one", NULL), -EPERM);
	cr_assert_eq(fchmod(directory, 0700), 0);
	cr_assert_eq(unlinkat(directory, "rank0-1.rwbox", 0), 0);
	cr_expect_eq(write_records("one", NULL), -ENOENT);
	cr_expect_eq(size_of(NAME), -1);
}

/* No room is left: RLIMIT_FSIZE stands for a full file system. */
Test(evidence, what_does_not_fit_leaves_the_file_as_it_was)
{
	cr_assert_eq(write_records("one", NULL), 0);
	off_t before = size_of(NAME);
	struct rlimit limit = { (rlim_t)before + 4, RLIM_INFINITY };

	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	cr_expect_lt(append_record("longer than what is left"), 0);
	cr_expect_lt(write_records("longer than what is left", NULL), 0);
	cr_expect_eq(size_of(NAME), before);
	cr_expect_eq(size_of("." NAME ".new"), -1);
	cr_assert_eq(read_all(), 0);
	cr_expect_eq(seen.count, 1);
	cr_expect_eq(seen.damaged, 0);
}

Test(evidence, a_file_that_has_grown_is_to_be_made_anew)
{
	cr_assert_eq(write_records("one", NULL), 0);
	cr_assert_eq(ftruncate(openat(directory, NAME, O_WRONLY | O_CLOEXEC), (off_t)EVIDENCE_APPENDED_MOST - 8), 0);
	cr_expect_eq(append_record("two"), -EFBIG);
}

Test(evidence, a_copy_is_compressed_and_reads_the_same)
{
	char saved[EVIDENCE_NAME], again[EVIDENCE_NAME], why[EVIDENCE_WHY];

	cr_assert_eq(write_records("one", "two"), 0);
	cr_assert_eq(evidence_save(directory, NAME, directory, saved, why), 0, "%s", why);
	cr_expect_str_eq(saved, "job-host-20261130T004432Z" EVIDENCE_SAVED_SUFFIX);
	cr_assert(evidence_is_name(saved));
	cr_assert_eq(read_named(saved, why), 0);
	cr_expect_eq(seen.count, 2);
	cr_expect_eq(seen.created_ns, CREATED_NS);
	cr_assert_eq(evidence_save(directory, saved, directory, again, why), 0);
	cr_expect_str_eq(again, saved);
}

Test(evidence, a_copy_that_was_cut_off_gives_what_is_left)
{
	char saved[EVIDENCE_NAME], why[EVIDENCE_WHY];

	cr_assert_eq(write_records("one", "two"), 0);
	cr_assert_eq(evidence_save(directory, NAME, directory, saved, why), 0);
	cr_assert_eq(ftruncate(openat(directory, saved, O_WRONLY | O_CLOEXEC), size_of(saved) - 6), 0);
	cr_assert_eq(read_named(saved, why), 0);
	cr_expect_geq(seen.damaged, 1);
}

static void count_name(void *argument, const char *name)
{
	cr_expect(evidence_is_name(name));
	++*(int *)argument;
}

Test(evidence, clearing_removes_all_of_it_and_nothing_else)
{
	char saved[EVIDENCE_NAME], why[EVIDENCE_WHY];
	int count = 0;

	cr_assert_eq(write_records("one", NULL), 0);
	cr_assert_eq(evidence_save(directory, NAME, directory, saved, why), 0);
	put_bytes("." NAME ".new", "x", 1, 0);
	evidence_list(directory, count_name, &count);
	cr_expect_eq(count, 2);
	evidence_clear(directory);
	cr_expect_eq(size_of(NAME), -1);
	cr_expect_eq(size_of(saved), -1);
	cr_expect_eq(size_of("." NAME ".new"), -1);
	cr_expect_neq(size_of("rank0-1.rwbox"), -1);
}

Test(evidence, names_of_jobs_and_hosts_are_one_component)
{
	char name[EVIDENCE_NAME];

	evidence_name("../a b", "h/1", name);
	cr_expect_null(strchr(name, '/'));
	cr_expect(evidence_is_name(name), "%s", name);
	cr_expect_not(evidence_is_name("." NAME ".new"));
	cr_expect_not(evidence_is_name(EVIDENCE_SUFFIX));
	cr_expect(evidence_is_of_job(name, "../a b"));
	cr_expect(evidence_is_of_job(NAME, "job"));
	cr_expect_not(evidence_is_of_job(NAME, "jo"));
	cr_expect_not(evidence_is_of_job("rank0-1.rwbox", "rank0"));
}
