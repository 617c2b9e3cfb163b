/* SPDX-License-Identifier: MIT */
/*
 * TCP between the processes of a job, on the address of the interface that NCCL_SOCKET_IFNAME chooses. Failures are
 * said in NCCL's words. A wait ends with -ECANCELED soon after *stop became true.
 */
#ifndef SIM_NCCL_BOOTSTRAP_SOCKET_H
#define SIM_NCCL_BOOTSTRAP_SOCKET_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <nccl.h>

/* Zeroed = none; crosses between processes as it is. */
union socket_address {
	sa_family_t family;
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct socket_text {
	char text[INET6_ADDRSTRLEN + 16];
};

/* "10.0.0.2<4711>", as NCCL writes addresses. */
struct socket_text socket_text(const union socket_address *address);

/* Listens on any port of the chosen interface. *fd is the caller's. Logs why not. */
ncclResult_t socket_listen(int *fd, union socket_address *address);
/* ncclRemoteError: refused, unreachable or silent for 20 s; logged. *fd is the caller's, and it blocks. */
ncclResult_t socket_connect(int *fd, const union socket_address *address, const atomic_bool *stop);
/* A connection to a listening socket, within timeout_ms; -1 = any time. Returns the descriptor or -errno. */
int socket_accept(int fd, int timeout_ms, const atomic_bool *stop);

/* All or nothing: 0 or -errno; -ECONNRESET: the other end has closed. timeout_ms as above, for the whole. */
int socket_send(int fd, const void *bytes, size_t size);
int socket_receive(int fd, void *bytes, size_t size, int timeout_ms, const atomic_bool *stop);

#endif
