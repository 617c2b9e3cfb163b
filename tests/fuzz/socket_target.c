/* SPDX-License-Identifier: MIT */
/*
 * What comes over the collector's socket, in both directions: requests of clients, and what a client prints of a
 * collector's hello, findings and summary. The first byte of the input says how large the pieces are in which the rest
 * arrives.
 */
#include "tests/fuzz/box_target.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/line_buffer.h"
#include "protocol/message.h"
#include "protocol/request.h"
#include "finding/finding_text.h"

/* Nothing that a terminal would obey may get through. */
static void expect_harmless(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < 0x20 && *text != '\n') || *text == 0x7f)
			abort();
}

static void print(const json_t *message)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	finding_print(stream, message, NULL);
	message_print_summary(stream, "rankwatch", message);
	fclose(stream);
	expect_harmless(text);
	free(text);
}

/* Whatever was asked: what the collector acts on is in range. */
static void check_request(const char *line, size_t length)
{
	struct request request;

	request_parse(line, length, &request);
	if (request.kind == REQUEST_SUBSCRIBE &&
	    (request.topics >> REQUEST_TOPICS || request.every_ms < REQUEST_EVERY_LEAST_MS ||
	     request.every_ms > REQUEST_EVERY_MOST_MS))
		abort();
	if (request.rank < 0 || request.id < -1 || !memchr(request.finding, '\0', sizeof(request.finding)))
		abort();
}

static void on_line(void *argument, char *line, size_t length)
{
	json_t *message = json_loadb(line, length, 0, NULL);

	(void)argument;
	check_request(line, length);
	if (message)
		print(message);
	json_decref(message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct line_buffer buffer = { .limit = REQUEST_LINE };
	size_t piece = size ? data[0] + 1u : 1;

	for (size_t at = 1; at < size; at += piece) {
		size_t left = size - at;

		if (line_buffer_add(&buffer, (const char *)data + at, left < piece ? left : piece, on_line, NULL))
			break;
	}
	line_buffer_free(&buffer);
	return 0;
}
