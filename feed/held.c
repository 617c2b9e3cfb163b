/* SPDX-License-Identifier: MIT */
/* The mark that the plugin leaves before each driver call of its own at init, and takes away behind it. */
#include <string.h>

#include "feed/feed_state.h"

static const char mark[] = " has not returned";

/* Scanning makes these calls, too: without GPU progress alone it would meet the same call. */
#define BOTH "RANKWATCH_GPU_TIME=off RANKWATCH_SCAN=off"

/* What leaves a call out that gpu_progress_state reports; the device is asked for its names in any case. */
static const struct {
	const char *call, *remedy;
} of_progress[] = {
	{ "cuDeviceGetAttribute", BOTH },
	{ "cuMemHostGetDevicePointer", BOTH },
	{ "cuMemHostRegister", BOTH },
	{ "cuThreadExchangeStreamCaptureMode", BOTH },
};

static const char *remedy_of(const char *call)
{
	for (size_t i = 0; i < sizeof(of_progress) / sizeof(*of_progress); i++)
		if (!strcmp(call, of_progress[i].call))
			return of_progress[i].remedy;
	return "RANKWATCH=off";
}

/* The call's name; false: in none. */
static bool read_mark(const char *state, size_t size, char call[FEED_CALL])
{
	size_t length = strnlen(state, size), tail = sizeof(mark) - 1;

	if (length <= tail || length - tail >= FEED_CALL || memcmp(state + length - tail, mark, tail))
		return false;
	memcpy(call, state, length - tail);
	call[length - tail] = '\0';
	return true;
}

bool feed_poll_held(struct feed *feed)
{
	const struct rw_box_header *header = &feed->reader.header;
	char call[FEED_CALL] = "";

	/* How long it had been there, a box does not say. */
	if (!feed_is_live(feed))
		return false;
	feed->held_remedy = NULL;
	if (read_mark(header->gpu_progress_state, sizeof(header->gpu_progress_state), call))
		feed->held_remedy = remedy_of(call);
	else if (read_mark(header->scan_state, sizeof(header->scan_state), call))
		feed->held_remedy = "RANKWATCH_SCAN=off";
	if (!strcmp(call, feed->held_call))
		return false;
	memcpy(feed->held_call, call, sizeof(call));
	return true;
}
