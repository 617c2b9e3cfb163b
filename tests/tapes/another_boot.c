/* SPDX-License-Identifier: MIT */
/*
 * Makes unpacked black boxes those of another machine: another boot id and host name, CLOCK_MONOTONIC that is ahead by
 * some seconds, and a wall clock that is ahead by some milliseconds.
 *
 *     another_boot SECONDS MILLISECONDS HOST BOOT-ID BOX...
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rankwatch/blackbox.h>

static int64_t ahead_ns, wall_ns;

/* 0 is "not yet", or never. */
static uint64_t moved(uint64_t ns)
{
	return ns ? ns + (uint64_t)ahead_ns : 0;
}

static void move_header(struct rw_box_header *header, const char *host, const char *boot_id)
{
	snprintf(header->host, sizeof(header->host), "%s", host);
	snprintf(header->boot_id, sizeof(header->boot_id), "%s", boot_id);
	header->created_ns = moved(header->created_ns);
	header->created_realtime_ns += (uint64_t)wall_ns;
	header->drain_ns = moved(header->drain_ns);
	header->leased_until_ns = moved(header->leased_until_ns);
	header->init.since_ns = moved(header->init.since_ns);
	for (int i = 0; i < RW_BOX_ANCHORS; i++) {
		struct rw_anchor *anchor = &header->anchors[i];

		anchor->monotonic_ns = moved(anchor->monotonic_ns);
		anchor->realtime_ns += anchor->realtime_ns ? (uint64_t)wall_ns : 0;
	}
}

static void move_communicators(struct rw_communicator *communicators, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		communicators[i].created_ns = moved(communicators[i].created_ns);
		communicators[i].ended_ns = moved(communicators[i].ended_ns);
	}
}

static void move_operations(struct rw_operation *ring, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		ring[i].api_ns = moved(ring[i].api_ns);
		ring[i].launch_begin_ns = moved(ring[i].launch_begin_ns);
		ring[i].launch_end_ns = moved(ring[i].launch_end_ns);
		ring[i].return_ns = moved(ring[i].return_ns);
		ring[i].started_seen_ns = moved(ring[i].started_seen_ns);
		ring[i].done_seen_ns = moved(ring[i].done_seen_ns);
	}
}

static void move_samples(struct rw_host_sample *samples, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		samples[i].monotonic_ns = moved(samples[i].monotonic_ns);
}

static void move_waits(struct rw_wait *waits, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		waits[i].first_ns = moved(waits[i].first_ns);
		waits[i].last_ns = moved(waits[i].last_ns);
	}
}

static int move_box(const char *path, const char *host, const char *boot_id)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct rw_box_header start;

	/* A saved box lacks the zeros at its end. */
	if (fd < 0 || read(fd, &start, sizeof(start)) != sizeof(start) || ftruncate(fd, (off_t)start.total_size))
		return -1;
	char *map = mmap(NULL, start.total_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	if (map == MAP_FAILED)
		return -1;
	struct rw_box_header *header = (struct rw_box_header *)map;
	uint32_t operations = header->head < header->ring_slots ? (uint32_t)header->head : header->ring_slots;

	move_header(header, host, boot_id);
	move_communicators((struct rw_communicator *)(map + header->comms_offset), header->comm_slots);
	move_operations((struct rw_operation *)(map + header->ring_offset), operations);
	move_samples((struct rw_host_sample *)(map + header->samples_offset), header->sample_slots);
	if (header->optional_features & RW_BOX_NETWORK)
		move_waits((struct rw_wait *)(map + header->waits_offset), header->wait_slots);
	return munmap(map, start.total_size);
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return EXIT_FAILURE;
	ahead_ns = (int64_t)(atof(argv[1]) * 1e9);
	wall_ns = (int64_t)(atof(argv[2]) * 1e6);
	for (int i = 5; i < argc; i++) {
		if (move_box(argv[i], argv[3], argv[4])) {
			perror(argv[i]);
			return EXIT_FAILURE;
		}
	}
	return EXIT_SUCCESS;
}
