/* SPDX-License-Identifier: MIT */
/*
 * Who is at the other end of a TCP connection of another process, from /proc/PID/net/tcp and tcp6: its network
 * namespace's own tables. They are long on some machines: what was found is kept, and they are read once a second at
 * most.
 */
#ifndef COLLECTOR_SOURCES_WAITS_SOCKET_PEER_H
#define COLLECTOR_SOURCES_WAITS_SOCKET_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SOCKET_PEER_TEXT = 64, SOCKET_PEERS_KEPT = 64 };
#define SOCKET_PEER_PAUSE_NS 1000000000u

struct socket_peers {
	struct {
		uint64_t inode;
		char text[SOCKET_PEER_TEXT]; /* "" it has no peer that these tables know */
	} kept[SOCKET_PEERS_KEPT]; /* by inode; two of one place take turns */
	uint64_t read_ns;          /* of the last sample; 0 none yet */
};

/* "10.0.0.7:443", "[fe80::1]:29500"; false: no TCP connection, or not found out this time. The inode is a living
 * socket's of pid. */
bool socket_peer_find(struct socket_peers *peers, const char *proc_root, pid_t pid, uint64_t inode, uint64_t now_ns,
		      char text[SOCKET_PEER_TEXT]);

#endif
