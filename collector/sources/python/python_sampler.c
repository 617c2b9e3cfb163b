/* SPDX-License-Identifier: MIT */
#include "collector/sources/python/python_sampler.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/ancestor.h"
#include "base/clock.h"
#include "base/in_time.h"
#include "base/small_file.h"
#include "collector/sources/python/python_layout.h"

_Static_assert(sizeof(struct python_seen) <= IN_TIME_RESULT, "comes back as one message");

/* Lines of a file, read by pieces. */
struct lines {
	int fd;
	size_t used, size;
	char text[4096];
};

static bool fill(struct lines *lines)
{
	ssize_t size = read(lines->fd, lines->text, sizeof(lines->text));

	lines->used = 0;
	lines->size = size > 0 ? (size_t)size : 0;
	return size > 0;
}

static bool next_line(void *argument, char *line, size_t room)
{
	struct lines *lines = argument;
	size_t length = 0;

	for (;; lines->used++) {
		if (lines->used == lines->size && !fill(lines))
			break;
		if (lines->text[lines->used] == '\n') {
			lines->used++;
			line[length] = '\0';
			return true;
		}
		if (length + 1 < room)
			line[length++] = lines->text[lines->used];
	}
	line[length] = '\0';
	return length > 0;
}

/* "NSpid:\t4711\t7": the interpreter knows its threads by the last. */
static bool is_in_own_namespace(int process)
{
	char text[4096];
	int outer, inner;

	if (small_file_read(process, "status", text, sizeof(text)) <= 0)
		return false;
	const char *line = strstr(text, "\nNSpid:");

	return line && sscanf(line, "\nNSpid:%d%*1[\t]%d", &outer, &inner) == 2;
}

static struct ancestor_question question(const struct python_sampler *sampler)
{
	return (struct ancestor_question){ .fd = sampler->files[PYTHON_SAMPLER_ANCESTOR],
					   .pid = sampler->pid,
					   .start_ticks = sampler->start_ticks };
}

/* Closed to us where the memory is. */
static bool read_call(const struct python_sampler *sampler, char line[ANCESTOR_LINE])
{
	const struct ancestor_question asked = question(sampler);
	char path[64];

	snprintf(path, sizeof(path), "task/%" PRIu32 "/syscall", sampler->tid);
	if (small_file_read(sampler->files[PYTHON_SAMPLER_PROCESS], path, line, ANCESTOR_LINE) > 0)
		return true;
	return asked.fd >= 0 && !ancestor_read_call(&asked, sampler->tid, line);
}

/* Is it in futex(2) on a word of the interpreter's lock? */
static bool waits_for(const struct python_sampler *sampler, uint64_t gil)
{
	char text[ANCESTOR_LINE];
	unsigned long long address;
	long number;

	return gil && read_call(sampler, text) && sscanf(text, "%ld %llx", &number, &address) == 2 &&
	       number == SYS_futex && address >= gil && address < gil + PYTHON_LAYOUT_GIL;
}

/* One whose number is no thread's has ended, or has forked without its interpreter's knowledge. */
static void drop_strangers(int process, struct python_view *view)
{
	char path[32];

	for (uint32_t i = 0; i < view->thread_count; i++) {
		struct python_thread *thread = &view->threads[i];

		snprintf(path, sizeof(path), "task/%" PRIu32, thread->tid);
		if (!faccessat(process, path, F_OK, 0))
			continue;
		if (view->holder == thread->tid)
			view->holder = 0;
		*thread = (struct python_thread){ 0 };
	}
}

static int sample_once(struct remote_memory *memory, const struct python_image *image, uint32_t tid,
		     struct python_view *view)
{
	memory->reads_left = PYTHON_VIEW_READS;
	return python_view_read(memory, image, tid, view);
}

/* Threads go on while they are looked at. Whoever waited for the lock before and after the first sample, with the same
 * one that has it, waits for that one. */
static int sample(const struct python_sampler *sampler, struct python_seen *seen)
{
	static struct python_view again;
	struct lines lines = { .fd = sampler->files[PYTHON_SAMPLER_MAPS] };
	int fd = sampler->files[PYTHON_SAMPLER_MEMORY];
	struct remote_memory memory = { .read = remote_memory_of_file,
					.argument = &fd,
					.reads_left = PYTHON_VIEW_READS };
	struct python_image image;

	lseek(lines.fd, 0, SEEK_SET);
	int err = python_image_find(&memory, next_line, &lines, &image);

	if (!err)
		err = sample_once(&memory, &image, sampler->tid, &seen->view);
	if (err)
		return err;
	bool waited = waits_for(sampler, seen->view.gil);

	seen->at_ns = clock_monotonic_ns();
	err = sample_once(&memory, &image, sampler->tid, &again);
	if (err)
		return err;
	python_view_agree(&seen->view, &again);
	seen->waits = waited && waits_for(sampler, seen->view.gil);
	drop_strangers(sampler->files[PYTHON_SAMPLER_PROCESS], &seen->view);
	return 0;
}

static void work(const void *argument, void *result)
{
	struct python_sampler asked = *(const struct python_sampler *)argument;
	const struct ancestor_question its = question(&asked);
	struct python_seen *seen = result;

	if (asked.files[PYTHON_SAMPLER_MEMORY] < 0)
		asked.files[PYTHON_SAMPLER_MEMORY] = ancestor_open_memory(&its);
	if (asked.files[PYTHON_SAMPLER_MEMORY] < 0)
		seen->error = asked.files[PYTHON_SAMPLER_MEMORY];
	else
		seen->error = is_in_own_namespace(asked.files[PYTHON_SAMPLER_PROCESS]) ? -EXDEV : sample(&asked, seen);
}

static int open_file(const struct writer_process *writer, const char *name, int flags)
{
	int fd = openat(writer->proc_fd, name, flags | O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Files of /proc are bound to the address space that the process has when they are opened: one that execs after the
 * check leaves them behind, and they read as empty. */
int python_sampler_open(struct python_sampler *sampler, const struct writer_process *writer, uint32_t tid, int ancestor)
{
	static const char *const names[] = {
		[PYTHON_SAMPLER_PROCESS] = ".", [PYTHON_SAMPLER_MAPS] = "maps", [PYTHON_SAMPLER_MEMORY] = "mem"
	};
	char why[WRITER_PROCESS_WHY];
	int err = writer_process_check(writer, why);

	*sampler = (struct python_sampler){
		.files = { -1, -1, -1, -1 }, .tid = tid, .pid = writer->pid, .start_ticks = writer->start_ticks
	};
	for (int i = 0; i <= PYTHON_SAMPLER_MEMORY && !err; i++) {
		sampler->files[i] = open_file(writer, names[i], i == PYTHON_SAMPLER_PROCESS ? O_DIRECTORY : 0);
		err = sampler->files[i] < 0 ? sampler->files[i] : 0;
	}
	if ((err == -EACCES || err == -EPERM) && sampler->files[PYTHON_SAMPLER_MAPS] >= 0 && ancestor >= 0) {
		sampler->files[PYTHON_SAMPLER_ANCESTOR] = fcntl(ancestor, F_DUPFD_CLOEXEC, 0);
		err = sampler->files[PYTHON_SAMPLER_ANCESTOR] < 0 ? -errno : 0;
	}
	if (!err)
		err = writer_process_check(writer, why);
	if (err)
		python_sampler_close(sampler);
	return err;
}

void python_sampler_close(struct python_sampler *sampler)
{
	for (int i = 0; i < PYTHON_SAMPLER_FILES; i++) {
		if (sampler->files[i] >= 0)
			close(sampler->files[i]);
		sampler->files[i] = -1;
	}
}

int python_sampler_take(const struct python_sampler *sampler, struct python_seen *seen)
{
	struct python_sampler lent = *sampler;

	return in_time_call_lending(work, &lent, lent.files, PYTHON_SAMPLER_FILES, seen, sizeof(*seen),
				    PYTHON_SAMPLER_MS);
}
