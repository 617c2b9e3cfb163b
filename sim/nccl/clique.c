/* SPDX-License-Identifier: MIT */
#include "clique.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "comm.h"

struct clique {
	struct clique *next;
	ncclUniqueId id;
	struct ncclComm *members;
	unsigned int count, ended;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
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
