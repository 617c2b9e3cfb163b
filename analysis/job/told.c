/* SPDX-License-Identifier: MIT */
#include "analysis/job/told.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/report/naming.h"
#include "analysis/numbers/sorting.h"

static const uint8_t no_gpu[16];

struct record *told_new(const struct world *world, enum rw_kind kind, enum rw_scope scope, const uint32_t *ranks,
			uint32_t count)
{
	struct record_subject *subjects = calloc(count + 1, sizeof(*subjects));

	if (!subjects)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		const struct world_rank *rank = &world->ranks[ranks[i]];
		subjects[i] = (struct record_subject){
			.world_rank = (int32_t)ranks[i],
			.host = world->hosts[rank->host].name,
			.pid = rank->pid,
			.uuid = memcmp(rank->gpu, no_gpu, sizeof(no_gpu)) ? rank->gpu : NULL,
		};
	}
	struct record *record = record_new_named(kind, scope, subjects, count);
	free(subjects);
	if (!record)
		return NULL;
	snprintf(record->job, sizeof(record->job), "%s", world->job);
	record->finding.job.generation = world->generation;
	record->finding.job.ranks_seen = (int32_t)world->rank_count;
	record->finding.job.ranks_total = world->world_size;
	return record;
}

int told_set_waiting(struct record *record, const uint32_t *ranks, uint32_t count)
{
	int32_t *worlds = calloc(count + 1, sizeof(*worlds));

	if (!worlds)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		worlds[i] = (int32_t)ranks[i];
	sort_i32(worlds, count);
	int err = record_set_waiting_worlds(record, worlds, count);
	free(worlds);
	return err;
}

const char *told_comm_name(char *text, size_t room, const struct world_comm *comm)
{
	const char *number = naming_group_number(comm->name);

	if (naming_is_telling(comm->name))
		snprintf(text, room, "%s", comm->name);
	else if (comm->size && number)
		snprintf(text, room, "a communicator of %d ranks (group %s)", comm->size, number);
	else if (comm->size)
		snprintf(text, room, "a communicator of %d ranks", comm->size);
	else
		snprintf(text, room, "communicator %" PRIx64, comm->id);
	return text;
}

void told_set_operation(struct record *record, const struct world_comm *comm, uint8_t function, uint64_t sequence,
			enum rw_phase phase)
{
	struct rw_finding *finding = &record->finding;
	char what[192];

	told_comm_name(record->comm_name, sizeof(record->comm_name), comm);
	finding->operation.present = true;
	finding->operation.comm = comm->id;
	finding->operation.comm_name = record->comm_name;
	finding->operation.comm_size = comm->size ? comm->size : -1;
	finding->operation.function = function & (uint8_t)~RW_MESSAGE_APART;
	finding->operation.sequence = sequence;
	finding->operation.phase = phase;
	if (comm->size && (int32_t)comm->member_count < comm->size) {
		snprintf(what, sizeof(what),
			 "the hosts' messages name only %u of this communicator's %d ranks: " RECORD_UNSEEN_MEMBERS,
			 comm->member_count, comm->size);
		record_add_missing(record, what);
	}
}

const char *told_end(char *text, size_t room, const struct world_rank *rank)
{
	int status = rank->exit_status;

	if (status < 0)
		snprintf(text, room, rank->life == RW_MESSAGE_EXITED ? "exited" : "fell silent");
	else if (WIFSIGNALED(status))
		snprintf(text, room, "killed by signal %d", WTERMSIG(status));
	else
		snprintf(text, room, "exited with status %d", WEXITSTATUS(status));
	return text;
}

void told_set_cause(struct record *record, enum rw_cause_class class_, enum rw_level level, const char *text)
{
	snprintf(record->cause_text, sizeof(record->cause_text), "%s", text[0] ? text : "not known");
	record->finding.cause.present = true;
	record->finding.cause.class_ = class_;
	record->finding.cause.text = record->cause_text;
	record->finding.level = level;
}

const struct world_reason *told_set_reason(struct record *record, const struct world_rank *rank, uint64_t now_ns)
{
	const struct world_reason *reason = rank->reason;

	if (!reason || !reason->heard_ns || now_ns >= reason->heard_ns + TOLD_REASON_NS)
		return NULL;
	char text[sizeof(reason->text)], *rest = text, *line;
	memcpy(text, reason->text, sizeof(text));
	line = strsep(&rest, "\n");
	told_set_cause(record, reason->class_, reason->level, line ? line : "");
	while (rest && (line = strsep(&rest, "\n")))
		if (*line)
			record_add_evidence(record, "messages", -1, line);
	return reason;
}

void told_set_watchdog(struct record *record, uint32_t watchdog_ms, uint64_t waited_ns)
{
	struct rw_finding *finding = &record->finding;

	if (!watchdog_ms)
		return;
	finding->watchdog.present = true;
	finding->watchdog.timeout_ms = watchdog_ms;
	finding->watchdog.longest_wait_ms = (double)waited_ns / 1e6;
	double left_ms = watchdog_ms - (double)waited_ns / 1e6;
	finding->watchdog.left_ms = left_ms > 0 ? left_ms : 0;
}
