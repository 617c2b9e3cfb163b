/* SPDX-License-Identifier: MIT */
#include "analysis/host/children.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* What the pieces of some time say together. */
struct sum {
	uint64_t covered_ns, cpu_ns, bytes, disk_ns;
	const struct children_piece *pieces[CHILDREN_KEPT]; /* the latest first */
	uint32_t count;
};

int children_add(struct children **children, struct intern *intern, const struct analysis_children *seen)
{
	const struct analysis_child *busiest = &seen->busiest;

	if (!*children)
		*children = calloc(1, sizeof(**children));
	if (!*children)
		return -ENOMEM;
	struct children_piece *piece = &(*children)->pieces[(*children)->count++ % CHILDREN_KEPT];

	*piece = (struct children_piece){ .from_ns = seen->from_ns,
					  .at_ns = seen->at_ns,
					  .cpu_ns = seen->cpu_ns,
					  .bytes = seen->bytes,
					  .in_disk = seen->in_disk };
	piece->busiest.pid = busiest->pid;
	piece->busiest.name = intern_add(intern, busiest->name, sizeof(busiest->name));
	piece->busiest.is_child = busiest->is_child;
	piece->busiest.in_disk = busiest->in_disk;
	piece->busiest.cpu_ns = busiest->cpu_ns;
	piece->busiest.bytes = busiest->bytes;
	return 0;
}

static void sum_up(const struct children *children, uint64_t from_ns, uint64_t to_ns, struct sum *sum)
{
	uint64_t kept = !children ? 0 : children->count < CHILDREN_KEPT ? children->count : CHILDREN_KEPT;

	*sum = (struct sum){ 0 };
	for (uint64_t age = 0; age < kept; age++) {
		const struct children_piece *piece = &children->pieces[(children->count - 1 - age) % CHILDREN_KEPT];
		uint64_t long_ns = piece->at_ns - piece->from_ns;

		if (piece->at_ns <= from_ns || piece->from_ns >= to_ns)
			continue;
		sum->pieces[sum->count++] = piece;
		sum->covered_ns += long_ns;
		sum->cpu_ns += piece->cpu_ns;
		sum->bytes += piece->bytes;
		sum->disk_ns += piece->in_disk ? long_ns : 0;
	}
}

static double share_of(uint64_t part_ns, uint64_t all_ns)
{
	return all_ns ? (double)part_ns / (double)all_ns : 0;
}

static double bytes_a_second(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes * 1e9 / (double)ns : 0;
}

static bool computes(const struct sum *sum)
{
	return sum->count && share_of(sum->cpu_ns, sum->covered_ns) >= CHILDREN_CPU;
}

static bool transfers(const struct sum *sum)
{
	return sum->count && bytes_a_second(sum->bytes, sum->covered_ns) >= CHILDREN_BYTES;
}

bool children_get_on(const struct children *children, uint64_t from_ns, uint64_t to_ns)
{
	struct sum sum;

	sum_up(children, from_ns, to_ns, &sum);
	return computes(&sum) || transfers(&sum) ||
	       (sum.count && share_of(sum.disk_ns, sum.covered_ns) >= CHILDREN_DISK);
}

/* The process that the pieces show most; NULL: those that used most have ended. *cpu_ns, *bytes: what it used in
 * these. */
static const struct children_piece *busiest_of(const struct sum *sum, uint64_t *cpu_ns, uint64_t *bytes)
{
	const struct children_piece *best = NULL;
	uint64_t best_times = 0;

	*cpu_ns = *bytes = 0;
	for (uint32_t i = 0; i < sum->count; i++) {
		const struct children_piece *piece = sum->pieces[i];
		uint64_t own_cpu_ns = 0, own_bytes = 0, times = 0;

		for (uint32_t k = 0; k < sum->count; k++) {
			if (sum->pieces[k]->busiest.pid != piece->busiest.pid)
				continue;
			own_cpu_ns += sum->pieces[k]->busiest.cpu_ns;
			own_bytes += sum->pieces[k]->busiest.bytes;
			times++;
		}
		if (best && (own_cpu_ns < *cpu_ns || (own_cpu_ns == *cpu_ns && times <= best_times)))
			continue;
		best = piece;
		best_times = times;
		*cpu_ns = own_cpu_ns;
		*bytes = own_bytes;
	}
	return best && best->busiest.pid ? best : NULL;
}

static void describe_many(const struct sum *sum, const char *who, char *text, size_t room)
{
	double cpu = 100 * share_of(sum->cpu_ns, sum->covered_ns);

	if (*who)
		snprintf(text, room, "its child processes use %.0f %% of a CPU, most of it %s", cpu, who);
	else
		snprintf(text, room, "its child processes use %.0f %% of a CPU; those that used most have ended", cpu);
}

void children_describe(const struct children *children, const struct intern *intern, uint64_t from_ns, uint64_t to_ns,
		       char *text, size_t room)
{
	struct sum sum;
	uint64_t cpu_ns, bytes;
	char who[64] = "";

	sum_up(children, from_ns, to_ns, &sum);
	const struct children_piece *busiest = busiest_of(&sum, &cpu_ns, &bytes);

	if (busiest)
		snprintf(who, sizeof(who), "its %s %d \"%s\"", busiest->busiest.is_child ? "child" : "descendant",
			 busiest->busiest.pid, intern_text(intern, busiest->busiest.name));
	if (computes(&sum) && (!busiest || cpu_ns * 5 < sum.cpu_ns * 4))
		describe_many(&sum, who, text, room);
	else if (computes(&sum))
		snprintf(text, room, "%s uses %.0f %% of a CPU", who, 100 * share_of(cpu_ns, sum.covered_ns));
	else if (transfers(&sum))
		snprintf(text, room, "%s reads and writes %.1f MB a second",
			 busiest ? who : "its child processes, of which some have ended,",
			 bytes_a_second(busiest ? bytes : sum.bytes, sum.covered_ns) / 1e6);
	else
		snprintf(text, room, "%s waits for a disk, or for what else cannot be interrupted",
			 busiest ? who : "a child process of it");
}
