/* SPDX-License-Identifier: MIT */
#include "analysis/job/order.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/search.h"
#include "analysis/job/told.h"
#include "analysis/job/votes.h"
#include "analysis/known/alignment.h"
#include "analysis/report/naming.h"
#include "analysis/report/text.h"

/* Calls of members at one place. */
struct parting {
	const struct world_comm *comm;
	uint64_t calls;
	struct votes votes; /* hashes */
};

static const struct world_order *order_at(const struct world_member *member, uint64_t calls)
{
	for (uint32_t i = 0; member->orders && i < WORLD_ORDERS; i++)
		if (member->orders->newest[i].calls == calls)
			return &member->orders->newest[i];
	return NULL;
}

static void gather(struct parting *parting, const struct world_comm *comm, uint64_t calls)
{
	struct votes *votes = &parting->votes;

	parting->comm = comm;
	parting->calls = calls;
	votes->count = 0;
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_order *order = order_at(&comm->members[i], calls);
		if (order)
			votes->cast[votes->count++] = (struct vote){ .value = order->hash, .rank = comm->members[i].rank };
	}
	votes_count(votes);
}

/* More than half of all ranks of the communicator must have made the same calls before the others are named. */
static bool has_majority(const struct parting *parting)
{
	return votes_have_majority(&parting->votes, parting->comm);
}

static bool is_settled(const struct parting *parting, uint64_t parted_ns, uint64_t now_ns)
{
	uint64_t wait_ns = has_majority(parting) ? ORDER_SETTLE_NS : ORDER_UNSURE_NS;

	return parting->votes.usual_count < parting->votes.count && now_ns >= parted_ns + wait_ns;
}

/* The first place where it can be told. False: not yet. */
static bool find_parting(const struct world_comm *comm, struct parting *parting, uint64_t now_ns)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < WORLD_PLACES; i++) {
		const struct world_place *place = &comm->places[i];
		if (!place->parted_ns || (found && place->calls > found))
			continue;
		gather(parting, comm, place->calls);
		/* Halves differ at every later place: waiting for a majority counts from the first. */
		uint64_t parted_ns = has_majority(parting) ? place->parted_ns : comm->parted_ns;
		if (is_settled(parting, parted_ns, now_ns))
			found = place->calls;
	}
	if (found)
		gather(parting, comm, found);
	return found;
}

/* Has any of those that made the usual calls told of this place? */
static bool is_told_by_usual(const struct world *world, const struct parting *parting, uint64_t calls)
{
	for (uint32_t i = 0; i < parting->votes.count; i++) {
		const struct vote *vote = &parting->votes.cast[i];
		const struct world_member *member = world_member(world, parting->comm, vote->rank);
		if (vote->value == parting->votes.usual && member && order_at(member, calls))
			return true;
	}
	return false;
}

/* So many of their first calls were still alike, as far as is known: both sides have told of that place, and no two
 * hashes of it differ. */
static uint64_t alike_until(const struct world *world, const struct parting *parting, const uint32_t *odd,
			    uint32_t odd_count)
{
	uint64_t until = 0;

	for (uint32_t i = 0; i < WORLD_PLACES; i++) {
		const struct world_place *place = &parting->comm->places[i];
		bool told = odd_count && place->calls && place->calls < parting->calls && !place->parted_ns &&
			    is_told_by_usual(world, parting, place->calls);
		for (uint32_t k = 0; k < odd_count && told; k++) {
			const struct world_member *member = world_member(world, parting->comm, odd[k]);
			told = member && order_at(member, place->calls);
		}
		if (told && place->calls > until)
			until = place->calls;
	}
	return until;
}

/* The value of the rank's vote; 0: it has none. */
static uint64_t vote_of(const struct votes *votes, uint32_t rank)
{
	for (uint32_t i = 0; i < votes->count; i++)
		if (votes->cast[i].rank == rank)
			return votes->cast[i].value;
	return 0;
}

static uint32_t count_votes(const struct votes *votes, uint64_t value)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < votes->count; i++)
		count += votes->cast[i].value == value;
	return count;
}

/* One of the two has made the usual calls, and the other one has not. */
static bool is_between(const struct search *search, const struct parting *parting)
{
	uint64_t left = vote_of(&parting->votes, search->sides[0].rank),
		 right = vote_of(&parting->votes, search->sides[1].rank);

	return left && right && left != right && (left == parting->votes.usual || right == parting->votes.usual);
}

/* The up to `until` first calls that both members have reported to be equal. */
static uint64_t equal_until(const struct world_member *left, const struct world_member *right, uint64_t until)
{
	uint64_t equal = 0;

	for (uint32_t i = 0; i < WORLD_ORDERS; i++) {
		const struct world_order *order = &left->orders->newest[i], *other = order_at(right, order->calls);
		if (order->calls < until && order->calls > equal && other && other->hash == order->hash)
			equal = order->calls;
	}
	return equal;
}

static bool open_search(struct world_comm *comm)
{
	if (!comm->search)
		comm->search = calloc(1, sizeof(*comm->search));
	return comm->search;
}

/* Searches the call between the first rank that made the usual calls and the first that did not. */
static void begin_search(const struct world *world, struct world_comm *comm, const struct parting *parting,
			 uint64_t now_ns)
{
	const struct votes *votes = &parting->votes;
	const struct vote *usual = NULL, *odd = NULL;

	for (uint32_t i = votes->count; i-- > 0;) {
		const struct vote *vote = &votes->cast[i];
		usual = vote->value == votes->usual ? vote : usual;
		odd = vote->value == votes->usual ? odd : vote;
	}
	if (!usual || !odd)
		return;
	const struct world_member *left = world_member(world, comm, usual->rank),
				  *right = world_member(world, comm, odd->rank);
	if (open_search(comm))
		search_begin(comm->search, usual->rank, odd->rank, equal_until(left, right, parting->calls), parting->calls, now_ns);
}

/* The ranks' calls are told as those of the two that were searched, where all others are like one of them. */
static const struct search *found_call(const struct parting *parting)
{
	const struct search *search = parting->comm->search;

	if (!search || search->state != SEARCH_FOUND || !is_between(search, parting))
		return NULL;
	uint32_t count = 0;
	for (int i = 0; i < 2; i++)
		count += count_votes(&parting->votes, vote_of(&parting->votes, search->sides[i].rank));
	return count == parting->votes.count ? search : NULL;
}

/* at: the side of those that left the others. */
static void set_call(struct record *record, const struct search *search, int at)
{
	struct call odd_calls[RW_CALLED_MAX], usual_calls[RW_CALLED_MAX];
	uint32_t odd_count = search_calls(search, search->sides[at].rank, odd_calls),
		 usual_count = search_calls(search, search->sides[!at].rank, usual_calls);
	const struct call *odd = &odd_calls[0], *usual = &usual_calls[0];
	const struct alignment alignment = alignment_find(usual_calls, usual_count, odd_calls, odd_count);
	struct rw_finding *finding = &record->finding;
	char what[160];

	finding->operation.function = odd->function;
	finding->operation.sequence = odd->sequence;
	finding->operation.phase = RW_PHASE_ENQUEUED;
	finding->operation.dtype = odd->dtype;
	finding->operation.count = odd->count;
	finding->operation.peer_or_root = odd->root;
	text_desync(record, odd, usual);
	if (finding->confidence != RW_INCONCLUSIVE && alignment.kind != ALIGNMENT_NONE)
		text_alignment(record, &alignment, alignment.kind == ALIGNMENT_EXTRA ? odd : usual, -1);
	snprintf(what, sizeof(what),
		 "their hosts have reported the calls of ranks %" PRIu32 " and %" PRIu32 ": call %" PRIu64
		 " is the first that differs",
		 search->sides[at].rank < search->sides[!at].rank ? search->sides[at].rank : search->sides[!at].rank,
		 search->sides[at].rank < search->sides[!at].rank ? search->sides[!at].rank : search->sides[at].rank,
		 search->from + 1);
	record_add_evidence(record, "messages", -1, what);
}

static void write_range(struct record *record, const struct world *world, const struct parting *parting,
			const uint32_t *odd, uint32_t odd_count)
{
	struct rw_finding *finding = &record->finding;
	char who[128], others[128], where[64];
	uint64_t until = alike_until(world, parting, odd, odd_count);

	if (until)
		snprintf(where, sizeof(where), "among calls %" PRIu64 " to %" PRIu64, until + 1, parting->calls);
	else
		snprintf(where, sizeof(where), "among the first %" PRIu64 " calls", parting->calls);
	naming_ranks(who, sizeof(who), finding->ranks, finding->rank_count);
	naming_ranks(others, sizeof(others), finding->late.waiting, finding->late.waiting_count);
	if (finding->confidence == RW_INCONCLUSIVE)
		snprintf(record->text, sizeof(record->text), "%s have made different collective calls on %s, %s", who,
			 record->comm_name, where);
	else
		snprintf(record->text, sizeof(record->text), "%s made other collective calls on %s than %s, %s", who,
			 record->comm_name, others, where);
	snprintf(record->advice, sizeof(record->advice),
		 "\"rankwatch diff\" of these ranks' black boxes names the first call that differs; look before it for "
		 "a branch on data, "
		 "or one batch less");
	finding->advice = record->advice;
	record_add_missing(
	    record,
	    "which call it was: the ranks' hosts have not reported it, or no longer keep the calls of that range");
}

static void write_text(struct record *record, const struct world *world, const struct parting *parting,
		       const uint32_t *odd, uint32_t odd_count)
{
	const struct search *search = found_call(parting);
	char what[224];

	snprintf(what, sizeof(what),
		 "hashes of the first %" PRIu64 " collective calls of %u ranks, by the messages of their hosts",
		 parting->calls, parting->votes.count);
	record_add_evidence(record, "messages", -1, what);
	if (search) {
		set_call(record, search, vote_of(&parting->votes, search->sides[0].rank) == parting->votes.usual);
		record_add_missing(record, "the calls themselves of all other ranks: only hashes of them were compared");
	} else {
		write_range(record, world, parting, odd, odd_count);
	}
	if (record->finding.confidence == RW_INCONCLUSIVE)
		record_add_missing(
		    record,
		    "no calls are those of more than half of the communicator's ranks: who is wrong is not known");
}

static bool is_told_by_node(const struct world *world, const struct world_comm *comm)
{
	for (uint32_t i = 0; i < comm->member_count; i++)
		if (world->ranks[comm->members[i].rank].found & (1u << RW_KIND_DESYNC))
			return true;
	return false;
}

uint64_t order_parted_since(const struct world *world, const struct world_comm *comm, const struct findings *findings,
			    uint64_t now_ns)
{
	const struct record *told = findings_open(findings, RW_KIND_DESYNC, TOLD_COMM | comm->index);

	if (told)
		return told->finding.confidence != RW_INCONCLUSIVE ? told->finding.first_seen_ns : UINT64_MAX;
	if (is_told_by_node(world, comm))
		return comm->parted_ns; /* 0: of its calls only these are known that its own host has compared */
	bool judged = comm->mixed || comm->parting_told || now_ns >= comm->parted_ns + ORDER_SETTLE_NS + ORDER_UNSURE_NS;
	return comm->parted_ns && !judged ? comm->parted_ns : UINT64_MAX;
}

/* ranks: room for twice the members. */
static struct record *make_record(const struct world *world, const struct parting *parting, uint32_t *ranks,
				  uint64_t now_ns)
{
	bool known = has_majority(parting);
	uint32_t *odd = ranks, *usual = ranks + parting->comm->member_count, odd_count, usual_count;

	votes_split(&parting->votes, known, odd, &odd_count, usual, &usual_count);
	struct record *record = told_new(world, RW_KIND_DESYNC, RW_SCOPE_RANK, odd, odd_count);
	if (!record || told_set_waiting(record, usual, usual_count)) {
		record_free(record);
		return NULL;
	}
	record->subject = TOLD_COMM | parting->comm->index;
	record->finding.severity = RW_CRITICAL;
	record->finding.confidence = known ? RW_LIKELY : RW_INCONCLUSIVE;
	record->finding.first_seen_ns = parting->comm->parted_ns;
	record->finding.detect_ms = (double)(now_ns - parting->comm->parted_ns) / 1e6;
	told_set_operation(record, parting->comm, 0, 0, RW_PHASE_NONE);
	told_set_cause(record, RW_CAUSE_UNKNOWN, RW_LEVEL_NONE, "");
	write_text(record, world, parting, odd, odd_count);
	return record;
}

static void judge(struct world *world, struct world_comm *comm, struct findings *findings, uint64_t now_ns)
{
	/* Where calls never meet, what stands has told which they are. */
	if (findings_open(findings, RW_KIND_DESYNC, TOLD_COMM | comm->index) || is_told_by_node(world, comm)) {
		comm->parting_told = true;
		return;
	}
	struct parting parting = { .votes.cast = calloc(comm->member_count + 1, sizeof(*parting.votes.cast)) };
	uint32_t *ranks = calloc(2 * (size_t)comm->member_count + 1, sizeof(*ranks));
	if (parting.votes.cast && ranks && find_parting(comm, &parting, now_ns)) {
		struct record *record = make_record(world, &parting, ranks, now_ns);
		comm->parting_told = true;
		comm->parting_calls = parting.calls;
		if (record)
			findings_tell(findings, record, now_ns);
		if (comm->search && !is_between(comm->search, &parting))
			begin_search(world, comm, &parting, now_ns);
	}
	free(parting.votes.cast);
	free(ranks);
}

static bool is_same_finding(const struct rw_finding *left, const struct rw_finding *right)
{
	return left->confidence == right->confidence && left->rank_count == right->rank_count &&
	       !memcmp(left->ranks, right->ranks, left->rank_count * sizeof(*left->ranks));
}

/* The call has become known after the ranks were reported. What was reported stands. */
static void add_call(const struct world *world, const struct world_comm *comm, struct findings *findings,
		     uint64_t now_ns)
{
	const struct record *told = findings_open(findings, RW_KIND_DESYNC, TOLD_COMM | comm->index);
	struct parting parting = { .votes.cast = calloc(comm->member_count + 1, sizeof(*parting.votes.cast)) };
	uint32_t *ranks = calloc(2 * (size_t)comm->member_count + 1, sizeof(*ranks));
	struct record *record = NULL;

	if (told && !told->finding.operation.function && parting.votes.cast && ranks) {
		gather(&parting, comm, comm->parting_calls);
		record = found_call(&parting) ? make_record(world, &parting, ranks, now_ns) : NULL;
	}
	if (record && is_same_finding(&told->finding, &record->finding))
		findings_tell(findings, record, now_ns);
	else
		record_free(record);
	free(parting.votes.cast);
	free(ranks);
}

/* At the first place where calls differ. It begins before it is known who is right, so that the call is mostly known
 * when that is. */
static void search_early(const struct world *world, struct world_comm *comm, uint64_t now_ns)
{
	struct parting parting = { .votes.cast = calloc(comm->member_count + 1, sizeof(*parting.votes.cast)) };
	uint64_t first = 0;

	for (uint32_t i = 0; i < WORLD_PLACES; i++)
		if (comm->places[i].parted_ns && (!first || comm->places[i].calls < first))
			first = comm->places[i].calls;
	if (parting.votes.cast && first) {
		gather(&parting, comm, first);
		begin_search(world, comm, &parting, now_ns);
	}
	free(parting.votes.cast);
}

static uint32_t count_searches(const struct world *world)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < world->comm_count; i++)
		count += order_is_searching(world->comms[i]);
	return count;
}

void order_end_search(struct world_comm *comm)
{
	free(comm->search);
	comm->search = NULL;
}

/* As far as its host has reported; 0: it has not. */
static uint64_t newest_calls(const struct world_member *member)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; member && member->orders && i < WORLD_ORDERS; i++)
		newest = member->orders->newest[i].calls > newest ? member->orders->newest[i].calls : newest;
	return newest;
}

void order_search(struct world *world, struct world_comm *comm, uint32_t usual, uint32_t odd, uint64_t now_ns)
{
	const struct world_member *left = world_member(world, comm, usual), *right = world_member(world, comm, odd);
	uint64_t one = newest_calls(left), other = newest_calls(right), until = one < other ? one : other;

	/* What was known of their calls may have been older than those that differ. */
	bool failed = comm->search && comm->search->state == SEARCH_GIVEN_UP && until > comm->search->most;
	if ((comm->search && !failed) || comm->mixed || !until || count_searches(world) >= ORDER_SEARCHES)
		return;
	if (open_search(comm))
		search_begin(comm->search, usual, odd, equal_until(left, right, until), until, now_ns);
}

bool order_is_searching(const struct world_comm *comm)
{
	return comm->search && comm->search->state <= SEARCH_FOLLOWS;
}

static bool is_among(uint32_t rank, const uint32_t *ranks, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (ranks[i] == rank)
			return true;
	return false;
}

/* Which side is the odd one may not have been known when the search began. */
bool order_set_call(struct record *record, const struct world_comm *comm, const uint32_t *odd, uint32_t count)
{
	const struct search *search = comm->search;

	if (!search || search->state != SEARCH_FOUND)
		return false;
	bool first = is_among(search->sides[0].rank, odd, count), second = is_among(search->sides[1].rank, odd, count);
	if (first == second)
		return false;
	set_call(record, search, second);
	record_add_missing(record, "the calls of all other ranks: only those of these two were compared");
	return true;
}

static void look_at(struct world *world, struct world_comm *comm, struct findings *findings, uint32_t *searches,
		    uint64_t now_ns)
{
	comm->parting_looked_ns = now_ns;
	if (!comm->search && *searches < ORDER_SEARCHES) {
		search_early(world, comm, now_ns);
		*searches += order_is_searching(comm);
	}
	if (now_ns >= comm->parted_ns + ORDER_SETTLE_NS)
		judge(world, comm, findings, now_ns);
	/* The host's own finding says it, with the calls. */
	if (comm->parting_told && !comm->parting_calls && !findings_open(findings, RW_KIND_DESYNC, TOLD_COMM | comm->index))
		order_end_search(comm);
}

void order_tick(struct world *world, struct findings *findings, uint64_t now_ns)
{
	uint32_t searches = count_searches(world);

	for (uint32_t i = 0; i < world->comm_count; i++) {
		struct world_comm *comm = world->comms[i];
		if (comm->search)
			search_tick(comm->search, now_ns);
		if (comm->parted_ns && !comm->mixed && !comm->parting_told && now_ns >= comm->parting_looked_ns + ORDER_LOOK_NS)
			look_at(world, comm, findings, &searches, now_ns);
		if (!comm->search || !comm->parting_calls || order_is_searching(comm))
			continue;
		if (comm->search->state == SEARCH_FOUND)
			add_call(world, comm, findings, now_ns);
		order_end_search(comm);
	}
}
