/* SPDX-License-Identifier: MIT */
#include "blackbox/evidence.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "blackbox/run_mark.h"
#include "blackbox/write_all.h"

#define FIRST_LINE "rankwatch evidence 1 "

enum { CHECKSUM = 9 /* 8 hex digits and a space */, FIRST_LINE_MOST = 64 };

static size_t stem_of(const char *name)
{
	size_t length = strlen(name), plain = strlen(EVIDENCE_SUFFIX), saved = strlen(EVIDENCE_SAVED_SUFFIX);

	if (length > plain && !strcmp(name + length - plain, EVIDENCE_SUFFIX))
		return length - plain;
	return length > saved && !strcmp(name + length - saved, EVIDENCE_SAVED_SUFFIX) ? length - saved : 0;
}

bool evidence_is_name(const char *name)
{
	return *name != '.' && stem_of(name) > 0;
}

/* As the beginning of a name that is not hidden. */
static void component_of_job(const char *job, char component[BOX_JOB_COMPONENT])
{
	box_job_component(job, component);
	if (*component == '.')
		*component = '_';
}

void evidence_name(const char *job, const char *host, char name[EVIDENCE_NAME])
{
	char of_job[BOX_JOB_COMPONENT], of_host[BOX_JOB_COMPONENT];

	component_of_job(job, of_job);
	box_job_component(host, of_host);
	snprintf(name, EVIDENCE_NAME, "%s-%s" EVIDENCE_SUFFIX, of_job, of_host);
}

bool evidence_is_of_job(const char *name, const char *job)
{
	char of_job[BOX_JOB_COMPONENT];

	component_of_job(job, of_job);
	size_t length = strlen(of_job);

	return evidence_is_name(name) && !strncmp(name, of_job, length) && name[length] == '-';
}

/* The file's content, unpacked. */
struct content {
	char *bytes;
	size_t size;
	bool cut; /* what was packed is damaged */
};

static int refuse(char *why, int err, const char *name, const char *what)
{
	snprintf(why, EVIDENCE_WHY, "%.80s: %s", name, what);
	return err;
}

static int unpack(struct content *content, gzFile file, const char *name, char *why)
{
	size_t room = 0;

	for (int got = 1; got > 0;) {
		if (content->size + 1 >= room) {
			char *bytes = realloc(content->bytes, room = room ? room * 2 : 1 << 16);

			if (!bytes)
				return refuse(why, -ENOMEM, name, "no memory");
			content->bytes = bytes;
		}
		got = gzread(file, content->bytes + content->size, (unsigned)(room - content->size - 1));
		content->cut |= got < 0;
		content->size += got > 0 ? (size_t)got : 0;
		if (content->size > EVIDENCE_MOST)
			return refuse(why, -EFBIG, name, "is larger than any that rankwatch writes");
	}
	content->bytes[content->size] = '\0';
	return 0;
}

static int check(int fd, uid_t owner, const char *name, char *why)
{
	struct stat status;

	if (fstat(fd, &status))
		return refuse(why, -errno, name, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return refuse(why, -EINVAL, name, "not a regular file");
	if (status.st_uid != owner && status.st_uid != geteuid())
		return refuse(why, -EPERM, name, "belongs to another user than the black boxes: not read");
	return 0;
}

/* content->bytes is the caller's to free, in error too. */
static int load(struct content *content, int directory, const char *name, uid_t owner, char *why)
{
	int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int err = fd < 0 ? refuse(why, -errno, name, strerror(errno)) : check(fd, owner, name, why);
	gzFile file = err ? NULL : gzdopen(fd, "rb");

	*content = (struct content){ 0 };
	if (!err && !file)
		err = refuse(why, -ENOMEM, name, "no memory");
	if (!err)
		err = unpack(content, file, name, why);
	if (file)
		content->cut |= gzclose(file) != Z_OK;
	else if (fd >= 0)
		close(fd);
	return err;
}

/* Behind the first line; NULL: it is none of ours. */
static char *behind_first_line(const struct content *content, uint64_t *created_ns)
{
	size_t prefix = strlen(FIRST_LINE);
	char *end;

	if (content->size <= prefix || memcmp(content->bytes, FIRST_LINE, prefix) != 0)
		return NULL;
	*created_ns = strtoull(content->bytes + prefix, &end, 10);
	return *end == '\n' && end > content->bytes + prefix ? end + 1 : NULL;
}

/* `line` ends where its newline was. */
static bool is_record(const char *line, size_t size)
{
	char checksum[CHECKSUM + 1];

	if (size <= CHECKSUM || size > CHECKSUM + EVIDENCE_RECORD_MOST || strlen(line) != size)
		return false;
	snprintf(checksum, sizeof(checksum), "%08lx ",
		 crc32(0, (const unsigned char *)line + CHECKSUM, (unsigned)(size - CHECKSUM)));
	return !memcmp(line, checksum, CHECKSUM);
}

/* What has no end was not finished: its writer was killed, or writes on. */
static unsigned visit_lines(char *line, const char *end, evidence_visit *visit, void *argument)
{
	unsigned damaged = 0;

	while (line < end) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		size_t size = (size_t)((newline ? newline : end) - line);

		line[size] = '\0';
		if (newline && is_record(line, size))
			visit(argument, line + CHECKSUM, size - CHECKSUM);
		else if (newline)
			damaged++;
		line += size + 1;
	}
	return damaged;
}

int evidence_read(int directory, const char *name, uid_t owner, evidence_visit *visit, void *argument,
		  uint64_t *created_ns, unsigned *damaged, char *why)
{
	struct content content;
	int err = load(&content, directory, name, owner, why);
	char *lines = err ? NULL : behind_first_line(&content, created_ns);

	if (!err && !lines)
		err = refuse(why, -EPROTO, name, "is no evidence that this rankwatch can read");
	if (!err)
		*damaged = visit_lines(lines, content.bytes + content.size, visit, argument) + content.cut;
	free(content.bytes);
	return err;
}

void evidence_put(FILE *lines, const char *record)
{
	fprintf(lines, "%08lx %s\n", crc32(0, (const unsigned char *)record, (unsigned)strlen(record)), record);
}

/* Where a write cannot block, or raise a signal in somebody else. */
static int check_place(int directory)
{
	struct statfs system;
	struct stat status;

	if (fstatfs(directory, &system) || fstat(directory, &status))
		return -errno;
	if (system.f_type != TMPFS_MAGIC && system.f_type != RAMFS_MAGIC)
		return -EINVAL;
	if (status.st_uid != geteuid() || (status.st_mode & (S_IWGRP | S_IWOTH)))
		return -EPERM;
	return run_mark_holds_box(directory) ? 0 : -ENOENT;
}

static void unfinished_name(const char *name, char unfinished[EVIDENCE_NAME + 8])
{
	snprintf(unfinished, EVIDENCE_NAME + 8, ".%s.new", name);
}

int evidence_write(int directory, const char *name, uint64_t created_ns, const char *lines, size_t size)
{
	char unfinished[EVIDENCE_NAME + 8], first[FIRST_LINE_MOST];
	int err = check_place(directory),
	    length = snprintf(first, sizeof(first), FIRST_LINE "%" PRIu64 "\n", created_ns);

	if (err)
		return err;
	unfinished_name(name, unfinished);
	unlinkat(directory, unfinished, 0); /* of one that was killed */
	int fd = openat(directory, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	err = write_all(fd, first, (size_t)length);
	if (!err)
		err = write_all(fd, lines, size);
	close(fd);
	if (!err && renameat(directory, unfinished, directory, name))
		err = -errno;
	if (err)
		unlinkat(directory, unfinished, 0);
	return err;
}

/* Whole, or not at all: a half line would be taken for the beginning of the next one. */
static int append_whole(int fd, off_t end, const char *lines, size_t size)
{
	int err = write_all(fd, lines, size);

	return err && ftruncate(fd, end) ? -errno : err;
}

int evidence_append(int directory, const char *name, const char *lines, size_t size)
{
	int fd = openat(directory, name, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), err;
	struct stat status;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &status))
		err = -errno;
	else if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
		err = -EPERM;
	else if ((uint64_t)status.st_size + size > EVIDENCE_APPENDED_MOST)
		err = -EFBIG;
	else
		err = append_whole(fd, status.st_size, lines, size);
	close(fd);
	return err;
}

static void saved_name(const char *name, uint64_t created_ns, char saved[EVIDENCE_NAME])
{
	time_t made = (time_t)(created_ns / 1000000000);
	char when[32] = "";
	struct tm utc;

	if (strlen(name) > stem_of(name) + strlen(EVIDENCE_SUFFIX)) {
		snprintf(saved, EVIDENCE_NAME, "%s", name);
		return;
	}
	if (gmtime_r(&made, &utc))
		strftime(when, sizeof(when), "%Y%m%dT%H%M%SZ", &utc);
	snprintf(saved, EVIDENCE_NAME, "%.*s-%s" EVIDENCE_SAVED_SUFFIX, (int)stem_of(name), name, when);
}

static int write_packed(int fd, const struct content *content)
{
	gzFile file = gzdopen(fd, "wb");

	if (!file) {
		close(fd);
		return -ENOMEM;
	}
	errno = 0;
	int written = gzwrite(file, content->bytes, (unsigned)content->size), error = errno;
	int closed = gzclose(file);

	if (written == (int)content->size && closed == Z_OK)
		return 0;
	return error ? -error : errno ? -errno : -EIO;
}

static int write_copy(const struct content *content, int to, const char *saved, char *why)
{
	char unfinished[EVIDENCE_NAME + 16];

	snprintf(unfinished, sizeof(unfinished), ".%s.%d", saved, (int)syscall(SYS_gettid));
	int fd = openat(to, unfinished, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	int err = fd < 0 ? -errno : write_packed(fd, content);

	if (!err && renameat(to, unfinished, to, saved))
		err = -errno;
	if (err && fd >= 0)
		unlinkat(to, unfinished, 0);
	return err ? refuse(why, err, saved, strerror(-err)) : 0;
}

int evidence_save(int directory, const char *name, int to, char saved[EVIDENCE_NAME], char *why)
{
	struct content content;
	uint64_t created_ns = 0;
	int err = load(&content, directory, name, geteuid(), why);

	if (!err && !behind_first_line(&content, &created_ns))
		err = refuse(why, -EPROTO, name, "is no evidence that this rankwatch can read");
	if (!err) {
		saved_name(name, created_ns, saved);
		err = write_copy(&content, to, saved, why);
	}
	free(content.bytes);
	return err;
}

typedef void visit_name(void *argument, const char *name);

static void visit_names(int directory, visit_name *visit, void *argument)
{
	int twin = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = twin < 0 ? NULL : fdopendir(twin);

	if (!entries) {
		if (twin >= 0)
			close(twin);
		return;
	}
	for (const struct dirent *one; (one = readdir(entries));)
		visit(argument, one->d_name);
	closedir(entries);
}

static void remove_if_ours(void *argument, const char *name)
{
	const int *directory = argument;

	/* ".NAME.rwevidence.new" is one that was never finished. */
	if (evidence_is_name(name) || (*name == '.' && strstr(name, EVIDENCE_SUFFIX ".")))
		unlinkat(*directory, name, 0);
}

void evidence_clear(int directory)
{
	visit_names(directory, remove_if_ours, &directory);
}

struct listing {
	visit_name *visit;
	void *argument;
};

static void list_one(void *argument, const char *name)
{
	const struct listing *listing = argument;

	if (evidence_is_name(name))
		listing->visit(listing->argument, name);
}

void evidence_list(int directory, visit_name *visit, void *argument)
{
	struct listing listing = { visit, argument };

	visit_names(directory, list_one, &listing);
}
