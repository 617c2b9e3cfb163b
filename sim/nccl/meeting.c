/* SPDX-License-Identifier: MIT */
#include "meeting.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "log.h"

#define ID_MAGIC "rankwatch-sim-nccl-"

struct request {
	int32_t nranks, rank;
};

struct host {
	int socket;
	int memory; /* -1 until the first rank has come */
	int nranks, served;
	bool joined[SEGMENT_RANKS_MAX];
};

static socklen_t id_address(const ncclUniqueId *id, struct sockaddr_un *address)
{
	size_t length = strnlen(id->internal, NCCL_UNIQUE_ID_BYTES);

	if (length >= sizeof(address->sun_path) || strncmp(id->internal, ID_MAGIC, strlen(ID_MAGIC)) != 0)
		return 0;
	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	memcpy(address->sun_path + 1, id->internal, length); /* a leading 0: no file */
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

static ncclResult_t send_answer(int socket, ncclResult_t result, int memory)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct iovec text = { &result, sizeof(result) };
	struct msghdr message = { .msg_iov = &text, .msg_iovlen = 1 };

	if (result == ncclSuccess) {
		message.msg_control = control.space;
		message.msg_controllen = sizeof(control.space);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &memory, sizeof(memory));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof(result) ? ncclSuccess : ncclSystemError;
}

static bool same_user(int socket)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static ncclResult_t host_make_memory(struct host *host, int nranks)
{
	host->memory = memfd_create("rankwatch-sim-nccl", MFD_CLOEXEC);
	if (host->memory < 0 || ftruncate(host->memory, (off_t)segment_size(nranks)) < 0)
		return ncclSystemError;
	host->nranks = nranks;
	return ncclSuccess;
}

static ncclResult_t host_check(struct host *host, const struct request *request)
{
	if (request->nranks < 1 || request->nranks > SEGMENT_RANKS_MAX || request->rank < 0 ||
	    request->rank >= request->nranks)
		return ncclInvalidArgument;
	if (host->memory < 0 && host_make_memory(host, request->nranks) != ncclSuccess)
		return ncclSystemError;
	if (request->nranks != host->nranks || host->joined[request->rank])
		return ncclInvalidUsage;
	return ncclSuccess;
}

static void host_serve(struct host *host, int client)
{
	struct request request;

	if (!same_user(client) || recv(client, &request, sizeof(request), MSG_WAITALL) != sizeof(request))
		return;
	ncclResult_t result = host_check(host, &request);
	if (send_answer(client, result, host->memory) == ncclSuccess && result == ncclSuccess) {
		host->joined[request.rank] = true;
		host->served++;
	}
}

static void *host_main(void *argument)
{
	struct host *host = argument;

	while (host->memory < 0 || host->served < host->nranks) {
		int client = accept4(host->socket, NULL, NULL, SOCK_CLOEXEC);
		if (client < 0 && errno != EINTR)
			break;
		if (client < 0)
			continue;
		host_serve(host, client);
		close(client);
	}
	close(host->socket);
	if (host->memory >= 0)
		close(host->memory);
	free(host);
	return NULL;
}

static ncclResult_t host_start(struct host *host)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, NULL, host_main, host);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return ncclSystemError;
	pthread_detach(thread);
	return ncclSuccess;
}

static ncclResult_t host_listen(struct host *host, const ncclUniqueId *id)
{
	struct sockaddr_un address;
	socklen_t length = id_address(id, &address);

	host->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (host->socket < 0)
		return ncclSystemError;
	if (bind(host->socket, (struct sockaddr *)&address, length) == 0 && listen(host->socket, SOMAXCONN) == 0 &&
	    host_start(host) == ncclSuccess)
		return ncclSuccess;
	close(host->socket);
	return ncclSystemError;
}

ncclResult_t meeting_open(ncclUniqueId *id)
{
	uint64_t random[2];
	struct host *host = calloc(1, sizeof(*host));

	if (!host)
		return ncclSystemError;
	host->memory = -1;
	*id = (ncclUniqueId){ 0 };
	if (getrandom(random, sizeof(random), 0) == sizeof(random)) {
		snprintf(id->internal, sizeof(id->internal), ID_MAGIC "%016llx%016llx", (unsigned long long)random[0],
			 (unsigned long long)random[1]);
		if (host_listen(host, id) == ncclSuccess)
			return ncclSuccess;
	}
	log_warn("cannot listen for the ranks of a communicator: %s", strerror(errno));
	free(host);
	return ncclSystemError;
}

static ncclResult_t receive_answer(int socket, int *memory)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	ncclResult_t result = ncclSystemError;
	struct iovec text = { &result, sizeof(result) };
	struct msghdr message = {
		.msg_iov = &text, .msg_iovlen = 1, .msg_control = control.space, .msg_controllen = sizeof(control.space)
	};

	if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL) != sizeof(result))
		return ncclRemoteError;
	if (result != ncclSuccess)
		return result;
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_type != SCM_RIGHTS)
		return ncclSystemError;
	memcpy(memory, CMSG_DATA(header), sizeof(*memory));
	return ncclSuccess;
}

static const char *refusal(ncclResult_t result)
{
	switch (result) {
	case ncclInvalidUsage:
		return "another rank has the same number or gave another number of ranks";
	case ncclInvalidArgument:
		return "more ranks than the stand-in can serve (256)";
	case ncclRemoteError:
		return "the process that called ncclGetUniqueId has ended";
	default:
		return "no memory for the communicator";
	}
}

ncclResult_t meeting_join(struct segment *segment, const ncclUniqueId *id, int nranks, int rank)
{
	struct sockaddr_un address;
	struct request request = { nranks, rank };
	socklen_t length = id_address(id, &address);
	int memory = -1;

	if (!length) {
		log_warn("this is no unique id of the stand-in NCCL");
		return ncclInvalidArgument;
	}
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (client < 0 || connect(client, (struct sockaddr *)&address, length) < 0) {
		log_warn("nobody serves this unique id (%s): the process that called ncclGetUniqueId must be alive, on "
			 "this host, and the id must be new",
			 strerror(errno));
		if (client >= 0)
			close(client);
		return ncclSystemError;
	}
	ncclResult_t result = ncclRemoteError;
	if (send(client, &request, sizeof(request), MSG_NOSIGNAL) == sizeof(request))
		result = receive_answer(client, &memory);
	close(client);
	if (result != ncclSuccess) {
		log_warn("rank %d of %d was refused: %s", rank, nranks, refusal(result));
		return result;
	}
	result = segment_map(segment, memory, nranks);
	close(memory);
	return result;
}

uint64_t meeting_hash(const void *bytes, size_t size, uint64_t seed)
{
	const unsigned char *at = bytes;
	uint64_t hash = 0xcbf29ce484222325u ^ seed; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}
