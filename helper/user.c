/* SPDX-License-Identifier: MIT */
#include "helper/user.h"

#include <stddef.h>

static struct user *find(struct users *users, uid_t uid)
{
	struct user *free_place = NULL;

	for (size_t i = 0; i < PROBES_OWNERS; i++) {
		struct user *user = &users->places[i];

		if (user->clients && user->uid == uid)
			return user;
		if (!user->clients && !free_place)
			free_place = user;
	}
	return free_place;
}

struct user *user_enter(struct users *users, uid_t uid, uint64_t (*lost)(void *argument, uint32_t owner),
			void *argument)
{
	struct user *user = find(users, uid);

	if (!user)
		return NULL;
	if (!user->clients) {
		uint32_t owner = (uint32_t)(user - users->places);

		/* A user who leaves and comes again owes what he owed. */
		if (user->uid != uid || !user->seen_ns)
			*user = (struct user){ .uid = uid };
		user->owner = owner;
		user->lost_before = lost(argument, owner);
	}
	user->clients++;
	return user;
}

void user_leave(struct user *user)
{
	user->clients--;
}

bool user_may_watch(const struct user *user)
{
	return user->uid == 0 || user->watches < USER_WATCHES_MOST;
}

static void settle(struct user *user, uint64_t now_ns)
{
	uint64_t paid_ns = (now_ns - user->seen_ns) / 100 * USER_SHARE;

	user->spent_ns -= paid_ns < user->spent_ns ? paid_ns : user->spent_ns;
	user->seen_ns = now_ns;
}

void user_pay(struct user *user, uint64_t cost_ns, uint64_t now_ns)
{
	settle(user, now_ns);
	user->spent_ns += cost_ns;
}

bool user_may_ask(struct user *user, uint64_t now_ns)
{
	settle(user, now_ns);
	return user->uid == 0 || user->spent_ns < USER_BURST_MS * UINT64_C(1000000);
}
