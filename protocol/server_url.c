/* SPDX-License-Identifier: MIT */
#include "protocol/server_url.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const schemes[] = { "nats://", "tls://" };

struct part {
	const char *scheme, *host; /* host: behind user and password */
	size_t length;             /* of the host and what follows */
};

/* scheme NULL: none that is known. */
static struct part cut(const char *url, size_t length)
{
	struct part part = { .host = url, .length = length };

	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
		if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
			part.scheme = schemes[i];
	if (!part.scheme)
		return part;
	part.host += strlen(part.scheme);
	part.length -= strlen(part.scheme);
	/* A password may hold an @, a host may not. */
	const char *at = memrchr(part.host, '@', part.length);

	if (at) {
		part.length -= (size_t)(at + 1 - part.host);
		part.host = at + 1;
	}
	return part;
}

/* NULL: nothing is. */
static const char *wrong_with_host(const struct part *part)
{
	const char *colon = memrchr(part->host, ':', part->length);
	const char *bracket = memchr(part->host, ']', part->length);
	size_t name = part->length;

	if (colon && (!bracket || bracket < colon)) {
		char digits[8] = "";
		size_t count = part->length - (size_t)(colon + 1 - part->host);

		name = (size_t)(colon - part->host);
		snprintf(digits, sizeof(digits), "%.*s", (int)count, colon + 1);
		if (!count || count > 5 || strspn(digits, "0123456789") != count || atoi(digits) < 1 ||
		    atoi(digits) > 65535)
			return "what follows the last colon is not a port";
	}
	if (!name)
		return "there is no host in it";
	for (size_t i = 0; i < name; i++)
		if (part->host[i] <= ' ' || part->host[i] == 0x7f || strchr("/?#", part->host[i]))
			return "a host is followed by nothing but :PORT";
	return NULL;
}

int server_url_check(const char *url, char why[SERVER_URL_WHY])
{
	const char *wrong = *url ? NULL : "it is empty";

	if (strlen(url) >= SERVER_URL_LENGTH)
		wrong = "it is too long";
	while (!wrong) {
		size_t length = strcspn(url, ",");
		struct part part = cut(url, length);

		wrong = part.scheme ? wrong_with_host(&part) : "it begins neither with nats:// nor with tls://";
		if (!url[length])
			break;
		url += length + 1;
	}
	snprintf(why, SERVER_URL_WHY, "%s", wrong ? wrong : "");
	return wrong ? -EINVAL : 0;
}

void server_url_show(const char *url, char shown[SERVER_URL_SHOWN])
{
	size_t used = 0;

	shown[0] = '\0';
	for (;;) {
		size_t length = strcspn(url, ",");
		struct part part = cut(url, length);
		int written = snprintf(shown + used, SERVER_URL_SHOWN - used, "%s%s%.*s", used ? "," : "",
				       part.scheme ? part.scheme : "", part.scheme ? (int)part.length : 1,
				       part.scheme ? part.host : "?");

		used += (size_t)written;
		if (used >= SERVER_URL_SHOWN || !url[length])
			return;
		url += length + 1;
	}
}
