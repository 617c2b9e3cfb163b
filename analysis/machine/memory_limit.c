/* SPDX-License-Identifier: MIT */
#include "analysis/machine/memory_limit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/model.h"
#include "analysis/report/naming.h"
#include "analysis/report/record.h"

/* GPUs have the small numbers of this kind. */
static const uint32_t first_subject = 1u << 31;

static struct memory_group *find_or_add(struct memory_groups *groups, const struct analysis_memory_state *state)
{
	for (uint32_t i = 0; i < groups->count; i++)
		if (groups->items[i].id == state->group)
			return &groups->items[i];
	struct memory_group *items = realloc(groups->items, (groups->count + 1) * sizeof(*items));
	if (!items)
		return NULL;
	groups->items = items;
	items[groups->count] = (struct memory_group){ .id = state->group, .hits = state->hits };
	return &items[groups->count++];
}

int memory_limit_note(struct memory_groups *groups, struct process *process, const struct analysis_memory_state *state)
{
	struct memory_group *group = find_or_add(groups, state);

	if (!group)
		return -ENOMEM;
	process->memory_group = state->group;
	group->limit = state->limit;
	group->held = state->held;
	if ((state->hits > group->hits || state->full) &&
	    (double)state->held >= MEMORY_LIMIT_SHARE * (double)state->limit)
		group->times[group->count++ % MEMORY_LIMIT_HITS] = state->at_ns;
	group->hits = state->hits;
	return 0;
}

static void say(struct record *record, const struct memory_group *group)
{
	bool small = group->limit < UINT64_C(10) << 30;
	char who[128];

	naming_ranks(who, sizeof(who), record->finding.ranks, record->finding.rank_count);
	snprintf(record->text, sizeof(record->text),
		 "%s: %s cgroup is at its memory limit (%.0f %s), %.0f %% of it is no cache", who,
		 record->finding.rank_count == 1 ? "its" : "their", (double)group->limit / (small ? 1 << 20 : 1 << 30),
		 small ? "MiB" : "GiB", 100 * (double)group->held / (double)group->limit);
	record_set_words(record, RW_CAUSE_MEMORY,
			 "little memory is left to reclaim: swapping or the OOM killer come next",
			 "raise the limit (memory.max, sbatch --mem, the pod's), or use less: loader workers, pinned "
			 "memory, /dev/shm");
}

static void tell(struct analysis *analysis, const struct memory_group *group, uint32_t subject, uint64_t now_ns)
{
	uint32_t *ranks = calloc(analysis->job.rank_count + 1, sizeof(*ranks)), count = 0;

	for (uint32_t i = 0; ranks && i < analysis->job.rank_count; i++)
		if (analysis->job.ranks[i].process->memory_group == group->id)
			ranks[count++] = i;
	struct record *record = count ? record_new(&analysis->job, RW_KIND_MEMORY, RW_SCOPE_RANK, ranks, count) : NULL;
	free(ranks);
	if (!record)
		return;
	record->subject = subject;
	record->finding.severity = RW_WARNING;
	record->finding.confidence = RW_CERTAIN;
	record->finding.first_seen_ns = group->times[group->count % MEMORY_LIMIT_HITS];
	record->finding.detect_ms = (double)(now_ns - record->finding.first_seen_ns) / 1e6;
	say(record, group);
	findings_tell(&analysis->findings, record, now_ns);
}

void memory_limit_tick(struct analysis *analysis, uint64_t now_ns)
{
	for (uint32_t i = 0; i < analysis->memory.count; i++) {
		const struct memory_group *group = &analysis->memory.items[i];
		uint32_t subject = first_subject + i;
		bool open = findings_open(&analysis->findings, RW_KIND_MEMORY, subject) != NULL;

		if (group->count < MEMORY_LIMIT_HITS)
			continue;
		uint64_t first_ns = group->times[group->count % MEMORY_LIMIT_HITS];
		uint64_t last_ns = group->times[(group->count - 1) % MEMORY_LIMIT_HITS];
		if (open && now_ns >= last_ns + MEMORY_LIMIT_CLEAN_NS)
			findings_close(&analysis->findings, RW_KIND_MEMORY, subject, now_ns);
		else if (!open && last_ns <= first_ns + MEMORY_LIMIT_HITS_NS && now_ns < last_ns + MEMORY_LIMIT_HITS_NS)
			tell(analysis, group, subject, now_ns);
	}
}

void memory_limit_free(struct memory_groups *groups)
{
	free(groups->items);
	*groups = (struct memory_groups){ 0 };
}
