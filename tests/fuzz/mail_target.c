/* SPDX-License-Identifier: MIT */
/* The collector of all nodes, and a net in which anybody may publish anything. */
#include "tests/fuzz/box_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/job_half.h"
#include "collector/nats/mail.h"
#include "finding/finding_json.h"
#include "finding/finding_text.h"

#define S UINT64_C(1000000000)

static const char *const topics[] = { "findings", "hosts", "messages", "doctor", "gossip" };
static const char *const hosts[] = { "host-0", "host-1", "%", "a%1B%5B2J", "%1b", "a.b", "" };

struct reader {
	struct mail mail;
	struct job_half *half;
};

/* Text of any finding that got so far is fit for a terminal. */
static void print(void *argument, const json_t *finding)
{
	static const struct finding_style style = { .clock = true, .width = 40 };
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	(void)argument;
	finding_print(stream, finding, &style);
	fclose(stream);
	for (size_t i = 0; i < size; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n')
			abort();
	free(text);
}

static void judged(void *argument, const struct rw_finding *finding)
{
	struct reader *reader = argument;
	json_t *json = finding_to_json(finding, 0);
	char why[FINDING_HEAD_WHY];

	if (!json || merged_take(&reader->mail.merged, "", json, why))
		abort();
	json_decref(json);
}

static int take(void *argument, const char *host, const void *bytes, size_t length, uint64_t now_ns, const char **why)
{
	struct reader *reader = argument;

	(void)host;
	return job_half_take(reader->half, bytes, length, now_ns, why);
}

/* Letters, each of: a byte that chooses the topic, one that chooses the host, two with the length, and so many
 * bytes. */
static void deliver(struct reader *reader, const uint8_t *data, size_t size)
{
	struct letters letters = { .limit = 1 << 20 };
	uint64_t now_ns = S;

	while (size >= 4) {
		size_t length = data[2] | (size_t)data[3] << 8;
		char subject[SUBJECT_SIZE];

		if (length > size - 4)
			length = size - 4;
		snprintf(subject, sizeof(subject), "rankwatch.v1.j.%s.%s", topics[data[0] % 5], hosts[data[1] % 7]);
		letters_put(&letters, subject, data + 4, length);
		data += 4 + length;
		size -= 4 + length;

		struct letter *letter = letters_take(&letters);

		mail_take(&reader->mail, letter, now_ns);
		free(letter);
		now_ns += S;
		job_half_tick(reader->half, now_ns);
		mail_tick(&reader->mail, now_ns);
	}
	for (int i = 0; i < 20; i++) {
		now_ns += S;
		job_half_tick(reader->half, now_ns);
		mail_tick(&reader->mail, now_ns);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader reader = { 0 };
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	reader.mail = (struct mail){ .who = "fuzz", .trouble = stream, .reports = stream, .batch = take, .argument = &reader,
				     .merged = { .emit = print } };
	reader.half = job_half_new("j", judged, &reader);
	if (stream && reader.half)
		deliver(&reader, data, size);
	job_half_free(reader.half);
	mail_free(&reader.mail);
	fclose(stream);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ' && text[i] != '\n')
			abort();
	free(text);
	return 0;
}
