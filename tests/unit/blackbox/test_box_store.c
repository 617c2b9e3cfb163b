/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blackbox/box_store.h"
#include "tests/unit/blackbox/fixture.h"

TestSuite(box_store, .fini = fixture_remove);

/* Opens the store of a job in the directory "kept" of the test. */
static void open_store(struct box_store *store, const char *job)
{
	char directory[256], why[BOX_STORE_WHY];

	snprintf(directory, sizeof(directory), "%s/kept", fixture_directory());
	cr_assert_eq(box_store_open(store, directory, job, 0, why), 0, "%s", why);
}

/* It was saved so many seconds after the beginning of 1970. */
static void set_saved(const struct box_store *store, const char *name, time_t second)
{
	const struct timespec times[2] = { { .tv_sec = second }, { .tv_sec = second } };

	cr_assert_eq(utimensat(store->job_fd, name, times, 0), 0);
}

static uint64_t size_of(const struct box_store *store, const char *name)
{
	struct stat status;

	cr_assert_eq(fstatat(store->job_fd, name, &status, 0), 0);
	return (uint64_t)status.st_size;
}

/* A finished box: its process has another boot's id. */
static void store_one(struct box_store *store, struct box_writer *writer, uint32_t pid, bool finished)
{
	struct box_reader reader;
	char why[BOX_STORE_WHY] = "";

	writer->header->pid = finished ? pid : (uint32_t)getpid();
	writer->header->created_realtime_ns = pid * UINT64_C(1000000000);
	writer->header->boot_id[0] = finished ? '?' : writer->header->boot_id[1];
	fixture_open(&reader, writer);
	cr_assert_eq(box_store_save(store, &reader, why), 0, "%s", why);
	box_reader_close(&reader);
}

static bool is_stored(const struct box_store *store, const char *name)
{
	return faccessat(store->job_fd, name, F_OK, 0) == 0;
}

Test(box_store, a_store_over_its_limit_loses_the_oldest_finished_boxes_and_never_the_last_or_a_living_one)
{
	struct box_writer writer;
	struct box_store store;
	char why[BOX_STORE_WHY], boot_id, living[96], names[4][96];

	fixture_create(&writer);
	open_store(&store, "slurm 81/1");
	cr_expect(strstr(store.path, "/kept/slurm_81_1"), "%s", store.path);
	boot_id = writer.header->boot_id[0];
	struct box_reader reader;
	fixture_open(&reader, &writer); /* of this process, which lives */
	cr_assert_eq(box_store_save(&store, &reader, why), 0);
	box_reader_close(&reader);
	strcpy(living, store.name);
	for (uint32_t i = 0; i < 4; i++) {
		store_one(&store, &writer, 900000 + i, true);
		strcpy(names[i], store.name);
		set_saved(&store, names[i], 1000 + i); /* whatever the file system's clock resolves */
	}
	writer.header->boot_id[0] = boot_id;
	store.limit = size_of(&store, names[0]) * 4 + 200;
	store_one(&store, &writer, 900009, true);
	cr_expect_eq(store.removed, 2);
	cr_expect_not(is_stored(&store, names[0]));
	cr_expect_not(is_stored(&store, names[1]));
	cr_expect(is_stored(&store, names[2]) && is_stored(&store, names[3]) && is_stored(&store, living));
	store.limit = 1;
	store_one(&store, &writer, 900010, true);
	cr_expect(is_stored(&store, store.name) && is_stored(&store, living));
	cr_expect_not(is_stored(&store, names[3]));
	box_store_close(&store);
}

static void put_file(const char *directory, const char *name, off_t size)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(ftruncate(fd, size), 0);
	close(fd);
}

/* Only files of saved boxes in the jobs' own directories count, and only whole ones go. */
Test(box_store, a_store_counts_and_removes_nothing_that_is_not_its_own)
{
	struct box_writer writer;
	struct box_store store;
	char directory[256], elsewhere[256], link[300];

	fixture_create(&writer);
	open_store(&store, "job");
	snprintf(directory, sizeof(directory), "%s/kept", fixture_directory());
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", fixture_directory());
	cr_assert_eq(mkdir(elsewhere, 0700), 0);
	put_file(elsewhere, "rank0-1-20260101T000000Z.rwbox.gz", 1 << 20);
	snprintf(link, sizeof(link), "%s/linked", directory);
	cr_assert_eq(symlink(elsewhere, link), 0);
	put_file(store.path, "notes.txt", 1 << 20);
	put_file(store.path, ".rwbox.gz", 1 << 20);
	put_file(directory, "rank0-2-20260101T000000Z.rwbox.gz", 1 << 20);
	snprintf(link, sizeof(link), "%s/.hidden", directory);
	cr_assert_eq(mkdir(link, 0700), 0);
	put_file(link, "rank0-3-20260101T000000Z.rwbox.gz", 1 << 20);
	store_one(&store, &writer, 900000, true);
	char first[96];
	strcpy(first, store.name);
	set_saved(&store, first, 1000);
	store.limit = 1 << 20;
	store_one(&store, &writer, 900001, true);
	cr_expect_eq(store.removed, 0, "the two boxes take far less than 1 MiB");
	cr_expect_eq(store.saved, 2);
	put_file(store.path, "rank0-4-20260101T000000Z.rwbox.gz", 1 << 20);
	store_one(&store, &writer, 900002, true);
	cr_expect_eq(store.removed, 2, "what is no box counts as one and stays");
	cr_expect_not(is_stored(&store, first));
	cr_expect(is_stored(&store, "rank0-4-20260101T000000Z.rwbox.gz"));
	box_store_close(&store);
	cr_expect(store.all_fd == -1 && store.job_fd == -1);
}

/* Another finished box of this store, with the bytes of the one that was saved last. */
static void copy_one(const struct box_store *store, const char *name, struct timespec saved_at)
{
	static char bytes[1 << 20];
	struct timespec times[2] = { saved_at, saved_at };
	int from = openat(store->job_fd, store->name, O_RDONLY | O_CLOEXEC);
	int to = openat(store->job_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	ssize_t size = read(from, bytes, sizeof(bytes));

	cr_assert(size > 0 && size < (ssize_t)sizeof(bytes));
	cr_assert_eq(write(to, bytes, (size_t)size), size);
	cr_assert_eq(futimens(to, times), 0);
	close(from);
	close(to);
}

/* More than the inventory has room for at first, made in another order than that of their age, three within each
 * second. The oldest is no box and has to stay: those behind it go all the same. */
Test(box_store, of_many_boxes_exactly_the_oldest_go)
{
	enum { COPIES = 150, KEPT = 100, STRIDE = 67 /* has no divisor in common with COPIES */ };
	struct box_writer writer;
	struct box_store store;
	char name[96];

	fixture_create(&writer);
	open_store(&store, "job");
	store_one(&store, &writer, 900000, true);
	for (unsigned int i = 0; i < COPIES; i++) {
		unsigned int age = i * STRIDE % COPIES;

		snprintf(name, sizeof(name), "rank0-%u-20260101T000000Z.rwbox.gz", age);
		copy_one(&store, name, (struct timespec){ .tv_sec = 1000 + age / 3, .tv_nsec = age % 3 * 400000000 });
	}
	uint64_t size = size_of(&store, store.name);

	put_file(store.path, "rank1-1-20260101T000000Z.rwbox.gz", (off_t)size);
	set_saved(&store, "rank1-1-20260101T000000Z.rwbox.gz", 1);
	store.limit = size * (KEPT + 2);
	int descriptors = fixture_descriptors();
	store_one(&store, &writer, 900000, true); /* in the place of the same one */
	cr_expect_eq(fixture_descriptors(), descriptors);
	cr_expect_eq(store.removed, COPIES - KEPT);
	for (unsigned int age = 0; age < COPIES; age++) {
		snprintf(name, sizeof(name), "rank0-%u-20260101T000000Z.rwbox.gz", age);
		cr_expect_eq(is_stored(&store, name), age >= COPIES - KEPT, "%u", age);
	}
	box_store_close(&store);
}

/* A link to a file is not that file: it takes no room, and what it points to is not ours. */
/* Evidence is of all boxes beside it. */
Test(box_store, evidence_counts_and_goes_when_no_box_is_left_beside_it)
{
	static char lines[4096];
	struct box_store store, other;
	struct box_writer writer;
	char why[BOX_STORE_WHY], evidence[EVIDENCE_NAME], box[EVIDENCE_NAME];

	fixture_create(&writer);
	open_store(&store, "job");
	store_one(&store, &writer, 901000, true);
	snprintf(box, sizeof(box), "%s", store.name);
	int directory = open(fixture_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	memset(lines, '\n', sizeof(lines));
	cr_assert_eq(evidence_write(directory, "job-host" EVIDENCE_SUFFIX, 1, lines, sizeof(lines)), 0);
	cr_assert_eq(box_store_save_evidence(&store, directory, "job-host" EVIDENCE_SUFFIX, why), 0, "%s", why);
	snprintf(evidence, sizeof(evidence), "%s", store.name);
	cr_expect(evidence_is_name(evidence));
	set_saved(&store, evidence, 900); /* before its box */
	set_saved(&store, box, 1000);
	open_store(&other, "other");
	other.limit = size_of(&store, box) * 3 / 2 + size_of(&store, evidence);
	store_one(&other, &writer, 902000, true);
	cr_expect_not(is_stored(&store, box), "the box was too much");
	cr_expect(is_stored(&store, evidence), "now nothing is too much");
	other.limit = 1;
	store_one(&other, &writer, 903000, true);
	cr_expect_not(is_stored(&store, evidence));
	close(directory);
	box_store_close(&store);
	box_store_close(&other);
}

Test(box_store, a_link_counts_for_nothing)
{
	struct box_writer writer;
	struct box_store store;
	struct stat status;
	char first[96];

	fixture_create(&writer);
	open_store(&store, "job");
	store_one(&store, &writer, 900000, true);
	strcpy(first, store.name);
	cr_assert_eq(symlinkat(first, store.job_fd, "rank0-1-20260101T000000Z.rwbox.gz"), 0);
	store_one(&store, &writer, 900001, true);
	uint64_t both = size_of(&store, first) + size_of(&store, store.name);
	store.limit = both;
	store_one(&store, &writer, 900001, true);
	cr_expect_eq(store.removed, 0, "the limit itself is not beyond the limit");
	store.limit = both - 1;
	store_one(&store, &writer, 900001, true);
	cr_expect_eq(store.removed, 1);
	cr_expect_not(is_stored(&store, first));
	cr_expect_eq(fstatat(store.job_fd, "rank0-1-20260101T000000Z.rwbox.gz", &status, AT_SYMLINK_NOFOLLOW), 0);
	box_store_close(&store);
}

Test(box_store, a_job_s_store_is_opened_again_and_no_child_process_inherits_it)
{
	struct box_store store;
	int descriptors = fixture_descriptors();

	for (int i = 0; i < 2; i++) {
		open_store(&store, "job");
		cr_expect_eq(fcntl(store.all_fd, F_GETFD), FD_CLOEXEC);
		cr_expect_eq(fcntl(store.job_fd, F_GETFD), FD_CLOEXEC);
		box_store_close(&store);
		cr_expect_eq(fixture_descriptors(), descriptors);
	}
}

Test(box_store, a_directory_that_cannot_be_made_or_is_a_file_is_said)
{
	const char *boxes = fixture_directory();
	char file[256];
	const struct {
		const char *directory, *job;
		int err;
		const char *why;
	} refused[] = {
		{ "/proc/nowhere", "job", -ENOENT, "/proc/nowhere/job: No such file" },
		{ file, "job", -ENOTDIR, "/file/job: Not a directory" },
		{ boxes, "file", -ENOTDIR, "/file: Not a directory" },
	};
	int descriptors = fixture_descriptors();

	put_file(boxes, "file", 1);
	snprintf(file, sizeof(file), "%s/file", boxes);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct box_store store;
		char why[BOX_STORE_WHY] = "";

		cr_expect_eq(box_store_open(&store, refused[i].directory, refused[i].job, 0, why), refused[i].err);
		cr_expect(strstr(why, refused[i].why), "%s", why);
		cr_expect(store.all_fd < 0 && store.job_fd < 0);
		cr_expect_eq(fixture_descriptors(), descriptors, "what was open of it is closed");
		box_store_close(&store);
	}
}
