/* SPDX-License-Identifier: MIT */
#include "analysis/host/other_looks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/explain/cause.h"
#include "analysis/host/system_calls.h"

/* The looks at one process within some windows. */
struct selection {
	const struct other_look *looks[OTHER_LOOKS]; /* the latest first */
	uint32_t count;
};

int other_looks_add(struct other_looks **looks, struct intern *intern, const struct analysis_other *seen)
{
	if (!*looks)
		*looks = calloc(1, sizeof(**looks));
	if (!*looks)
		return -ENOMEM;
	(*looks)->looks[(*looks)->count++ % OTHER_LOOKS] =
	    (struct other_look){ .at_ns = seen->at_ns,
				 .cpu_ns = seen->cpu_ns,
				 .run_queue_ns = seen->run_queue_ns,
				 .pid = seen->pid,
				 .tid = seen->tid,
				 .waiting_tid = seen->waiting_tid,
				 .name = intern_add(intern, seen->name, sizeof(seen->name)),
				 .system_call = seen->system_call,
				 .path = intern_add(intern, seen->path, sizeof(seen->path)),
				 .state = seen->state,
				 .is_child = seen->is_child,
				 .held_at_fork = seen->held_at_fork };
	return 0;
}

static uint64_t kept(const struct other_looks *looks)
{
	return !looks ? 0 : looks->count < OTHER_LOOKS ? looks->count : OTHER_LOOKS;
}

static const struct other_look *look_at(const struct other_looks *looks, uint64_t age)
{
	return &looks->looks[(looks->count - 1 - age) % OTHER_LOOKS];
}

const struct other_look *other_looks_latest(const struct other_looks *looks, int32_t pid)
{
	for (uint64_t age = 0; age < kept(looks); age++)
		if (look_at(looks, age)->pid == pid)
			return look_at(looks, age);
	return NULL;
}

static bool is_within(uint64_t at_ns, const struct cause_window *windows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (at_ns >= windows[i].from_ns && at_ns <= windows[i].to_ns)
			return true;
	return false;
}

int32_t other_looks_awaited(const struct other_looks *looks, uint32_t waiting_tid, const struct cause_window *windows,
			    uint32_t count)
{
	uint32_t all = 0, own = 0;
	int32_t pid = 0;

	for (uint64_t age = 0; waiting_tid && age < kept(looks); age++) {
		const struct other_look *look = look_at(looks, age);

		if (look->waiting_tid != waiting_tid || !is_within(look->at_ns, windows, count))
			continue;
		pid = pid ? pid : look->pid;
		all++;
		own += look->pid == pid;
	}
	return own >= OTHER_LOOKS_LEAST && (double)own >= CAUSE_ONE_PROCESS * (double)all ? pid : 0;
}

static void select_looks(struct selection *selection, const struct other_looks *looks, int32_t pid,
			 const struct cause_window *windows, uint32_t count)
{
	selection->count = 0;
	for (uint64_t age = 0; age < kept(looks); age++)
		if (look_at(looks, age)->pid == pid && is_within(look_at(looks, age)->at_ns, windows, count))
			selection->looks[selection->count++] = look_at(looks, age);
}

static bool is_mostly(const struct selection *selection, uint32_t times)
{
	return times >= OTHER_LOOKS_LEAST && (double)times > OTHER_LOOKS_SHARE * (double)selection->count;
}

static uint32_t count_state(const struct selection *selection, char state)
{
	uint32_t times = 0;

	for (uint32_t i = 0; i < selection->count; i++)
		times += selection->looks[i]->state == state;
	return times;
}

static bool is_held_at_fork(const struct selection *selection)
{
	uint32_t times = 0;

	for (uint32_t i = 0; i < selection->count; i++)
		times += selection->looks[i]->held_at_fork;
	return is_mostly(selection, times);
}

bool other_looks_held_at_fork(const struct other_looks *looks, int32_t pid, const struct cause_window *windows,
			      uint32_t count)
{
	struct selection selection;

	select_looks(&selection, looks, pid, windows, count);
	return is_held_at_fork(&selection);
}

/* State R is of a thread that has a CPU and of one that waits for one: the counters tell which it was. */
static bool lacks_cpu(const struct selection *selection)
{
	const struct other_look *last = selection->looks[0], *first = last;

	for (uint32_t i = 1; i < selection->count; i++)
		if (selection->looks[i]->tid == last->tid)
			first = selection->looks[i];
	return last->run_queue_ns > first->run_queue_ns && last->cpu_ns >= first->cpu_ns &&
	       last->run_queue_ns - first->run_queue_ns > last->cpu_ns - first->cpu_ns;
}

static bool waits_in(const struct other_look *look, int32_t system_call)
{
	return look->state != 'R' && look->system_call == system_call;
}

/* The system call that most of the looks show, NULL: none is. *path: its file, 0 where it was not always the same. */
static const struct system_call *usual_call(const struct selection *selection, intern_id *path)
{
	for (uint32_t i = 0; i < selection->count; i++) {
		const struct other_look *look = selection->looks[i];
		const struct system_call *call = system_call_find(look->system_call);
		uint32_t times = 0;
		bool same = true;

		for (uint32_t k = 0; call && k < selection->count; k++) {
			times += waits_in(selection->looks[k], call->number);
			same &= !waits_in(selection->looks[k], call->number) || selection->looks[k]->path == look->path;
		}
		if (!call || !waits_in(look, call->number) || !is_mostly(selection, times))
			continue;
		*path = same ? look->path : 0;
		return call;
	}
	return NULL;
}

/* Of a path that is too long the end says most. */
static void write_call(char *text, size_t room, const struct system_call *call, const char *path)
{
	int used = snprintf(text, room, "is in %s(2)", call->name);
	size_t length = strlen(path), left = used > 0 && (size_t)used < room ? room - (size_t)used : 0;
	static const char on[] = " on ", cut[] = "…";

	if (!length || left <= sizeof(on) + sizeof(cut))
		return;
	if (length + sizeof(on) <= left) {
		snprintf(text + used, left, "%s%s", on, path);
		return;
	}
	const char *end = path + length + sizeof(on) + sizeof(cut) - 1 - left;
	while ((*end & 0xc0) == 0x80) /* not within a character */
		end++;
	snprintf(text + used, left, "%s%s%s", on, cut, end);
}

void other_looks_describe(const struct other_looks *looks, const struct intern *intern, int32_t pid,
			  const struct cause_window *windows, uint32_t count, char *text, size_t room)
{
	struct selection selection;
	const struct system_call *call;
	intern_id path = 0;

	*text = '\0';
	select_looks(&selection, looks, pid, windows, count);
	if (is_mostly(&selection, count_state(&selection, 'R')))
		snprintf(text, room, lacks_cpu(&selection) ? "waits for a CPU" : "computes");
	else if (is_mostly(&selection, count_state(&selection, 'T') + count_state(&selection, 't')))
		snprintf(text, room, "is stopped");
	else if (is_held_at_fork(&selection))
		snprintf(text, room,
			 "is in futex(2) for a lock that was held when it was forked: it has no other thread that "
			 "could release it");
	else if ((call = usual_call(&selection, &path)))
		write_call(text, room, call, intern_text(intern, path));
}
