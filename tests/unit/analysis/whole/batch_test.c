/* SPDX-License-Identifier: MIT */
/* Which messages of other hosts are believed: of each field the last value that is right, and the first that is not. */
#include <criterion/criterion.h>

#include <stddef.h>
#include <string.h>

#include <rankwatch/finding.h>
#include <rankwatch/operation.h>

#include "analysis/batch.h"

enum { ROOM = RW_BATCH_MAX + RW_MESSAGE_SIZE };

static union {
	struct rw_batch header;
	unsigned char bytes[ROOM];
} batch;

static struct rw_message right(uint8_t type)
{
	struct rw_message message = { .type = type, .function = RW_FUNCTION_ALL_REDUCE };

	if (type == RW_MESSAGE_REASON)
		message.reason.pieces = RW_REASON_PIECES;
	if (type == RW_MESSAGE_RESULTS)
		message.results.operations = 1;
	if (type == RW_MESSAGE_INIT)
		message.init = (struct rw_message_init){ .size = 4, .comm_rank = 1, .world_size = 8 };
	if (type == RW_MESSAGE_ROW)
		message.row = (struct rw_message_row){ .row = 7, .calls = 4, .steps = 2 };
	if (type == RW_MESSAGE_ABSENT)
		message.absent.absence = RW_MESSAGE_ABSENT_IDLE;
	return message;
}

static bool is_believed(const struct rw_message *message)
{
	struct rw_message copy;

	memset(&batch, 0xff, sizeof(batch));
	memcpy(batch.bytes + sizeof(batch.header) + RW_MESSAGE_SIZE, message, sizeof(*message));
	bool believed = batch_message(&batch, 1, &copy);
	cr_expect_eq(memcmp(&copy, message, sizeof(copy)), 0, "a copy of the second one");
	return believed;
}

#define FIELD(member) #member, offsetof(struct rw_message, member), sizeof(((struct rw_message *)0)->member)

Test(batch, a_field_holds_what_it_can_mean_and_no_more)
{
	static const struct {
		uint8_t type;
		const char *name;
		size_t at, width;
		int32_t last_right, first_wrong;
	} fields[] = {
		{ RW_MESSAGE_RANK, FIELD(of_rank.life), RW_MESSAGE_KILLED, RW_MESSAGE_KILLED + 1 },
		{ RW_MESSAGE_MEMBER, FIELD(member.size), 0, -1 },
		{ RW_MESSAGE_MEMBER, FIELD(member.comm_rank), 0, -1 },
		{ RW_MESSAGE_ROW, FIELD(function), RW_FUNCTION_COUNT - 1, RW_FUNCTION_COUNT },
		{ RW_MESSAGE_ROW, FIELD(function), RW_MESSAGE_APART | 1, RW_MESSAGE_APART },
		{ RW_MESSAGE_ROW, FIELD(function), 1, 0 },
		{ RW_MESSAGE_ROW, FIELD(row.row), 1, 0 },
		{ RW_MESSAGE_ROW, FIELD(row.steps), 0, 5 },
		{ RW_MESSAGE_ROW, FIELD(row.steps), 4, 3 },
		{ RW_MESSAGE_ROW, FIELD(row.calls), 6, 5 },
		{ RW_MESSAGE_ROW, FIELD(row.calls), 2, 0 },
		{ RW_MESSAGE_RESULTS, FIELD(function), RW_FUNCTION_COUNT - 1, RW_FUNCTION_COUNT },
		{ RW_MESSAGE_RESULTS, FIELD(function), 1, 0 },
		{ RW_MESSAGE_INIT, FIELD(init.size), 2, 1 },
		{ RW_MESSAGE_INIT, FIELD(init.size), 8, 9 },
		{ RW_MESSAGE_INIT, FIELD(init.comm_rank), 3, 4 },
		{ RW_MESSAGE_INIT, FIELD(init.comm_rank), 0, -1 },
		{ RW_MESSAGE_INIT, FIELD(init.life), RW_MESSAGE_KILLED, RW_MESSAGE_KILLED + 1 },
		{ RW_MESSAGE_INIT, FIELD(rank), 7, 8 },
		{ RW_MESSAGE_ABSENT, FIELD(absent.absence), RW_MESSAGE_ABSENT_STOPPED, RW_MESSAGE_ABSENT_STOPPED - 1 },
		{ RW_MESSAGE_ABSENT, FIELD(absent.absence), RW_MESSAGE_ABSENT_PASSED, RW_MESSAGE_ABSENT_PASSED + 1 },
		{ RW_MESSAGE_ABSENT, FIELD(absent.level), RW_LEVEL_EBPF, RW_LEVEL_EBPF + 1 },
		{ RW_MESSAGE_ABSENT, FIELD(absent.class_), RW_CAUSE_COUNT - 1, RW_CAUSE_COUNT },
		{ RW_MESSAGE_RESULTS, FIELD(results.operations), RW_RESULTS_ROW, RW_RESULTS_ROW + 1 },
		{ RW_MESSAGE_RESULTS, FIELD(results.operations), 1, 0 },
		{ RW_MESSAGE_CALLS, FIELD(function), 0, RW_FUNCTION_COUNT },
		{ RW_MESSAGE_CALLS, FIELD(function), RW_FUNCTION_COUNT - 1, RW_MESSAGE_APART },
		{ RW_MESSAGE_FLIGHT, FIELD(function), RW_FUNCTION_COUNT - 1, 0 },
		{ RW_MESSAGE_FLIGHT, FIELD(flight.phase), RW_PHASE_RUNNING, RW_PHASE_RUNNING + 1 },
		{ RW_MESSAGE_FLIGHT, FIELD(flight.dtype), RW_DTYPE_COUNT - 1, RW_DTYPE_COUNT },
		{ RW_MESSAGE_WHY, FIELD(why.progress), RW_MESSAGE_STANDS, RW_MESSAGE_STANDS + 1 },
		{ RW_MESSAGE_WHY, FIELD(why.level), RW_LEVEL_EBPF, RW_LEVEL_EBPF + 1 },
		{ RW_MESSAGE_WHY, FIELD(why.class_), RW_CAUSE_COUNT - 1, RW_CAUSE_COUNT },
		{ RW_MESSAGE_FINDING, FIELD(finding.kind), RW_KIND_COUNT - 1, RW_KIND_COUNT },
		{ RW_MESSAGE_FINDING, FIELD(finding.state), RW_FINDING_CLOSED, RW_FINDING_CLOSED + 1 },
		{ RW_MESSAGE_FINDING, FIELD(finding.severity), RW_CRITICAL, RW_CRITICAL + 1 },
		{ RW_MESSAGE_FINDING, FIELD(finding.confidence), RW_INCONCLUSIVE, RW_INCONCLUSIVE + 1 },
		{ RW_MESSAGE_FINDING, FIELD(finding.scope), RW_SCOPE_JOB, RW_SCOPE_JOB + 1 },
		{ RW_MESSAGE_FINDING, FIELD(finding.class_), RW_CAUSE_COUNT - 1, RW_CAUSE_COUNT },
		{ RW_MESSAGE_FINDING, FIELD(finding.late_kind), RW_LATE_TRANSFER, RW_LATE_TRANSFER + 1 },
		{ RW_MESSAGE_REASON, FIELD(reason.class_), RW_CAUSE_COUNT - 1, RW_CAUSE_COUNT },
		{ RW_MESSAGE_REASON, FIELD(reason.level), RW_LEVEL_EBPF, RW_LEVEL_EBPF + 1 },
		{ RW_MESSAGE_REASON, FIELD(reason.late_kind), RW_LATE_TRANSFER, RW_LATE_TRANSFER + 1 },
		{ RW_MESSAGE_REASON, FIELD(reason.pieces), RW_REASON_PIECES, RW_REASON_PIECES + 1 },
		{ RW_MESSAGE_REASON, FIELD(reason.piece), RW_REASON_PIECES - 1, RW_REASON_PIECES },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		struct rw_message message = right(fields[i].type);
		cr_expect(is_believed(&message), "of type %d", fields[i].type);
		memcpy((char *)&message + fields[i].at, &fields[i].last_right, fields[i].width);
		cr_expect(is_believed(&message), "%s %d", fields[i].name, fields[i].last_right);
		memcpy((char *)&message + fields[i].at, &fields[i].first_wrong, fields[i].width);
		cr_expect_not(is_believed(&message), "%s %d", fields[i].name, fields[i].first_wrong);
	}
}

Test(batch, a_text_has_an_end)
{
	static const struct {
		uint8_t type;
		const char *name;
		size_t at, width;
	} texts[] = {
		{ RW_MESSAGE_MEMBER, FIELD(member.name) },
		{ RW_MESSAGE_WHY, FIELD(why.text) },
		{ RW_MESSAGE_ABSENT, FIELD(absent.text) },
		{ RW_MESSAGE_FINDING, FIELD(finding.cause) },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct rw_message message = right(texts[i].type);
		char *text = (char *)&message + texts[i].at;
		memset(text, 'x', texts[i].width - 1);
		cr_expect(is_believed(&message), "%s", texts[i].name);
		text[texts[i].width - 1] = 'x';
		cr_expect_not(is_believed(&message), "%s", texts[i].name);
	}
}

Test(batch, other_types_are_not_believed)
{
	for (int type = 0; type < 256; type++) {
		struct rw_message message = right((uint8_t)type);
		cr_expect_eq(is_believed(&message), type >= RW_MESSAGE_RANK && type < RW_MESSAGE_TYPES && type != 3, "%d", type);
	}
}

static const char *refused(size_t length)
{
	struct rw_batch copy;
	const char *why = batch_refuse(&batch, length, &copy);

	return why ? why : "";
}

static void start(void)
{
	memset(&batch, 0, sizeof(batch));
	batch.header = (struct rw_batch){ .magic = RW_BATCH_MAGIC, .version = RW_BATCH_VERSION, .host = "a", .job = "j" };
}

Test(batch, has_as_many_messages_as_it_says)
{
	enum { HEADER = sizeof(struct rw_batch), MOST = (RW_BATCH_MAX - HEADER) / RW_MESSAGE_SIZE };

	start();
	cr_expect_str_eq(refused(HEADER), "");
	cr_expect_str_eq(refused(HEADER - 1), "it is shorter than a batch's header");
	cr_expect_str_eq(refused(HEADER + 1), "its length is not that of the messages that it says it has");
	cr_expect_str_eq(refused(HEADER + RW_MESSAGE_SIZE), "its length is not that of the messages that it says it has");
	batch.header.count = MOST;
	cr_expect_str_eq(refused(HEADER + MOST * RW_MESSAGE_SIZE), "");
	cr_expect_str_eq(refused(HEADER + MOST * RW_MESSAGE_SIZE - 1),
			 "its length is not that of the messages that it says it has");
	batch.header.count = MOST + 1;
	cr_expect_str_eq(refused(HEADER + (MOST + 1) * RW_MESSAGE_SIZE), "it is longer than a batch may be");
}

Test(batch, says_what_it_is_and_of_whom)
{
	start();
	batch.header.magic++;
	cr_expect_str_eq(refused(sizeof(batch.header)), "it is no batch of messages");
	start();
	batch.header.version++;
	cr_expect_str_eq(refused(sizeof(batch.header)), "its layout is of another version of rankwatch");
	start();
	batch.header.host[0] = 0;
	cr_expect_str_eq(refused(sizeof(batch.header)), "it does not say of which host it is");
	start();
	memset(batch.header.host, 'a', sizeof(batch.header.host) - 1);
	memset(batch.header.job, 'j', sizeof(batch.header.job) - 1);
	cr_expect_str_eq(refused(sizeof(batch.header)), "");
	batch.header.host[sizeof(batch.header.host) - 1] = 'a';
	cr_expect_str_eq(refused(sizeof(batch.header)), "the name of its host or job has no end");
	batch.header.host[sizeof(batch.header.host) - 1] = 0;
	batch.header.job[sizeof(batch.header.job) - 1] = 'j';
	cr_expect_str_eq(refused(sizeof(batch.header)), "the name of its host or job has no end");
}
