/* SPDX-License-Identifier: MIT */
#include "sim/nccl/bootstrap/meeting.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "sim/nccl/bootstrap/segment.h"
#include "sim/nccl/log.h"

#define ID_MARK         0x6d697377722d6c63u /* so that the id of another NCCL is recognised */
#define DISMISSAL       -1                  /* as the number of ranks */
#define HELLO_LIMIT_MS  5000                /* for a connection to say who it is */
#define ANSWER_LIMIT_MS 60000

/* NCCL's order: the secret, then the address. */
struct id {
	uint64_t secret;
	union socket_address address;
	uint64_t mark;
};

_Static_assert(sizeof(struct id) <= NCCL_UNIQUE_ID_BYTES, "fits into a unique id");

struct request {
	uint64_t secret;
	struct meeting_rank rank;
};

struct hello {
	uint64_t secret;
	int32_t caller;
};

/* The thread that serves an id; NCCL calls it the root. */
struct root {
	int listener;
	uint64_t secret;
	int nranks, joined; /* 0 until the first rank has come */
	bool dismissed;
	int clients[SEGMENT_RANKS_MAX];
	struct meeting_rank ranks[SEGMENT_RANKS_MAX];
};

static struct id id_read(const ncclUniqueId *unique)
{
	struct id id;

	memcpy(&id, unique->internal, sizeof(id));
	return id;
}

static ncclResult_t root_check(const struct root *root, const struct meeting_rank *rank)
{
	if (rank->nranks < 1 || rank->nranks > SEGMENT_RANKS_MAX || rank->rank < 0 || rank->rank >= rank->nranks)
		return ncclInvalidArgument;
	if (root->nranks && (rank->nranks != root->nranks || root->clients[rank->rank] >= 0))
		return ncclInvalidUsage;
	return ncclSuccess;
}

/* Keeps the client until all have come; false: it was no rank, or was refused. */
static bool root_admit(struct root *root, int client)
{
	struct request request;

	if (socket_receive(client, &request, sizeof(request), HELLO_LIMIT_MS, NULL) < 0 ||
	    request.secret != root->secret)
		return false;
	root->dismissed = !root->nranks && request.rank.nranks == DISMISSAL;
	ncclResult_t result = root_check(root, &request.rank);
	if (result != ncclSuccess) {
		socket_send(client, &result, sizeof(result));
		return false;
	}
	root->nranks = request.rank.nranks;
	root->joined++;
	root->ranks[request.rank.rank] = request.rank;
	root->clients[request.rank.rank] = client;
	return true;
}

static void root_answer_all(struct root *root)
{
	const ncclResult_t result = ncclSuccess;

	for (int rank = 0; rank < root->nranks; rank++) {
		if (socket_send(root->clients[rank], &result, sizeof(result)) == 0)
			socket_send(root->clients[rank], root->ranks, sizeof(*root->ranks) * (size_t)root->nranks);
	}
}

static void root_free(struct root *root)
{
	for (int rank = 0; rank < root->nranks; rank++) {
		if (root->clients[rank] >= 0)
			close(root->clients[rank]);
	}
	close(root->listener);
	free(root);
}

static void *root_main(void *argument)
{
	struct root *root = argument;

	while (!root->dismissed && (!root->nranks || root->joined < root->nranks)) {
		int client = socket_accept(root->listener, -1, NULL);
		if (client < 0)
			break;
		if (!root_admit(root, client))
			close(client);
	}
	if (root->nranks && root->joined == root->nranks)
		root_answer_all(root);
	root_free(root);
	return NULL;
}

static ncclResult_t root_start(struct root *root)
{
	sigset_t all, before;
	pthread_t thread;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&thread, NULL, root_main, root);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err)
		return ncclSystemError;
	pthread_detach(thread);
	return ncclSuccess;
}

ncclResult_t meeting_open(ncclUniqueId *unique)
{
	struct id id = { .mark = ID_MARK };
	struct root *root = calloc(1, sizeof(*root));

	if (!root || getrandom(&id.secret, sizeof(id.secret), 0) != sizeof(id.secret)) {
		free(root);
		return ncclSystemError;
	}
	root->secret = id.secret;
	memset(root->clients, 0xff, sizeof(root->clients));
	ncclResult_t result = socket_listen(&root->listener, &id.address);
	if (result == ncclSuccess && root_start(root) != ncclSuccess) {
		close(root->listener);
		result = ncclSystemError;
	}
	if (result != ncclSuccess) {
		free(root);
		return result;
	}
	*unique = (ncclUniqueId){ 0 };
	memcpy(unique->internal, &id, sizeof(id));
	return ncclSuccess;
}

static const char *refusal(ncclResult_t result)
{
	switch (result) {
	case ncclInvalidUsage:
		return "another rank has the same number or gave another number of ranks";
	case ncclInvalidArgument:
		return "more ranks than the stand-in can serve (256)";
	default:
		return "the process that called ncclGetUniqueId has ended";
	}
}

static ncclResult_t ask(int fd, const struct request *request, struct meeting_rank *ranks, const atomic_bool *stop)
{
	size_t size = sizeof(*ranks) * (size_t)request->rank.nranks;
	ncclResult_t result;

	int err = socket_send(fd, request, sizeof(*request));
	if (!err)
		err = socket_receive(fd, &result, sizeof(result), -1, stop);
	if (!err && result != ncclSuccess) /* or something else listens there */
		return (unsigned int)result < ncclNumResults ? result : ncclRemoteError;
	if (!err)
		err = socket_receive(fd, ranks, size, -1, stop);
	if (err == -ECANCELED)
		return ncclInternalError;
	return err ? ncclRemoteError : ncclSuccess;
}

static ncclResult_t call_root(int *fd, const struct id *id, const atomic_bool *stop)
{
	if (id->mark != ID_MARK) {
		log_warn("this is no unique id of the stand-in NCCL");
		return ncclInvalidArgument;
	}
	ncclResult_t result = socket_connect(fd, &id->address, stop);
	if (result == ncclRemoteError)
		log_warn(
		    "nobody serves this unique id at %s: the process that called ncclGetUniqueId must be alive and "
		    "reachable, and the id must be new",
		    socket_text(&id->address).text);
	return result;
}

ncclResult_t meeting_join(const ncclUniqueId *unique, struct meeting_rank *ranks, int nranks, int rank,
			  const atomic_bool *stop)
{
	struct id id = id_read(unique);
	struct request request = { .secret = id.secret, .rank = ranks[rank] };
	int fd;

	ncclResult_t result = call_root(&fd, &id, stop);
	if (result != ncclSuccess)
		return result;
	result = ask(fd, &request, ranks, stop);
	close(fd);
	if (result != ncclSuccess)
		log_warn("rank %d of %d was refused: %s", rank, nranks, refusal(result));
	return result;
}

ncclResult_t meeting_call(int *fd, const ncclUniqueId *unique, const struct meeting_rank *callee, int caller,
			  const atomic_bool *stop)
{
	struct hello hello = { id_read(unique).secret, caller };
	ncclResult_t result = socket_connect(fd, &callee->address, stop);

	if (result != ncclSuccess)
		return result;
	int err = socket_send(*fd, &hello, sizeof(hello));
	if (!err)
		return ncclSuccess;
	log_warn("socketProgress: Call to send to %s failed : %s", socket_text(&callee->address).text, strerror(-err));
	close(*fd);
	return ncclRemoteError;
}

ncclResult_t meeting_answer(int *fd, const ncclUniqueId *unique, int listener, int *caller, const atomic_bool *stop)
{
	uint64_t secret = id_read(unique).secret;
	struct hello hello;

	while ((*fd = socket_accept(listener, ANSWER_LIMIT_MS, stop)) >= 0) {
		if (socket_receive(*fd, &hello, sizeof(hello), HELLO_LIMIT_MS, stop) == 0 && hello.secret == secret) {
			*caller = hello.caller;
			return ncclSuccess;
		}
		close(*fd);
	}
	log_warn("socketTryAccept: Accept failed: %s", strerror(-*fd));
	return ncclRemoteError;
}

void meeting_dismiss(const ncclUniqueId *unique)
{
	struct id id = id_read(unique);
	struct request request = { .secret = id.secret, .rank.nranks = DISMISSAL };
	int fd;

	if (call_root(&fd, &id, NULL) != ncclSuccess)
		return;
	socket_send(fd, &request, sizeof(request));
	close(fd);
}

uint64_t meeting_hash(const void *bytes, size_t size, uint64_t seed)
{
	const unsigned char *at = bytes;
	uint64_t hash = 0xcbf29ce484222325u ^ seed; /* FNV-1a */

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ at[i]) * 0x100000001b3u;
	return hash;
}
