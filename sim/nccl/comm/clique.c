/* SPDX-License-Identifier: MIT */
#include "sim/nccl/comm/clique.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "sim/nccl/comm/comm.h"

#define ABORT_LOOK_NS 5000000 /* how often a wait looks whether its communicator was aborted */

struct clique {
	struct clique *next;
	ncclUniqueId id;
	struct ncclComm *members;
	unsigned int count, ended;
	uint64_t arrived; /* at all meetings so far, of all members */
	bool more[3];     /* somebody will come again; of the last meeting, this one and the next */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t moved = PTHREAD_COND_INITIALIZER;
static atomic_bool launches_together;
static struct clique *cliques;

static struct clique *find_or_add(const ncclUniqueId *id)
{
	struct clique *clique = cliques;

	while (clique && memcmp(&clique->id, id, sizeof(*id)) != 0)
		clique = clique->next;
	if (clique || !(clique = calloc(1, sizeof(*clique))))
		return clique;
	clique->id = *id;
	clique->next = cliques;
	cliques = clique;
	return clique;
}

ncclResult_t clique_join(struct ncclComm *comm, const ncclUniqueId *id)
{
	pthread_mutex_lock(&lock);
	struct clique *clique = find_or_add(id);
	if (clique) {
		struct ncclComm **at = &clique->members;
		while (*at)
			at = &(*at)->sibling;
		*at = comm;
		clique->count++;
	}
	comm->clique = clique;
	pthread_mutex_unlock(&lock);
	return clique ? ncclSuccess : ncclSystemError;
}

static void remove_clique(const struct clique *clique)
{
	struct clique **at = &cliques;

	while (*at != clique)
		at = &(*at)->next;
	*at = clique->next;
}

struct ncclComm *clique_leave(struct ncclComm *comm)
{
	struct clique *clique = comm->clique;
	struct ncclComm *members = NULL;

	if (!clique)
		return comm;
	pthread_mutex_lock(&lock);
	if (++clique->ended == clique->count) {
		members = clique->members;
		remove_clique(clique);
		free(clique);
	}
	pthread_mutex_unlock(&lock);
	return members;
}

/* NCCL's variable is the process's: the last communicator's init counts for all. */
void clique_read_mode(void)
{
	const char *text = getenv("NCCL_LAUNCH_MODE");

	atomic_store(&launches_together, text && strcasecmp(text, "GROUP") == 0);
}

/* Whoever arrives has heard what the last meeting said, so that of two meetings ago nobody asks any more. */
static void note_more(struct clique *clique, uint64_t meeting, bool more)
{
	clique->more[(meeting + 1) % 3] = false;
	clique->more[meeting % 3] |= more;
}

void clique_arrive(struct ncclComm *comm, bool more)
{
	if (!atomic_load(&launches_together) || !comm->clique)
		return;
	pthread_mutex_lock(&lock);
	comm->meetings++;
	comm->clique->arrived++;
	note_more(comm->clique, comm->meetings, more);
	pthread_cond_broadcast(&moved);
	pthread_mutex_unlock(&lock);
}

static void wait_a_moment(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += ABORT_LOOK_NS;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_cond_timedwait(&moved, &lock, &until);
}

/* Nobody comes to a meeting before the one before it is over, so that the sum says that all are there. */
bool clique_wait(const struct ncclComm *comm, bool *more)
{
	if (!atomic_load(&launches_together) || !comm->clique)
		return true;
	pthread_mutex_lock(&lock);
	while (comm->clique->arrived < comm->meetings * comm->clique->count && !atomic_load(&comm->stop))
		wait_a_moment();
	*more |= comm->clique->more[comm->meetings % 3];
	pthread_mutex_unlock(&lock);
	return !atomic_load(&comm->stop);
}
