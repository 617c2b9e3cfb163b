/* SPDX-License-Identifier: MIT */
/*
 * What the network ports of several hosts showed beside one finding. Each host's collector reads its own ports only, so
 * each one's evidence holds a part of it. Pure; findings are those of docs/findings.md and foreign.
 */
#ifndef COLLECTOR_NATS_PORT_PIECES_H
#define COLLECTOR_NATS_PORT_PIECES_H

#include <stdbool.h>

#include <jansson.h>

enum { PORT_PIECES = 3 /* of all hosts together, as many as one host's finding has */ };

/* hosts: an object, by host what its ports showed. Takes over what the finding of `host` says of ports; a finding
 * without such evidence leaves what was said before. True: something has changed. Without memory nothing changes. */
bool port_pieces_note(json_t *hosts, const char *host, const json_t *finding);

/* The finding's evidence with the ports of all hosts, each with the name of its host: the weightiest port of each host
 * before any second one, those of `host` first. The caller owns it; NULL: nothing was noted, or no memory. */
json_t *port_pieces_evidence(const json_t *hosts, const char *host, const json_t *finding);

#endif
