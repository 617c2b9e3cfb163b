/* SPDX-License-Identifier: MIT */
/* Built without NATS. */
#include "collector/nats/link.h"

bool link_is_possible(void)
{
	return false;
}

struct link *link_open(const struct link_request *request)
{
	(void)request;
	return NULL;
}

void link_send(struct link *link, const char *subject, const void *bytes, size_t length)
{
	(void)link;
	(void)subject;
	(void)bytes;
	(void)length;
}

struct letter *link_receive(struct link *link)
{
	(void)link;
	return NULL;
}

bool link_news(struct link *link, char line[LINK_LINE], bool *is_trouble)
{
	(void)link;
	(void)line;
	(void)is_trouble;
	return false;
}

void link_see(struct link *link, struct link_state *state)
{
	(void)link;
	*state = (struct link_state){ 0 };
}

bool link_await(struct link *link, unsigned timeout_ms)
{
	(void)link;
	(void)timeout_ms;
	return false;
}

bool link_close(struct link *link, unsigned timeout_ms)
{
	(void)link;
	(void)timeout_ms;
	return true;
}
