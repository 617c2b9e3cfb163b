/* SPDX-License-Identifier: MIT */
#include "sim/workload/host/log_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 64 << 10 };

struct log_event {
	size_t bytes;
	bool sync;
};

struct log_writer {
	int fd;
	char path[4096];
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct log_event *queue;
	unsigned int room;
	unsigned int put, taken; /* counts; put - taken are in the queue */
	bool closing;
};

/* Training goes on without its log, as it does with TensorBoard; said each time. */
static void complain(const char *what)
{
	fprintf(stderr, "workload: log: %s: %s\n", what, strerror(errno));
}

void log_writer_write(struct log_writer *writer, size_t bytes, bool sync)
{
	static const char piece[PIECE];

	while (bytes) {
		ssize_t written = write(writer->fd, piece, bytes < PIECE ? bytes : PIECE);

		if (written <= 0) {
			complain("write");
			return;
		}
		bytes -= written;
	}
	if (sync && fsync(writer->fd))
		complain("fsync");
}

/* Takes the oldest event; false when there is none and none will come. */
static bool take(struct log_writer *writer, struct log_event *event)
{
	pthread_mutex_lock(&writer->lock);
	while (writer->put == writer->taken && !writer->closing)
		pthread_cond_wait(&writer->changed, &writer->lock);
	bool any = writer->put != writer->taken;
	if (any)
		*event = writer->queue[writer->taken++ % writer->room];
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	return any;
}

static void *write_events(void *argument)
{
	struct log_writer *writer = argument;
	struct log_event event;

	pthread_setname_np(pthread_self(), "tb-writer");
	while (take(writer, &event))
		log_writer_write(writer, event.bytes, event.sync);
	return NULL;
}

void log_writer_put(struct log_writer *writer, size_t bytes, bool sync)
{
	pthread_mutex_lock(&writer->lock);
	while (writer->put - writer->taken == writer->room)
		pthread_cond_wait(&writer->changed, &writer->lock);
	writer->queue[writer->put++ % writer->room] = (struct log_event){ .bytes = bytes, .sync = sync };
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
}

void log_writer_reopen(struct log_writer *writer)
{
	if (close(writer->fd))
		complain("close");
	writer->fd = open(writer->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (writer->fd < 0)
		complain("open");
}

static int start(struct log_writer *writer, const char *dir, int rank)
{
	snprintf(writer->path, sizeof(writer->path), "%s/events.out.tfevents.%d", dir, rank);
	writer->fd = open(writer->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (writer->fd < 0)
		return -errno;
	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->changed, NULL);
	int err = -pthread_create(&writer->thread, NULL, write_events, writer);
	if (err)
		close(writer->fd);
	return err;
}

static void release(struct log_writer *writer)
{
	free(writer->queue);
	free(writer);
}

int log_writer_open(struct log_writer **writer, const char *dir, int rank, unsigned int room)
{
	*writer = calloc(1, sizeof(**writer));
	if (!*writer)
		return -ENOMEM;
	(*writer)->queue = calloc(room, sizeof(*(*writer)->queue));
	(*writer)->room = room;
	int err = (*writer)->queue ? start(*writer, dir, rank) : -ENOMEM;
	if (err) {
		release(*writer);
		*writer = NULL;
	}
	return err;
}

void log_writer_close(struct log_writer *writer)
{
	if (!writer)
		return;
	pthread_mutex_lock(&writer->lock);
	writer->closing = true;
	pthread_cond_broadcast(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	pthread_join(writer->thread, NULL);
	close(writer->fd);
	release(writer);
}
