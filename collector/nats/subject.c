/* SPDX-License-Identifier: MIT */
#include "collector/nats/subject.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { TOKEN = 3 * SUBJECT_NAME };

static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
static const char hexadecimal[] = "0123456789ABCDEF";
static const char *const topics[SUBJECT_TOPICS] = {
	"messages", "findings", "hosts", "asks", "doctor", "judges", "told"
};

static void escape(const char *name, char token[TOKEN])
{
	size_t used = 0, length = strnlen(name, SUBJECT_NAME - 1);

	if (!length)
		token[used++] = '%';
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)name[i];

		if (strchr(plain, byte)) {
			token[used++] = (char)byte;
			continue;
		}
		token[used++] = '%';
		token[used++] = hexadecimal[byte >> 4];
		token[used++] = hexadecimal[byte & 15];
	}
	token[used] = '\0';
}

static int digit(char c)
{
	const char *found = c ? strchr(hexadecimal, c) : NULL;

	return found ? (int)(found - hexadecimal) : -1;
}

/* Only what escape() writes: one name has one subject. */
static bool unescape(const char *token, char name[SUBJECT_NAME])
{
	size_t used = 0;

	name[0] = '\0';
	if (strcmp(token, "%") == 0)
		return true;
	for (; *token && used < SUBJECT_NAME - 1; used++) {
		int high = *token == '%' ? digit(token[1]) : -1, low = high >= 0 ? digit(token[2]) : -1;
		int byte = low >= 0 ? high << 4 | low : 0;

		if (*token == '%' && (!byte || strchr(plain, byte)))
			return false;
		if (*token != '%' && !strchr(plain, *token))
			return false;
		name[used] = (char)(*token == '%' ? byte : *token);
		token += *token == '%' ? 3 : 1;
	}
	name[used] = '\0';
	return used && !*token;
}

void subject_write(char subject[SUBJECT_SIZE], enum subject_topic topic, const char *job, const char *host)
{
	char job_token[TOKEN], host_token[TOKEN] = "*";

	escape(job, job_token);
	if (host)
		escape(host, host_token);
	snprintf(subject, SUBJECT_SIZE, "rankwatch.v1.%s.%s.%s", job_token, topics[topic], host_token);
}

void subject_write_all(char subject[SUBJECT_SIZE], const char *job)
{
	char job_token[TOKEN];

	escape(job, job_token);
	snprintf(subject, SUBJECT_SIZE, "rankwatch.v1.%s.*.*", job_token);
}

int subject_read(const char *subject, enum subject_topic *topic, char host[SUBJECT_NAME])
{
	char parts[SUBJECT_SIZE], *part[6], *rest = parts;
	int count = 0;

	if (strlen(subject) >= sizeof(parts))
		return -EPROTO;
	strcpy(parts, subject);
	while (count < 6 && (part[count] = strsep(&rest, ".")))
		count++;
	if (count != 5 || strcmp(part[0], "rankwatch") != 0 || strcmp(part[1], "v1") != 0)
		return -EPROTO;
	for (int i = 0; i < SUBJECT_TOPICS; i++) {
		if (strcmp(part[3], topics[i]) != 0)
			continue;
		*topic = (enum subject_topic)i;
		return unescape(part[4], host) ? 0 : -EPROTO;
	}
	return -EPROTO;
}
