/* SPDX-License-Identifier: MIT */
#include "collector/nats/port_pieces.h"

#include <string.h>

#include "finding/value.h"

static bool is_port(const json_t *piece)
{
	return value_is(piece, "source", "port") && value_text(piece, "what");
}

static json_t *pieces_of(const json_t *finding)
{
	const json_t *evidence = json_object_get(finding, "evidence");
	json_t *pieces = json_array();

	for (size_t i = 0; i < json_array_size(evidence) && json_array_size(pieces) < PORT_PIECES; i++) {
		json_t *piece = json_array_get(evidence, i);

		if (is_port(piece))
			json_array_append(pieces, json_object_get(piece, "what"));
	}
	return pieces;
}

bool port_pieces_note(json_t *hosts, const char *host, const json_t *finding)
{
	json_t *pieces = pieces_of(finding);
	bool news = json_array_size(pieces) && !json_equal(pieces, json_object_get(hosts, host)) &&
		    !json_object_set(hosts, host, pieces);

	json_decref(pieces);
	return news;
}

static bool begins_with(const char *what, const char *host)
{
	size_t length = strlen(host);

	return strncmp(what, host, length) == 0 && strncmp(what + length, ", ", 2) == 0;
}

static void append(json_t *evidence, const char *host, const json_t *pieces, size_t at)
{
	const char *what = json_string_value(json_array_get(pieces, at));

	if (!what)
		return;
	bool named = !*host || begins_with(what, host);
	json_t *said = named ? json_string(what) : json_sprintf("%s, %s", host, what);

	json_array_append_new(evidence, json_pack("{s:s, s:n, s:o}", "source", "port", "ms", "what", said));
}

static void append_all(json_t *evidence, const json_t *hosts, const char *first)
{
	size_t most = json_array_size(evidence) + PORT_PIECES;
	const char *host;
	json_t *pieces;

	for (size_t at = 0; at < PORT_PIECES; at++) {
		append(evidence, first, json_object_get(hosts, first), at);
		json_object_foreach((json_t *)hosts, host, pieces)
			if (strcmp(host, first) != 0 && json_array_size(evidence) < most)
				append(evidence, host, pieces, at);
		if (json_array_size(evidence) >= most)
			return;
	}
}

json_t *port_pieces_evidence(const json_t *hosts, const char *host, const json_t *finding)
{
	const json_t *own = json_object_get(finding, "evidence");
	json_t *evidence = json_object_size(hosts) ? json_array() : NULL;

	for (size_t i = 0; evidence && i < json_array_size(own); i++)
		if (!is_port(json_array_get(own, i)))
			json_array_append(evidence, json_array_get(own, i));
	if (evidence)
		append_all(evidence, hosts, host);
	return evidence;
}
