/* SPDX-License-Identifier: MIT */
#include "tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rankwatch/blackbox.h>

struct tree_file {
	char path[TAPE_PATH];
	enum tape_file_kind kind;
	char *text;      /* NULL: not there */
	size_t size;
	uint64_t *words; /* of a box: its file */
	uint64_t inode;
};

int tree_open(struct tree *tree, bool with_proc, bool with_stack)
{
	char path[sizeof(tree->root) + 16];

	*tree = (struct tree){ .root = "/dev/shm/rankwatch-tape.XXXXXX", .with_proc = with_proc, .with_stack = with_stack };
	tree->files = calloc(TAPE_FILES, sizeof(*tree->files));
	if (!tree->files)
		return -ENOMEM;
	if (!mkdtemp(tree->root)) {
		int err = -errno;

		free(tree->files);
		*tree = (struct tree){ 0 };
		return err;
	}
	for (const char *const *name = (const char *const[]){ "boxes", "dev", "proc", NULL }; *name; name++) {
		snprintf(path, sizeof(path), "%s/%s", tree->root, *name);
		mkdir(path, 0700);
	}
	snprintf(path, sizeof(path), "%s/dev/kmsg", tree->root);
	close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status, (void)type, (void)place;
	return remove(path);
}

void tree_close(struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++) {
		if (tree->files[i].words)
			munmap(tree->files[i].words, tree->files[i].size);
		free(tree->files[i].text);
	}
	if (*tree->root)
		nftw(tree->root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
	free(tree->files);
	*tree = (struct tree){ 0 };
}

/* A tape names files under its own root alone, and links where no file is below them. */
static bool is_safe(const char *path, enum tape_file_kind kind)
{
	const char *descriptors = strstr(path, "/fd/");

	if ((kind == TAPE_FILE_LINK) != (descriptors != NULL) || (descriptors && strchr(descriptors + 4, '/')))
		return false;
	if (*path == '/' || !*path || strstr(path, "//"))
		return false;
	for (const char *part = path; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
		if (!strncmp(part, "..", 2) && (part[2] == '/' || !part[2]))
			return false;
	return true;
}

static int add(struct tree *tree, struct span *names)
{
	const uint8_t *kind = take_bytes(names, 1), *end = memchr(names->at, 0, (size_t)(names->end - names->at));

	if (!kind || !end || tree->count == TAPE_FILES || end - names->at >= TAPE_PATH ||
	    (*kind != TAPE_FILE_TEXT && *kind != TAPE_FILE_LINK && *kind != TAPE_FILE_BOX))
		return -EINVAL;
	struct tree_file *file = &tree->files[tree->count];

	memcpy(file->path, names->at, (size_t)(end - names->at));
	names->at = end + 1;
	file->kind = (enum tape_file_kind)*kind;
	if (!is_safe(file->path, file->kind) || (file->kind == TAPE_FILE_BOX && ++tree->boxes > TAPE_BOXES)) {
		memset(file, 0, sizeof(*file));
		return -EINVAL;
	}
	tree->count++;
	return 0;
}

static struct tree_file *file_of(struct tree *tree, struct span *content)
{
	uint64_t number = take_number(content);

	return content->bad || number >= tree->count ? NULL : &tree->files[number];
}

/* What only the tape's own players look at has no file. */
static bool is_shown(const struct tree *tree, const char *path)
{
	size_t length = strlen(path);

	if (!strncmp(path, "life/", 5) || !strncmp(path, "exit/", 5) || !strncmp(path, "nvml/", 5))
		return false;
	if (!tree->with_proc && !strncmp(path, "proc/", 5))
		return false;
	return tree->with_stack || length < 6 || strcmp(path + length - 6, "/stack") != 0;
}

static void full_path(const struct tree *tree, const char *path, char full[PATH_MAX])
{
	snprintf(full, PATH_MAX, "%s/%s", tree->root, path);
}

static void make_parents(const struct tree *tree, char *full)
{
	for (char *slash = full + strlen(tree->root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
}

/* "proc/4711/mem@7ffd00": bytes of a file that has only those. Returns where they stand, and cuts the path; 0: a whole
 * file. */
static off_t place_in(char *full)
{
	char *at = strstr(full, "/mem@");
	off_t place = at ? (off_t)(strtoull(at + 5, NULL, 16) & INT64_MAX) : 0;

	if (at)
		at[4] = '\0';
	return place;
}

static int write_text(const struct tree *tree, const struct tree_file *file, bool made)
{
	char full[PATH_MAX];
	int err = 0;

	full_path(tree, file->path, full);
	off_t place = place_in(full);

	if (made)
		make_parents(tree, full);
	int fd = open(full, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return -errno;
	if (pwrite(fd, file->text, file->size, place) != (ssize_t)file->size || (!place && ftruncate(fd, (off_t)file->size)))
		err = -EIO;
	close(fd);
	return err;
}

static int write_link(const struct tree *tree, const struct tree_file *file)
{
	char full[PATH_MAX];

	full_path(tree, file->path, full);
	make_parents(tree, full);
	unlink(full);
	return symlink(file->text, full) ? -errno : 0;
}

static int set_text(struct tree *tree, struct span *streams)
{
	struct tree_file *file = file_of(tree, &streams[TAPE_TEXT]);

	if (!file)
		return -EINVAL;
	struct span *content = &streams[tape_text_stream(file->path)];
	uint64_t head = take_number(content), tail = take_number(content), middle = take_number(content);
	const uint8_t *between = middle <= TAPE_TEXT_MAX ? take_bytes(content, (size_t)middle) : NULL;

	if (!between || file->kind == TAPE_FILE_BOX || head > file->size || tail > file->size - head ||
	    head + middle + tail > TAPE_TEXT_MAX)
		return -EINVAL;
	char *text = malloc(head + middle + tail + 1);
	bool made = !file->text;

	if (!text)
		return -ENOMEM;
	if (file->text) {
		memcpy(text, file->text, head);
		memcpy(text + head + middle, file->text + file->size - tail, tail);
	}
	memcpy(text + head, between, middle);
	text[head + middle + tail] = '\0';
	free(file->text);
	file->text = text;
	file->size = head + middle + tail;
	if (!is_shown(tree, file->path))
		return 0;
	return file->kind == TAPE_FILE_LINK ? write_link(tree, file) : write_text(tree, file, made);
}

/* Who keeps a file of /proc open reads nothing more from it. */
static int remove_file(struct tree *tree, struct span *content)
{
	struct tree_file *file = file_of(tree, content);
	char full[PATH_MAX];

	if (!file || file->kind == TAPE_FILE_BOX)
		return -EINVAL;
	free(file->text);
	file->text = NULL;
	file->size = 0;
	if (!is_shown(tree, file->path))
		return 0;
	full_path(tree, file->path, full);
	if (!place_in(full) && file->kind == TAPE_FILE_TEXT && truncate(full, 0))
		return -errno;
	unlink(full);
	for (char *slash; (slash = strrchr(full, '/')) && slash > full + strlen(tree->root) + strlen("/proc");) {
		*slash = '\0';
		if (rmdir(full))
			break;
	}
	return 0;
}

static int make_box(struct tree *tree, struct tree_file *box, uint64_t size)
{
	char full[PATH_MAX];
	struct stat status;

	if (size > TAPE_BOX_MAX || size % 8 || size < RW_BOX_HEADER_SIZE)
		return -EINVAL;
	full_path(tree, box->path, full);
	make_parents(tree, full);
	int fd = open(full, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	void *words = ftruncate(fd, (off_t)size) || fstat(fd, &status) ? MAP_FAILED
			: mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (words == MAP_FAILED)
		return -ENOMEM;
	box->words = words;
	box->size = size;
	box->inode = status.st_ino;
	return 0;
}

static int set_words(struct tree *tree, struct span *streams, uint64_t time_ns)
{
	struct span *content = &streams[TAPE_BOX];
	struct tree_file *box = file_of(tree, content);
	uint64_t size = take_number(content), runs = take_number(content), at = 0;
	int err = !box || content->bad || box->kind != TAPE_FILE_BOX ? -EINVAL : 0;

	if (!err && !box->words)
		err = make_box(tree, box, size);
	for (; !err && runs; runs--) {
		uint64_t words = box->size / 8, count;

		at += (uint64_t)take_signed(content);
		count = take_number(content);
		if (content->bad || at > words || count > words - at)
			return -EINVAL;
		for (uint64_t end = at + count; !err && at < end; at++) {
			struct span *stream = &streams[tape_word_stream(box->words, at)];

			box->words[at] = take_word(stream, box->words[at], &time_ns);
			err = stream->bad ? -EINVAL : 0;
		}
	}
	return err;
}

int tree_apply(struct tree *tree, struct tape *tape, enum tape_record type, uint64_t time_ns)
{
	switch (type) {
	case TAPE_NAME:
		return add(tree, &tape->streams[TAPE_NAME]);
	case TAPE_TEXT:
		return set_text(tree, tape->streams);
	case TAPE_BOX:
		return set_words(tree, tape->streams, time_ns);
	case TAPE_GONE:
		return remove_file(tree, &tape->streams[TAPE_GONE]);
	default:
		return -EINVAL;
	}
}

const char *tree_text(const struct tree *tree, const char *path)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->files[i].text && !strcmp(tree->files[i].path, path))
			return tree->files[i].text;
	return NULL;
}

pid_t tree_box_writer(const struct tree *tree, uint64_t inode)
{
	char path[TAPE_PATH + 8];

	for (size_t i = 0; i < tree->count; i++) {
		const struct tree_file *box = &tree->files[i];

		if (!box->words || box->inode != inode)
			continue;
		snprintf(path, sizeof(path), "life/%s", strrchr(box->path, '/') + 1);
		const char *text = tree_text(tree, path);

		return text ? atoi(text) : 0;
	}
	return -1;
}

const struct rw_box_header *tree_any_box(const struct tree *tree)
{
	for (size_t i = 0; i < tree->count; i++)
		if (tree->files[i].words && tree->files[i].size >= sizeof(struct rw_box_header))
			return (const struct rw_box_header *)tree->files[i].words;
	return NULL;
}
