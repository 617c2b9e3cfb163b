/* SPDX-License-Identifier: MIT */
#include "finding/board.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct board_entry *find(struct board *board, const char *id)
{
	for (size_t i = 0; i < board->count; i++)
		if (strcmp(board->entries[i].id, id) == 0)
			return &board->entries[i];
	return NULL;
}

static struct board_entry *add(struct board *board, const char *id)
{
	if (board->count == board->room) {
		size_t room = board->room ? board->room * 2 : 16;
		struct board_entry *entries = realloc(board->entries, room * sizeof(*entries));

		if (!entries)
			return NULL;
		board->entries = entries;
		board->room = room;
	}

	struct board_entry *entry = &board->entries[board->count++];

	*entry = (struct board_entry){ .severity = RW_NOTICE, .reported = RW_NOTICE };
	snprintf(entry->id, sizeof(entry->id), "%s", id);
	return entry;
}

/* Bad values that a rank makes after it was clean again are another finding with the same id. */
static bool is_another(const struct board_entry *before, const struct rw_finding *finding)
{
	return finding->values.present && before->first_seen_ns && !before->line &&
	       before->first_seen_ns != finding->first_seen_ns;
}

static void count_ended(struct board *board, struct board_entry *entry)
{
	board->ended[entry->severity]++;
	if (entry->severity > RW_NOTICE)
		board->ended_kinds[entry->kind]++;
	entry->severity = RW_NOTICE;
}

int board_put(struct board *board, const struct rw_finding *finding, const char *line)
{
	struct board_entry *entry = find(board, finding->id);

	if (!entry)
		entry = add(board, finding->id);
	if (!entry)
		return -ENOMEM;
	if (is_another(entry, finding))
		count_ended(board, entry);
	entry->first_seen_ns = finding->first_seen_ns;
	if (finding->severity > entry->severity)
		entry->severity = finding->severity;
	entry->kind = finding->kind;
	snprintf(entry->incident, sizeof(entry->incident), "%s",
		 finding->incident.id ? finding->incident.id : finding->id);
	free(entry->line);
	entry->line = finding->state == RW_FINDING_CLOSED ? NULL : strdup(line);
	return entry->line || finding->state == RW_FINDING_CLOSED ? 0 : -ENOMEM;
}

/* The highest severity at which they have heard of the entry's incident, through whichever finding of it. */
static enum rw_severity reported_of_incident(const struct board *board, const struct board_entry *entry)
{
	enum rw_severity reported = entry->reported;

	for (size_t i = 0; i < board->count; i++)
		if (strcmp(board->entries[i].incident, entry->incident) == 0 && board->entries[i].reported > reported)
			reported = board->entries[i].reported;
	return reported;
}

bool board_report(struct board *board, const struct rw_finding *finding)
{
	struct board_entry *entry = find(board, finding->id);
	enum rw_severity known = entry->reported;

	if (finding->state == RW_FINDING_CLOSED) {
		entry->reported = RW_NOTICE;
		return known != RW_NOTICE;
	}
	if (finding->severity <= reported_of_incident(board, entry))
		return false;
	entry->reported = finding->severity;
	return true;
}

size_t board_count(const struct board *board, enum rw_severity severity)
{
	size_t count = board->ended[severity];

	for (size_t i = 0; i < board->count; i++)
		count += board->entries[i].severity == severity;
	return count;
}

size_t board_closed(const struct board *board)
{
	size_t closed = board->ended[RW_WARNING] + board->ended[RW_CRITICAL];

	for (size_t i = 0; i < board->count; i++)
		closed += !board->entries[i].line && board->entries[i].severity >= RW_WARNING;
	return closed;
}

size_t board_count_kind(const struct board *board, enum rw_kind kind)
{
	size_t count = board->ended_kinds[kind];

	for (size_t i = 0; i < board->count; i++)
		count += board->entries[i].kind == kind && board->entries[i].severity > RW_NOTICE;
	return count;
}

size_t board_open(const struct board *board)
{
	size_t open = 0;

	for (size_t i = 0; i < board->count; i++)
		open += board->entries[i].line != NULL;
	return open;
}

void board_free(struct board *board)
{
	for (size_t i = 0; i < board->count; i++)
		free(board->entries[i].line);
	free(board->entries);
	*board = (struct board){ 0 };
}
