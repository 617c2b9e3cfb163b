/* SPDX-License-Identifier: MIT */
/* Whom clients belong to: what all of one user's may take together, so that no user has what others need. Root is bound
 * only by what there is. */
#ifndef HELPER_USER_H
#define HELPER_USER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ebpf/probes.h"

enum {
	USER_WATCHES_MOST = 512, /* half of the processes that the kernel's map holds */
	USER_SHARE = 10,	 /* percent of a core for this user's questions, in the long run … */
	USER_BURST_MS = 100,	 /* … and so much CPU time at once */
};

struct user {
	uid_t uid;
	unsigned clients; /* 0: this place is free */
	unsigned watches;
	uint32_t owner;	  /* its number in probes_watch_for() */
	uint64_t lost_before; /* what probes_lost_by() said of this place when the user came */
	uint64_t spent_ns, seen_ns;
};

struct users {
	struct user places[PROBES_OWNERS];
};

/* One client more. NULL: there are as many users as can be told apart. lost: probes_lost_by() of this owner. */
struct user *user_enter(struct users *users, uid_t uid, uint64_t (*lost)(void *argument, uint32_t owner),
			void *argument);
void user_leave(struct user *user);
bool user_may_watch(const struct user *user);
/* What a question took, at now_ns (CLOCK_MONOTONIC). */
void user_pay(struct user *user, uint64_t cost_ns, uint64_t now_ns);
/* Is the next question answered now, or later? */
bool user_may_ask(struct user *user, uint64_t now_ns);

#endif
