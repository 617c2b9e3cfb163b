/* SPDX-License-Identifier: MIT */
#include "console/metrics/server.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "console/metrics/scrape.h"

enum { CONNECTIONS = 32, IDLE_S = 10 };

struct server {
	struct MHD_Daemon *daemon;
	struct scrape_choice choice;
};

static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type, char *text,
			      size_t length)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);

	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	enum MHD_Result result = MHD_queue_response(connection, status, response);

	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result answer_line(struct MHD_Connection *connection, unsigned status, const char *line)
{
	char *text = strdup(line);

	return text ? answer(connection, status, "text/plain; charset=utf-8", text, strlen(text)) : MHD_NO;
}

static enum MHD_Result on_request(void *argument, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *body, size_t *body_length,
				  void **state)
{
	struct server *server = argument;
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	enum exposition_format format = exposition_accepted(accept);
	size_t length;

	(void)version, (void)body;
	if (*body_length) { /* is not read: the connection ends with the answer */
		*body_length = 0;
		return MHD_YES;
	}
	(void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_line(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET /metrics is all that there is.\n");
	if (strcmp(url, "/metrics") != 0)
		return answer_line(connection, MHD_HTTP_NOT_FOUND, "rankwatch: the metrics are at /metrics.\n");
	char *text = scrape(&server->choice, format, &length);

	if (!text)
		return answer_line(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				   "There is no memory left for an answer.\n");
	return answer(connection, MHD_HTTP_OK, exposition_content_type(format), text, length);
}

int server_address_parse(const char *text, struct server_address *address)
{
	const char *colon = strrchr(text, ':'), *port = colon ? colon + 1 : text, *host = colon ? text : "127.0.0.1";
	size_t length = colon ? (size_t)(colon - text) : strlen(host);
	char *end;

	if (length >= 2 && host[0] == '[' && host[length - 1] == ']') {
		host++;
		length -= 2;
	} else if (memchr(host, ':', length)) {
		return -EINVAL; /* an IPv6 address without brackets: where does it end? */
	}
	long number = strtol(port, &end, 10);

	if (*port < '0' || *port > '9' || *end || number < 1 || number > 65535 || length >= sizeof(address->host))
		return -EINVAL;
	memcpy(address->host, host, length);
	address->host[length] = '\0';
	snprintf(address->port, sizeof(address->port), "%ld", number);
	return 0;
}

static int listen_at(const struct server_address *address, char *why, size_t why_size)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
					.ai_socktype = SOCK_STREAM };
	struct addrinfo *found;
	int err = getaddrinfo(*address->host ? address->host : NULL, address->port, &hints, &found);

	if (err) {
		snprintf(why, why_size, "%s", gai_strerror(err));
		return -1;
	}
	int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;

	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, CONNECTIONS)) {
		snprintf(why, why_size, "%s", strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	return fd;
}

struct server *server_open(const struct server_address *address, const struct scrape_choice *choice, char *why,
			   size_t why_size)
{
	int fd = listen_at(address, why, why_size);
	struct server *server = fd >= 0 ? calloc(1, sizeof(*server)) : NULL;

	if (!server) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	server->choice = *choice;
	server->daemon =
	    MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_AUTO, 0, NULL, NULL, on_request, server,
			     MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
			     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S, MHD_OPTION_END);
	if (server->daemon)
		return server;
	snprintf(why, why_size, "libmicrohttpd does not start");
	close(fd);
	free(server);
	return NULL;
}

void server_close(struct server *server)
{
	MHD_stop_daemon(server->daemon);
	free(server);
}
