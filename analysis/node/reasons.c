/* SPDX-License-Identifier: MIT */
#include "analysis/node/reasons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/explain/gpu_evidence.h"
#include "analysis/measure/lateness.h"
#include "analysis/model.h"
#include "analysis/node/standing.h"
#include "analysis/explain/port_evidence.h"
#include "analysis/known/process.h"
#include "analysis/report/record.h"

enum { REASON_TEXT = RW_REASON_PIECES * RW_REASON_PIECE };

static struct reason_asked *find(struct reasons *reasons, uint32_t rank)
{
	for (uint32_t i = 0; i < reasons->count; i++)
		if (reasons->asked[i].rank == rank)
			return &reasons->asked[i];
	return NULL;
}

void reasons_ask(struct reasons *reasons, const struct job *job, const struct rw_message *message, uint64_t now_ns)
{
	for (uint32_t i = 0; i < job->rank_count && message->rank >= 0; i++) {
		const struct process *process = job->ranks[i].process;
		if (!roster_is_addressed(message, &job->ranks[i]) || process_is_dead(process))
			continue;
		struct reason_asked *asked = find(reasons, i);
		if (!asked && reasons->count < REASONS_MAX)
			asked = &reasons->asked[reasons->count++];
		if (!asked)
			return;
		if (asked->rank != i || asked->process != process || asked->id != process->id ||
		    now_ns >= asked->until_ns)
			*asked = (struct reason_asked){
				.rank = i, .process = process, .id = process->id, .answer_ns = now_ns + REASONS_EVERY_NS
			};
		asked->until_ns = now_ns + REASONS_FOR_NS;
		asked->of_host = message->ask.flags & RW_ASK_HOST;
	}
}

void reasons_note(struct reasons *reasons, const struct account_passage *passage)
{
	const struct communicator *communicator = passage->instance->communicator;
	const struct operation *operation = &passage->instance->operations[passage->member];
	struct reason_asked *asked = reasons->count ? find(reasons, communicator->members[passage->member].rank) : NULL;

	if (!asked || !passage->own_ns)
		return;
	uint64_t until_ns = passage->from_ns + passage->own_ns;
	bool by_host = operation->launch_ns > passage->from_ns + LATENESS_NOISE_NS;
	if (by_host && operation->launch_ns < until_ns)
		until_ns = operation->launch_ns;
	asked->tid = operation->tid;
	asked->stretches[asked->count++ % REASONS_STRETCHES] =
	    (struct reason_stretch){ .from_ns = passage->from_ns, .until_ns = until_ns, .by_host = by_host };
}

static uint64_t length_of(const struct reason_stretch *stretch)
{
	return stretch->until_ns - stretch->from_ns;
}

/* Longest first. */
static int by_length(const void *left, const void *right)
{
	uint64_t a = length_of(left), b = length_of(right);
	return (a < b) - (a > b);
}

/* Those in which the host launched late, to the front. */
static uint32_t keep_by_host(struct reason_stretch *stretches, uint32_t count)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (stretches[i].by_host)
			stretches[kept++] = stretches[i];
	return kept;
}

/* What a rank does longer than others stands out of its own stretches, or all of them are a little longer. */
static uint32_t find_windows(const struct reason_asked *asked, struct cause_window *windows, bool *by_host)
{
	struct reason_stretch stretches[REASONS_STRETCHES];
	uint32_t kept = asked->count < REASONS_STRETCHES ? asked->count : REASONS_STRETCHES, count = 0;
	uint64_t host_ns = 0, all_ns = 0;

	memcpy(stretches, asked->stretches, kept * sizeof(*stretches));
	if (asked->of_host)
		kept = keep_by_host(stretches, kept);
	qsort(stretches, kept, sizeof(*stretches), by_length);
	for (; count < kept && count < CAUSE_WINDOWS; count++) {
		const struct reason_stretch *stretch = &stretches[count];
		if ((double)length_of(stretch) < REASONS_LONG * (double)length_of(&stretches[0]))
			break;
		windows[count] = (struct cause_window){ stretch->from_ns, stretch->until_ns };
		host_ns += stretch->by_host ? length_of(stretch) : 0;
		all_ns += length_of(stretch);
	}
	*by_host = host_ns * 2 > all_ns;
	return count;
}

/* Autograd's thread launches what the main thread came to late. */
static void find_cause(const struct analysis *analysis, const struct process *process, uint32_t tid,
		       const struct cause_window *windows, uint32_t count, struct cause *cause)
{
	cause_find(&analysis->intern, process, tid, windows, count, cause);
	if (cause->class_ == RW_CAUSE_UNKNOWN && process->first_tid && process->first_tid != tid)
		cause_find(&analysis->intern, process, process->first_tid, windows, count, cause);
}

static const struct cause nothing = { .share = -1, .fd = -1 };

/* As of a straggler that the host finds itself: a device that is late while its host did all in time is no matter of
 * the threads. */
static void explain_lateness(const struct analysis *analysis, uint32_t rank, uint32_t tid,
			     const struct cause_window *windows, uint32_t count, bool by_host, struct cause *cause)
{
	uint64_t from_ns = windows[0].from_ns;

	for (uint32_t i = 1; i < count; i++)
		from_ns = windows[i].from_ns < from_ns ? windows[i].from_ns : from_ns;
	find_cause(analysis, analysis->job.ranks[rank].process, tid, windows, count, cause);
	if (by_host || cause->class_ == RW_CAUSE_STOPPED || cause->class_ == RW_CAUSE_CPU)
		return;
	enum rw_level seen = cause->seen;
	*cause = nothing;
	cause->seen = seen;
	gpu_evidence_explain(analysis, rank, windows, count, from_ns, cause);
}

static void append(char *text, const char *line)
{
	size_t used = strlen(text);

	if (used + strlen(line) + 2 <= REASON_TEXT)
		snprintf(text + used, REASON_TEXT - used, "%s\n", line);
}

static void write_reason(char *text, const struct record *record)
{
	const struct rw_finding *finding = &record->finding;
	char line[REASON_TEXT];

	text[0] = '\0';
	bool known = finding->cause.class_ != RW_CAUSE_UNKNOWN;
	if (known && record->path[0])
		snprintf(line, sizeof(line), "%s on %s", record->cause_text, record->path);
	else
		snprintf(line, sizeof(line), "%s", known ? record->cause_text : "");
	append(text, line);
	for (size_t i = 0; i < finding->evidence_count; i++) {
		snprintf(line, sizeof(line), "%s: %s", finding->evidence[i].source, finding->evidence[i].what);
		append(text, line);
	}
}

static void send(const struct rank *rank, const struct record *record, enum rw_late_kind late_kind,
		 struct outbox *outbox)
{
	char text[REASON_TEXT + 1];
	struct rw_message message;

	write_reason(text, record);
	size_t length = strlen(text);
	for (size_t at = 0; at < length; at += RW_REASON_PIECE) {
		if (!roster_address(&message, rank, RW_MESSAGE_REASON))
			return;
		message.reason = (struct rw_message_reason){
			.class_ = (uint8_t)record->finding.cause.class_,
			.level = (uint8_t)record->finding.level,
			.late_kind = (uint8_t)late_kind,
			.pieces = (uint8_t)((length + RW_REASON_PIECE - 1) / RW_REASON_PIECE),
			.piece = (uint8_t)(at / RW_REASON_PIECE),
		};
		memcpy(message.reason.text, text + at, length - at < RW_REASON_PIECE ? length - at : RW_REASON_PIECE);
		outbox_add(outbox, &message);
	}
}

static void answer(const struct reason_asked *asked, const struct analysis *analysis, struct outbox *outbox,
		   uint64_t now_ns)
{
	const struct rank *rank = &analysis->job.ranks[asked->rank];
	struct cause_window windows[CAUSE_WINDOWS] = { { standing_since(rank->process), now_ns } };
	bool silent = standing_is_silent(rank->process, now_ns), by_host = true;
	uint32_t count = silent ? 1 : find_windows(asked, windows, &by_host);
	struct record *record =
	    count ? record_new(&analysis->job, RW_KIND_STRAGGLER, RW_SCOPE_RANK, &asked->rank, 1) : NULL;
	struct cause cause = nothing;

	if (!record)
		return;
	if (silent)
		find_cause(analysis, rank->process, rank->process->enqueue_tid, windows, 1, &cause);
	else
		explain_lateness(analysis, asked->rank, asked->tid, windows, count, by_host, &cause);
	record_set_cause(record, &analysis->intern, rank->process, &cause);
	if (silent)
		gpu_evidence_explain_end(analysis, record, asked->rank, windows[0].from_ns);
	else
		gpu_evidence_attach(analysis, record, asked->rank, windows[0].from_ns, windows[0].to_ns);
	if (cause.class_ == RW_CAUSE_SOCKET)
		port_evidence_attach(analysis, record, windows[0].from_ns);
	send(rank, record, silent ? RW_LATE_NONE : by_host ? RW_LATE_HOST : RW_LATE_DEVICE, outbox);
	record_free(record);
}

/* Its entry may be another process's since. */
static bool is_there(const struct reason_asked *asked, const struct job *job)
{
	const struct process *process = asked->rank < job->rank_count ? job->ranks[asked->rank].process : NULL;

	return process && process == asked->process && process->id == asked->id && !process_is_dead(process);
}

void reasons_tick(struct reasons *reasons, const struct analysis *analysis, struct outbox *outbox, uint64_t now_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < reasons->count; i++) {
		struct reason_asked *asked = &reasons->asked[i];
		if (now_ns >= asked->until_ns || !is_there(asked, &analysis->job))
			continue;
		if (now_ns >= asked->answer_ns) {
			asked->answer_ns = now_ns + REASONS_EVERY_NS;
			answer(asked, analysis, outbox, now_ns);
		}
		if (kept != i)
			reasons->asked[kept] = *asked;
		kept++;
	}
	reasons->count = kept;
}

size_t reasons_suspects(const struct reasons *reasons, const struct analysis *analysis,
			struct analysis_suspect *suspects, size_t room)
{
	size_t count = 0;

	for (uint32_t i = 0; i < reasons->count; i++) {
		const struct reason_asked *asked = &reasons->asked[i];
		if (!is_there(asked, &analysis->job) || analysis->now_ns >= asked->until_ns)
			continue;
		if (count++ < room)
			suspects[count - 1] = (struct analysis_suspect){ .process = asked->id, .tid = asked->tid,
									 .since_ns = asked->until_ns - REASONS_FOR_NS };
	}
	return count;
}
