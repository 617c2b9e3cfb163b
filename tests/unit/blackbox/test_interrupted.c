/* SPDX-License-Identifier: MIT */
/*
 * Boxes are made, read and saved while signals interrupt calls of the kernel, which then do a part of their work or
 * none of it, and while one of these calls fails. The linker leads the calls here (interrupted_args in meson.build).
 */
#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "blackbox/host_memory.h"
#include "blackbox/saved.h"
#include "tests/unit/blackbox/fixture.h"

TestSuite(interrupted, .fini = fixture_remove);

enum { OPERATIONS = 40, MOST_CALLS = 4096 };

static const char saved_name[] = "saved.rwbox.gz";

static struct {
	bool signals;        /* every other call is interrupted, and those between do a half */
	unsigned int fails;  /* the how manieth call fails; 0: none */
	unsigned int calls;
} kernel;

/* How much of `size` the call does now: 0: it fails, and errno says why. */
static size_t allowed(size_t size)
{
	kernel.calls++;
	if (kernel.calls == kernel.fails) {
		errno = EIO;
		return 0;
	}
	if (!kernel.signals || !size)
		return size;
	errno = EINTR;
	return kernel.calls % 2 ? 0 : (size + 1) / 2;
}

ssize_t __wrap_read(int fd, void *buffer, size_t size);
ssize_t __wrap___read_chk(int fd, void *buffer, size_t size, size_t room);
ssize_t __wrap_pread64(int fd, void *buffer, size_t size, off_t offset);
ssize_t __wrap___pread64_chk(int fd, void *buffer, size_t size, off_t offset, size_t room);
ssize_t __wrap_write(int fd, const void *bytes, size_t size);
int __wrap_posix_fallocate64(int fd, off_t offset, off_t size);

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
	size_t part = allowed(size);

	return part || !size ? syscall(SYS_read, fd, buffer, part) : -1;
}

ssize_t __wrap___read_chk(int fd, void *buffer, size_t size, size_t room)
{
	cr_assert_leq(size, room);
	return __wrap_read(fd, buffer, size);
}

ssize_t __wrap_pread64(int fd, void *buffer, size_t size, off_t offset)
{
	size_t part = allowed(size);

	return part || !size ? syscall(SYS_pread64, fd, buffer, part, offset) : -1;
}

ssize_t __wrap___pread64_chk(int fd, void *buffer, size_t size, off_t offset, size_t room)
{
	cr_assert_leq(size, room);
	return __wrap_pread64(fd, buffer, size, offset);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t size)
{
	size_t part = allowed(size);

	return part || !size ? syscall(SYS_write, fd, bytes, part) : -1;
}

/* It does all of it or nothing. */
int __wrap_posix_fallocate64(int fd, off_t offset, off_t size)
{
	if (!allowed(1))
		return errno;
	return syscall(SYS_fallocate, fd, 0, offset, size) ? errno : 0;
}

static void begin(bool signals, unsigned int fails)
{
	kernel.signals = signals;
	kernel.fails = fails;
	kernel.calls = 0;
}

static void end(void)
{
	begin(false, 0);
}

static void fill(struct box_writer *writer)
{
	fixture_create(writer);
	for (uint64_t i = 0; i < OPERATIONS; i++)
		fixture_operation(writer, i, 100 + i);
	for (uint64_t ticket = 1; ticket < OPERATIONS / 2; ticket++)
		fixture_finish(writer, ticket);
}

struct content {
	struct rw_operation operations[OPERATIONS];
	enum box_slot states[OPERATIONS];
	struct rw_box_header header;
};

static void expect_same(const struct content *content, const struct content *other, const char *what)
{
	for (int i = 0; i < OPERATIONS; i++) {
		cr_expect_eq(content->states[i], other->states[i], "%s, operation %d", what, i);
		cr_expect_eq(memcmp(&content->operations[i], &other->operations[i], sizeof(other->operations[i])), 0,
			     "%s, operation %d", what, i);
	}
	cr_expect_eq(content->header.head, other->header.head, "%s", what);
	cr_expect_eq(content->header.ring_slots, other->header.ring_slots, "%s", what);
}

static void read_content(struct box_reader *reader, struct content *content)
{
	memset(content, 0, sizeof(*content));
	cr_assert_eq(box_reader_operations(reader, 0, OPERATIONS, content->operations, content->states), OPERATIONS);
	content->header = reader->header;
}

Test(interrupted, a_box_is_made_read_and_saved_as_without_signals)
{
	static struct content whole, read, unpacked;
	struct box_writer writer;
	struct box_reader reader, copy;
	char why[160] = "";
	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	begin(true, 0);
	fill(&writer);
	end();
	fixture_open(&reader, &writer);
	read_content(&reader, &whole);
	cr_expect_eq(whole.header.head, OPERATIONS);
	box_reader_close(&reader);
	begin(true, 0);
	fixture_open(&reader, &writer);
	read_content(&reader, &read);
	cr_assert_eq(box_save(&reader, directory, saved_name, why), 0, "%s", why);
	cr_assert_eq(box_reader_open(&copy, directory, saved_name, geteuid(), why), 0, "%s", why);
	read_content(&copy, &unpacked);
	cr_expect_gt(kernel.calls, 20);
	end();
	expect_same(&read, &whole, "read");
	expect_same(&unpacked, &whole, "saved");
	box_reader_close(&reader);
	box_reader_close(&copy);
	close(directory);
}

/* Opens, saves, opens what was saved, and reads; whether all of it was possible. */
static bool play(const struct box_writer *writer, int directory, const struct content *whole)
{
	static struct content read;
	struct box_reader reader, copy;
	char why[160] = "";
	int err = box_reader_open(&reader, AT_FDCWD, writer->path, (uid_t)-1, why);

	if (!err) {
		err = box_save(&reader, directory, saved_name, why);
		box_reader_close(&reader);
	}
	if (!err)
		err = box_reader_open(&copy, directory, saved_name, geteuid(), why);
	cr_expect(err <= 0 && (!err || *why), "call %u: %d, %s", kernel.fails, err, why);
	if (err)
		return false;
	memset(&read, 0, sizeof(read));
	int got = box_reader_operations(&copy, 0, OPERATIONS, read.operations, read.states);
	read.header = copy.header;
	if (got == OPERATIONS)
		expect_same(&read, whole, "saved");
	box_reader_close(&copy);
	cr_expect(got == OPERATIONS || got < 0, "call %u: %d operations", kernel.fails, got);
	return got == OPERATIONS;
}

static unsigned int files_in(int directory)
{
	DIR *entries = fdopendir(openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	unsigned int count = 0;

	cr_assert_not_null(entries);
	while (readdir(entries))
		count++;
	closedir(entries);
	return count;
}

Test(interrupted, a_call_that_fails_is_reported_and_leaves_nothing)
{
	static struct content whole;
	struct box_writer writer;
	struct box_reader reader;
	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned int failed = 0;

	fill(&writer);
	fixture_open(&reader, &writer);
	read_content(&reader, &whole);
	box_reader_close(&reader);
	begin(false, 0);
	cr_assert(play(&writer, directory, &whole));
	const unsigned int calls = kernel.calls;
	cr_assert(calls > 4 && calls < MOST_CALLS, "%u calls", calls);
	const int descriptors = fixture_descriptors();
	const unsigned int files = files_in(directory);
	for (unsigned int i = 1; i <= calls; i++) {
		begin(false, i);
		failed += !play(&writer, directory, &whole);
		end();
		cr_expect_eq(fixture_descriptors(), descriptors, "call %u of %u", i, calls);
		cr_expect_eq(files_in(directory), files, "call %u of %u", i, calls);
	}
	cr_expect_geq(failed * 2, calls, "%u of %u calls that failed were noticed", failed, calls);
	close(directory);
}

static void put(const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", fixture_directory(), name);
	for (char *slash = path + strlen(fixture_directory()); (slash = strchr(slash + 1, '/')); *slash = '/') {
		*slash = '\0';
		mkdir(path, 0700);
	}
	FILE *file = fopen(path, "we");
	cr_assert_not_null(file, "%s", path);
	fputs(text, file);
	fclose(file);
}

Test(interrupted, what_is_left_of_memory_is_read_as_without_signals)
{
	put("proc/meminfo", "MemTotal:       1048576 kB\nMemFree:          1000 kB\nMemAvailable:   524288 kB\n");
	put("proc/self/cgroup", "0::/a\n");
	put("sys/fs/cgroup/a/memory.max", "268435456\n");
	put("sys/fs/cgroup/a/memory.current", "67108864\n");
	begin(true, 0);
	uint64_t left = host_memory_left(fixture_directory()), total = host_memory_total(fixture_directory());
	end();
	cr_expect_eq(left, UINT64_C(192) << 20, "%lu", left);
	cr_expect_eq(total, UINT64_C(256) << 20, "%lu", total);
}
