/* SPDX-License-Identifier: MIT */
#include "analysis/job/job_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/job/course.h"
#include "analysis/job/pipelines.h"
#include "analysis/numbers/late_level.h"
#include "analysis/numbers/sorting.h"

/* What members say, and how many of them say what is kept. */
struct poll {
	uint64_t kept, candidate;
	uint32_t all, for_kept, lead;
};

/* One member in the row that is judged. */
struct measured {
	uint32_t member;
	double own_us, inside_us, unseen_us, host_us, device_us, operations, lasted_us;
};

/* The row that is judged, in all communicators. */
struct judged {
	uint64_t row, now_ns;
	struct row_entry *entries;
	struct measured *measured; /* of the entries */
	uint64_t *values;
	uint32_t count;
};

/* Boyer and Moore 1981: who has more than half of the votes is the candidate. */
static void poll_add(struct poll *poll, uint64_t value)
{
	poll->all++;
	poll->for_kept += value == poll->kept;
	if (!poll->lead)
		poll->candidate = value;
	poll->lead += value == poll->candidate ? 1 : -1;
}

/* What is kept has to lose half of its voters. */
static uint64_t poll_end(const struct poll *poll)
{
	return poll->all && (!poll->kept || poll->for_kept * 2 < poll->all) ? poll->candidate : poll->kept;
}

static const struct world_comm *comm_at(const struct job_rows *rows, const struct world *world, uint32_t i)
{
	return world->comms[rows->chosen[i]];
}

static const struct world_comm *comm_of(const struct job_rows *rows, const struct world *world,
					const struct row_entry *entry)
{
	return world->comms[rows->ranks[entry->rank].comm];
}

static uint64_t calls_of(const struct job_rows *rows, const struct comm_rows *state)
{
	return (uint64_t)state->per_step * rows->steps;
}

/* Of the newest rows, into `known`, which has room for JOB_ROWS_LENGTHS; how many. */
static uint32_t known_lengths(const struct job_rows *rows, double *known)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < JOB_ROWS_LENGTHS; i++)
		if (rows->lengths_ms[i] > 0)
			known[count++] = rows->lengths_ms[i];
	return count;
}

static void note_length(struct job_rows *rows, uint64_t row, double lasted_ms)
{
	double sorted[JOB_ROWS_LENGTHS];

	rows->lengths_ms[row % JOB_ROWS_LENGTHS] = lasted_ms;
	uint32_t known = known_lengths(rows, sorted);
	sort_doubles(sorted, known);
	rows->row_ms = known ? sorted[known / 2] : 0;
}

/* So long after its last row a communicator is no longer judged. */
static uint64_t gone_ns(const struct world_comm *comm)
{
	return JOB_ROWS_GONE_NS + 4 * (uint64_t)comm->period_ms * 1000000;
}

/* Its next row is to be expected. */
static bool sends_rows(const struct job_rows *rows, const struct world *world, const struct world_member *member,
		       uint64_t now_ns)
{
	uint64_t until_ns = JOB_ROWS_WAIT_NS + 4 * (uint64_t)(rows->row_ms * 1e6);

	return member->rows && member->rows->came_ns && (member->rows->steps || !rows->in_steps) &&
	       now_ns < member->rows->came_ns + until_ns && !member->left && !world_host(world, member->rank)->ended;
}

/* Where steps are not known a row is so many calls. */
static uint32_t steps_of(const struct world_rows *rows)
{
	return rows->steps ? rows->steps : 1;
}

static uint64_t shape_of(const struct world_rows *rows)
{
	return (uint64_t)rows->function << 32 | rows->calls / steps_of(rows);
}

/* How long rows are, and by which calls a communicator's end. True: that was known, and has changed. */
static bool fit_comm(const struct job_rows *rows, const struct world *world, const struct world_comm *comm,
		     struct poll *steps, uint64_t now_ns)
{
	struct comm_rows *state = comm->compared;
	struct poll shape = { .kept = (uint64_t)state->function << 32 | state->per_step };

	state->running = 0;
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_member *member = &comm->members[i];
		if (!sends_rows(rows, world, member, now_ns))
			continue;
		poll_add(&shape, shape_of(member->rows));
		poll_add(steps, steps_of(member->rows));
		state->running++;
	}
	uint64_t now = poll_end(&shape);
	if (now == shape.kept)
		return false;
	state->function = (uint8_t)(now >> 32);
	state->per_step = (uint32_t)now;
	state->next = 0;
	return shape.kept;
}

/* Those that it counts by the function that ends its rows; their number. */
static uint32_t collect_ends(const struct job_rows *rows, const struct world *world, const struct world_comm *comm,
			     uint64_t *ends, uint64_t now_ns)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_member *member = &comm->members[i];
		if (sends_rows(rows, world, member, now_ns) && member->rows->function == comm->compared->function)
			ends[count++] = member->rows->newest;
	}
	return count;
}

/* The newest row that some communicator has ended; 0: none has. */
static uint64_t newest_row(const struct job_rows *rows, const struct world *world)
{
	uint64_t newest = 0;

	for (uint32_t i = 0; i < rows->chosen_count; i++) {
		const struct comm_rows *state = comm_at(rows, world, i)->compared;
		uint64_t row = state && state->next ? state->passed + (uint64_t)state->ahead : 0;
		newest = row > newest ? row : newest;
	}
	return newest;
}

/* Rows of communicators that began together count the same steps. */
static void begin_comm(struct job_rows *rows, const struct world *world, struct comm_rows *state)
{
	uint64_t newest = newest_row(rows, world);
	int64_t apart = newest ? (int64_t)(newest - state->passed) : 0;

	state->next = state->passed + 1;
	state->ahead = llabs(apart) <= JOB_ROWS_APART ? 0 : apart;
	rows->next = rows->next ? rows->next : state->next;
}

static void look_how_far(struct job_rows *rows, const struct world *world, const struct world_comm *comm,
			 uint64_t *ends, uint64_t now_ns)
{
	struct comm_rows *state = comm->compared;
	uint32_t count = collect_ends(rows, world, comm, ends, now_ns);
	uint64_t calls = calls_of(rows, state);

	if (count < 2 || !calls)
		return;
	sort_u64(ends, count);
	uint64_t passed = ends[(count - 1) / 2] / calls;
	bool jumps = state->passed + WORLD_ROWS < passed || passed + JOB_ROWS_APART < state->passed;
	bool behind = passed + (uint64_t)state->ahead + WORLD_ROWS < rows->next;
	if (state->next && (jumps || behind))
		state->next = 0;
	for (uint64_t row = state->next ? state->passed + 1 : passed; row <= passed; row++)
		state->passed_ns[row % WORLD_ROWS] = now_ns;
	if (passed > state->passed || !state->next)
		state->passed = passed;
	if (!state->next)
		begin_comm(rows, world, state);
}

/* The number that the communicator gives to a row of all; 0: it has none. */
static uint64_t own_row(const struct comm_rows *state, uint64_t row)
{
	int64_t own = (int64_t)row - state->ahead;

	return state->next && own > 0 && (uint64_t)own >= state->next ? (uint64_t)own : 0;
}

/* The next end after this one that has come, within a few rows; NULL: none has. */
static const struct world_row *later_end(const struct world_member *member, uint64_t end, uint64_t calls)
{
	const struct world_row *next = NULL;

	for (uint32_t i = 0; i < WORLD_ROWS; i++) {
		const struct world_row *row = &member->rows->kept[i];
		if (!row->between && row->end > end && row->end <= end + JOB_ROWS_BETWEEN * calls &&
		    (!next || row->end < next->end))
			next = row;
	}
	return next;
}

static uint64_t longest_behind(const struct world_comm *comm)
{
	uint64_t longest_ns = 0;

	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_rows *rows = comm->members[i].rows;
		longest_ns = rows && rows->behind_ns > longest_ns ? rows->behind_ns : longest_ns;
	}
	return longest_ns;
}

/* It has come; or a later one has, so long ago that this one is lost. */
static bool has_ended(const struct world_member *member, uint64_t end, uint64_t calls, uint64_t lost_ns,
		      uint64_t now_ns)
{
	if (member->rows->newest < end)
		return false;
	const struct world_row *later = world_row(member, end) ? NULL : later_end(member, end, calls);
	return !later || now_ns >= later->came_ns + lost_ns;
}

/* Everybody from whom it is to be expected. */
static bool have_all_ended(const struct job_rows *rows, const struct world *world, const struct world_comm *comm,
			   uint64_t own, uint64_t now_ns)
{
	uint64_t calls = calls_of(rows, comm->compared), lost_ns = longest_behind(comm);

	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_member *member = &comm->members[i];
		if (sends_rows(rows, world, member, now_ns) && member->rows->function == comm->compared->function &&
		    !has_ended(member, own * calls, calls, lost_ns, now_ns))
			return false;
	}
	return true;
}

static bool is_running(const struct comm_rows *state)
{
	return state && state->running > 1 && state->next;
}

static bool is_due(const struct job_rows *rows, const struct world *world, uint64_t now_ns)
{
	uint64_t first_ns = UINT64_MAX;
	bool all = true;

	for (uint32_t i = 0; i < rows->chosen_count; i++) {
		const struct world_comm *comm = comm_at(rows, world, i);
		const struct comm_rows *state = comm->compared;
		uint64_t own = is_running(state) ? own_row(state, rows->next) : 0;
		if (!own)
			continue;
		if (state->passed < own) {
			all = false;
			continue;
		}
		uint64_t passed_ns = state->passed + WORLD_ROWS > own ? state->passed_ns[own % WORLD_ROWS] : 0;
		first_ns = passed_ns < first_ns ? passed_ns : first_ns;
		all = all && have_all_ended(rows, world, comm, own, now_ns);
	}
	return first_ns != UINT64_MAX && (all || now_ns >= first_ns + JOB_ROWS_WAIT_NS);
}

static struct measured between(const struct world_row *from, const struct world_row *to)
{
	uint32_t own_us = to->own_us - from->own_us, inside_us = to->inside_us - from->inside_us,
		 unseen_us = to->unseen_us - from->unseen_us;

	return (struct measured){
		.own_us = own_us,
		.inside_us = inside_us,
		.unseen_us = unseen_us,
		.host_us = to->host_us - from->host_us,
		.device_us = to->device_us - from->device_us,
		.operations = (uint16_t)(to->operations - from->operations),
		.lasted_us = (double)own_us + inside_us + unseen_us,
	};
}

static bool measure(const struct world_member *member, uint64_t begin, uint64_t end, struct measured *measured)
{
	const struct world_row *from = world_row(member, begin), *to = world_row(member, end);

	if (from && to)
		*measured = between(from, to);
	return from && to;
}

/* The end of a row that has not come, by how long the row was for the others, and what the rank did up to the next end.
 */
static bool measure_between(struct world_member *member, uint64_t begin, uint64_t end, double lasted_us,
			    struct measured *measured)
{
	const struct world_row *from = world_row(member, begin), *to = later_end(member, end, end - begin);
	struct world_row *place = world_row(member, end) ? NULL : world_row_place(member->rows, end);

	if (!from || !to || !place || place == from || place == to)
		return false;
	struct measured all = between(from, to);
	double part = all.lasted_us > 0 ? lasted_us / all.lasted_us : 1;
	if (part >= 1)
		return false;
	*measured = (struct measured){ .own_us = all.own_us * part,
				       .inside_us = all.inside_us * part,
				       .unseen_us = all.unseen_us * part,
				       .host_us = all.host_us * part,
				       .device_us = all.device_us * part,
				       .operations = all.operations * part,
				       .lasted_us = lasted_us };
	*place = (struct world_row){
		.end = end,
		.own_us = from->own_us + (uint32_t)measured->own_us,
		.inside_us = from->inside_us + (uint32_t)measured->inside_us,
		.unseen_us = from->unseen_us + (uint32_t)measured->unseen_us,
		.host_us = from->host_us + (uint32_t)measured->host_us,
		.device_us = from->device_us + (uint32_t)measured->device_us,
		.operations = (uint16_t)(from->operations + (uint16_t)measured->operations),
		.between = true,
	};
	return true;
}

static double median_length(const struct measured *measured, uint32_t count, uint64_t *values)
{
	for (uint32_t i = 0; i < count; i++)
		values[i] = (uint64_t)measured[i].lasted_us;
	sort_u64(values, count);
	return (double)values[count / 2];
}

/* All members of whom the row is known; how many. */
static uint32_t measure_all(const struct job_rows *rows, const struct world_comm *comm, uint64_t begin, uint64_t end,
			    struct measured *measured, uint64_t *values, double *lasted_us)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < comm->member_count; i++) {
		if (!comm->members[i].rows || !measure(&comm->members[i], begin, end, &measured[count]))
			continue;
		measured[count++].member = i;
	}
	*lasted_us = count ? median_length(measured, count, values) : rows->row_ms * 1000;
	for (uint32_t i = 0; i < comm->member_count; i++) {
		struct world_member *member = &comm->members[i];
		if (!member->rows || world_row(member, end) ||
		    !measure_between(member, begin, end, *lasted_us, &measured[count]))
			continue;
		measured[count++].member = i;
	}
	return count;
}

static bool has_index(struct job_rows *rows, struct world_rank *rank)
{
	if (rank->row_index)
		return true;
	if (rows->count == rows->room) {
		uint32_t room = rows->room ? rows->room * 2 : 16;
		struct job_rows_rank *ranks = realloc(rows->ranks, room * sizeof(*ranks));
		if (!ranks)
			return false;
		rows->ranks = ranks;
		rows->room = room;
	}
	if (!row_judge_has(&rows->judge, rows->room))
		return false;
	rows->ranks[rows->count++] = (struct job_rows_rank){ 0 };
	rank->row_index = rows->count;
	return true;
}

/* The communicator that carries Send or Recv among the rank's, where its place is its stage; NULL: there is none. */
static const struct world_member *place_in_pipeline(const struct world *world, uint32_t rank,
						    const struct world_comm **pipeline)
{
	const struct world_rank *known = &world->ranks[rank];

	for (uint32_t i = 0; i < known->membership_count; i++) {
		*pipeline = world_joined(world, known, i);
		if ((*pipeline)->sends)
			return &(*pipeline)->members[known->memberships[i].member];
	}
	return NULL;
}

static bool is_same_stage(const struct world *world, const struct world_comm *one, const struct world_comm *other)
{
	const struct world_comm *of_one, *of_other;
	const struct world_member *left = place_in_pipeline(world, one->members[0].rank, &of_one),
				  *right = place_in_pipeline(world, other->members[0].rank, &of_other);

	return left && right && left->comm_rank == right->comm_rank && of_one->size == of_other->size;
}

/* Once for each communicator: indexes of ranks for the group that its members are, and for their stage. */
static void name_group(struct job_rows *rows, const struct world *world, const struct world_comm *comm, uint32_t index)
{
	struct comm_rows *state = comm->compared;

	if (rows->ranks[state->group].named == comm->index + 1)
		return;
	if (rows->ranks[index].named)
		return; /* another member will give it one */
	rows->ranks[index].named = comm->index + 1;
	state->group = state->stage = index;
	for (uint32_t i = 0; i < rows->chosen_count; i++) {
		const struct world_comm *other = comm_at(rows, world, i);
		if (other != comm && is_running(other->compared) && other->compared->compared &&
		    is_same_stage(world, comm, other))
			state->stage = other->compared->stage;
	}
}

static bool is_aligned(const struct measured *measured, double lasted_us)
{
	double apart_us = fabs(measured->lasted_us - lasted_us);

	return apart_us <= JOB_ROWS_UNEVEN_US || apart_us <= JOB_ROWS_UNEVEN * lasted_us;
}

static uint64_t ns(double us)
{
	return (uint64_t)(us * 1000);
}

/* A rank is compared in one communicator only: the first. */
static void add_entry(struct job_rows *rows, struct world *world, const struct world_comm *comm,
		      const struct measured *measured, struct judged *judged)
{
	struct world_rank *rank = &world->ranks[comm->members[measured->member].rank];
	struct job_rows_rank *known = has_index(rows, rank) ? &rows->ranks[rank->row_index - 1] : NULL;

	if (!known || known->row == judged->row)
		return;
	known->row = judged->row;
	known->number = comm->members[measured->member].rank;
	known->seen_ns = judged->now_ns;
	known->comm = comm->index;
	late_series_place(&rows->judge.late, rank->row_index - 1, rank->host + 1);
	judged->measured[judged->count] = *measured;
	judged->entries[judged->count++] = (struct row_entry){
		.rank = rank->row_index - 1,
		.own_ns = ns(measured->own_us),
		.inside_ns = ns(measured->inside_us),
		.unseen_ns = ns(measured->unseen_us),
		.until_ns = judged->now_ns,
		.operations = (uint32_t)measured->operations,
	};
}

/* Times at which it looks at its GPU that depend on what it waits for make waits look like work. Then it sees ends at
 * other times than the others do, too. */
static void note_ragged(struct job_rows *rows, struct judged *judged, uint32_t first, double lasted_us)
{
	uint32_t count = judged->count - first;

	for (uint32_t i = 0; i < count; i++) {
		struct job_rows_rank *rank = &rows->ranks[judged->entries[first + i].rank];
		rank->ragged_us += ((float)fabs(judged->measured[first + i].lasted_us - lasted_us) - rank->ragged_us) / 32;
		judged->values[i] = (uint64_t)rank->ragged_us;
	}
	sort_u64(judged->values, count);
	double usual_us = count ? (double)judged->values[count / 2] : 0;
	for (uint32_t i = first; i < judged->count; i++)
		judged->entries[i].ragged = (double)rows->ranks[judged->entries[i].rank].ragged_us >
					    JOB_ROWS_RAGGED * usual_us + JOB_ROWS_RAGGED_US;
}

static void judge_comm(struct job_rows *rows, struct world *world, const struct world_comm *comm,
		       struct judged *judged)
{
	struct comm_rows *state = comm->compared;
	uint64_t own = own_row(state, judged->row), calls = calls_of(rows, state);
	struct measured *measured = own && state->passed >= own ? calloc(comm->member_count, sizeof(*measured)) : NULL;
	uint32_t first = judged->count;
	double lasted_us;

	if (own)
		state->next = own + 1;
	if (!measured)
		return;
	uint32_t count = measure_all(rows, comm, (own - 1) * calls, own * calls, measured, judged->values, &lasted_us);
	for (uint32_t i = 0; i < count; i++) {
		if (is_aligned(&measured[i], lasted_us))
			add_entry(rows, world, comm, &measured[i], judged);
		else
			rows->unaligned++;
	}
	free(measured);
	note_ragged(rows, judged, first, lasted_us);
	for (uint32_t i = first; i < judged->count; i++)
		name_group(rows, world, comm, judged->entries[i].rank);
	for (uint32_t i = first; i < judged->count; i++) {
		judged->entries[i].group = state->group;
		judged->entries[i].stage = state->stage;
	}
	state->compared = judged->count - first;
	state->lasted_us = (uint32_t)lasted_us;
	note_length(rows, judged->row, lasted_us / 1000);
}

/* For those who look. */
static void charge(const struct world *world, const struct job_rows *rows, const struct judged *judged)
{
	const struct row_entry *entries = judged->entries;
	struct course_late *late = world->course ? calloc(judged->count + 1, sizeof(*late)) : NULL;

	for (uint32_t first = 0, end; late && first < judged->count; first = end) {
		const struct comm_rows *state = comm_of(rows, world, &entries[first])->compared;
		uint64_t lasted_ns = (uint64_t)state->lasted_us * 1000, now_ns = judged->now_ns;
		for (end = first; end < judged->count && entries[end].group == entries[first].group; end++)
			late[end - first] = (struct course_late){ rows->ranks[entries[end].rank].number,
								  (uint64_t)(fmax(entries[end].late_ms, 0) * 1000) };
		course_charge(world->course, late, end - first, now_ns > lasted_ns ? now_ns - lasted_ns : 0, now_ns);
	}
	free(late);
}

/* Of own work by the host or by the device, of those that were compared; 0: of none. */
static double median_us(const struct row_entry *entries, uint32_t count, const struct judged *judged,
			const uint32_t *measured_of, bool of_host)
{
	uint64_t *values = judged->values;
	uint32_t known = 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct measured *measured = &judged->measured[measured_of[entries[i].rank]];
		if (entries[i].judged)
			values[known++] = (uint64_t)fmax(of_host ? measured->host_us : measured->device_us, 0);
	}
	sort_u64(values, known);
	return known ? (double)values[(known - 1) / 2] : 0;
}

/* Of those that are compared with each other. */
static void note_group(struct job_rows *rows, const struct row_entry *entries, uint32_t count,
		       const struct judged *judged, const uint32_t *measured_of)
{
	double host_us = median_us(entries, count, judged, measured_of, true);
	double device_us = median_us(entries, count, judged, measured_of, false);

	for (uint32_t i = 0; i < count; i++) {
		const struct measured *measured = &judged->measured[measured_of[entries[i].rank]];
		struct job_rows_rank *rank = &rows->ranks[entries[i].rank];
		if (!entries[i].judged)
			continue;
		rank->rows[rank->count++ % JOB_ROWS_TOLD] = (struct job_rows_row){
			(float)entries[i].late_ms,
			(float)(measured->lasted_us / 1000),
			(float)((measured->host_us - host_us) / 1000),
			(float)((measured->device_us - device_us) / 1000),
		};
	}
}

/* The entries are in another order, those that are compared with each other in a row. */
static void note_verdicts(struct job_rows *rows, const struct judged *judged, const uint32_t *measured_of)
{
	const struct row_entry *entries = judged->entries;

	for (uint32_t first = 0, end; first < judged->count; first = end) {
		for (end = first + 1; end < judged->count && entries[end].group == entries[first].group;)
			end++;
		note_group(rows, &entries[first], end - first, judged, measured_of);
	}
}

/* Of the rows that were noted last. In pipelines who comes last does so by schedule. */
static void note_turns(struct job_rows *rows, const struct world *world, const struct judged *judged,
		       const uint32_t *measured_of)
{
	for (uint32_t i = 0; i < judged->count; i++) {
		const struct row_entry *entry = &judged->entries[i];
		const struct job_rows_rank *rank = &rows->ranks[entry->rank];
		const struct job_rows_row *row = &rank->rows[(rank->count - 1) % JOB_ROWS_TOLD];
		job_turns_note(&rows->turns, &(struct job_turns_row){
						 .rank = rank->number,
						 .others = comm_of(rows, world, entry)->compared->compared - 1,
						 .beyond_ms = entry->beyond_ms,
						 .lasted_us = judged->measured[measured_of[entry->rank]].lasted_us,
						 .host_us = row->host_ms * 1e3,
						 .device_us = row->device_ms * 1e3,
					     });
	}
	rows->turns.steps += judged->count ? rows->steps : 0;
}

static bool is_pipelined(const struct world *world)
{
	for (uint32_t i = 0; i < world->comm_count; i++)
		if (world->comms[i]->sends)
			return true;
	return false;
}

static uint32_t count_members(const struct job_rows *rows, const struct world *world)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < rows->chosen_count; i++)
		count += comm_at(rows, world, i)->member_count;
	return count;
}

/* What was seen of ranks in the rows before is put in proportion once it is known how long rows last now. False: not
 * yet. */
static bool are_like_before(struct job_rows *rows)
{
	double lengths_ms[JOB_ROWS_LENGTHS], times = rows->before_ms > 0 ? rows->row_ms / rows->before_ms : 1;

	if (rows->before_ms > 0 && known_lengths(rows, lengths_ms) < JOB_ROWS_FIRST)
		return false;
	if (times > JOB_ROWS_LIKE || times * JOB_ROWS_LIKE < 1)
		row_judge_forget(&rows->judge);
	else if (rows->before_ms > 0)
		row_judge_scale(&rows->judge, times);
	rows->before_ms = 0;
	return true;
}

static bool has_left(const struct job_rows *rows, const struct world *world, uint32_t index)
{
	return world_has_left(world, &world->ranks[rows->ranks[index].number]);
}

/* All its members are known, and each was compared, or has left. */
static bool is_comm_whole(const struct world *world, const struct world_comm *comm)
{
	if (comm->size <= 0 || (uint32_t)comm->size != comm->member_count)
		return false;
	for (uint32_t i = 0; i < comm->member_count; i++) {
		const struct world_rank *rank = &world->ranks[comm->members[i].rank];
		if (!rank->row_index && !world_has_left(world, rank))
			return false;
	}
	return true;
}

/* The row is of all ranks that are still there: one that is not seen may be the late one. */
static bool is_whole(const struct job_rows *rows, const struct world *world, const struct judged *judged)
{
	uint32_t there = 0, in_row = 0;

	for (uint32_t i = 0; i < rows->chosen_count; i++)
		if (!is_comm_whole(world, comm_at(rows, world, i)))
			return false;
	for (uint32_t i = 0; i < rows->count; i++)
		there += !has_left(rows, world, i);
	for (uint32_t i = 0; i < judged->count; i++)
		in_row += !has_left(rows, world, judged->entries[i].rank);
	return judged->count && judged->count == in_row && in_row == there;
}

/* Rows of other ranks are no measure. */
static void begin_wholes(struct job_rows *rows, uint32_t ranks)
{
	if (rows->whole_ranks != ranks || rows->whole_known != rows->count)
		rows->whole_count = 0;
	rows->whole_ranks = ranks;
	rows->whole_known = rows->count;
}

static void note_whole(struct job_rows *rows, const struct world *world, const struct judged *judged)
{
	struct job_rows_whole whole = { .ms = { [JOB_ROWS_LEAST_INSIDE] = INFINITY } };
	double ms_per_ns = 1e-6 / job_rows_steps(rows);

	if (!is_whole(rows, world, judged))
		return;
	begin_wholes(rows, judged->count);
	for (uint32_t i = 0; i < judged->count; i++) {
		const struct row_entry *entry = &judged->entries[i];
		double inside_ms = (double)entry->inside_ns * ms_per_ns, own_ms = (double)entry->own_ns * ms_per_ns,
		       unseen_ms = (double)entry->unseen_ns * ms_per_ns;
		whole.ms[JOB_ROWS_LEAST_INSIDE] = fmin(whole.ms[JOB_ROWS_LEAST_INSIDE], inside_ms);
		whole.ms[JOB_ROWS_OWN] += own_ms;
		whole.ms[JOB_ROWS_LASTED] += (own_ms + inside_ms + unseen_ms) / judged->count;
	}
	rows->wholes[rows->whole_count++ % JOB_ROWS_WHOLES] = whole;
	rows->whole_new = true;
}

static void judge(struct job_rows *rows, struct world *world, struct judged *judged)
{
	judged->count = 0;
	judged->row = rows->next;
	for (uint32_t i = 0; i < rows->chosen_count; i++)
		if (is_running(comm_at(rows, world, i)->compared))
			judge_comm(rows, world, comm_at(rows, world, i), judged);
	if (!are_like_before(rows))
		return;
	uint32_t *measured_of = calloc(rows->count + 1, sizeof(*measured_of));
	if (measured_of) {
		for (uint32_t i = 0; i < judged->count; i++)
			measured_of[judged->entries[i].rank] = i;
		row_judge(&rows->judge, judged->entries, judged->count, rows->row_ms, is_pipelined(world));
		note_verdicts(rows, judged, measured_of);
		if (rows->in_steps && !is_pipelined(world))
			note_turns(rows, world, judged, measured_of);
		charge(world, rows, judged);
		note_whole(rows, world, judged);
		rows->rows++;
	}
	free(measured_of);
}

/* Rows are cut anew; other_steps: not only as another number of steps of as many calls as before. */
static void begin_anew(struct job_rows *rows, const struct world *world, uint32_t steps, bool other_steps)
{
	rows->steps = steps;
	rows->next = 0;
	rows->before_ms = rows->before_ms > 0 ? rows->before_ms : rows->row_ms;
	rows->row_ms = 0;
	if (other_steps)
		rows->whole_count = 0;
	memset(rows->lengths_ms, 0, sizeof(rows->lengths_ms));
	for (uint32_t i = 0; i < rows->count; i++)
		rows->ranks[i].row = 0;
	for (uint32_t i = 0; i < rows->chosen_count; i++)
		if (comm_at(rows, world, i)->compared)
			comm_at(rows, world, i)->compared->next = 0;
}

static void fit(struct job_rows *rows, const struct world *world, uint64_t now_ns)
{
	struct poll steps = { .kept = rows->steps };
	bool changed = false;

	for (uint32_t i = 0; i < rows->chosen_count; i++) {
		struct world_comm *comm = world->comms[rows->chosen[i]];
		if (!comm->compared && comm->in_rows > 1)
			comm->compared = calloc(1, sizeof(*comm->compared));
		if (comm->compared)
			changed |= fit_comm(rows, world, comm, &steps, now_ns);
	}
	uint32_t now = (uint32_t)poll_end(&steps);
	if (now != rows->steps || changed)
		begin_anew(rows, world, now, changed);
}

/* All communicators may have begun anew, further on. */
static void skip_gap(struct job_rows *rows, const struct world *world)
{
	uint64_t first = UINT64_MAX;

	for (uint32_t i = 0; i < rows->chosen_count; i++) {
		const struct comm_rows *state = comm_at(rows, world, i)->compared;
		uint64_t next = is_running(state) ? state->next + (uint64_t)state->ahead : UINT64_MAX;
		first = next < first ? next : first;
	}
	if (first != UINT64_MAX && first > rows->next)
		rows->next = first;
}

/* The larger the better. */
static int by_worth(const void *left, const void *right)
{
	const struct world_comm *a = *(struct world_comm *const *)left, *b = *(struct world_comm *const *)right;

	if (a->member_count != b->member_count)
		return a->member_count > b->member_count ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

/* Those of most members are. */
static bool has_rows_of_steps(const struct world_comm *comm)
{
	return comm->in_steps * 2 >= comm->in_rows;
}

static bool is_comparable(const struct world_comm *comm, uint64_t now_ns)
{
	return comm->across && !comm->mixed && comm->hosts > 1 && comm->in_rows > 1 && now_ns < comm->row_ns + gone_ns(comm) &&
	       (has_rows_of_steps(comm) || comm->period_ms <= JOB_ROWS_OFTEN_MS);
}

/* Rows of steps, if there are any: only these are alike in all communicators. */
static uint32_t take_comparable(struct job_rows *rows, const struct world *world, struct world_comm **comms,
				uint64_t now_ns)
{
	uint32_t count = 0;

	rows->in_steps = false;
	for (uint32_t i = 0; i < world->comm_count; i++)
		rows->in_steps |= has_rows_of_steps(world->comms[i]) && is_comparable(world->comms[i], now_ns);
	for (uint32_t i = 0; i < world->comm_count; i++)
		if (has_rows_of_steps(world->comms[i]) == rows->in_steps && is_comparable(world->comms[i], now_ns))
			comms[count++] = world->comms[i];
	return count;
}

static void choose_among(struct job_rows *rows, const struct world *world, struct world_comm **comms, bool *taken,
			 uint64_t now_ns)
{
	bool in_steps = rows->in_steps, others = false;
	uint32_t count = take_comparable(rows, world, comms, now_ns), before = rows->chosen_count;

	qsort(comms, count, sizeof(struct world_comm *), by_worth);
	rows->chosen_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		bool adds = false;
		for (uint32_t k = 0; k < comms[i]->member_count; k++) {
			adds |= !taken[comms[i]->members[k].rank];
			taken[comms[i]->members[k].rank] = true;
		}
		if (!adds)
			continue;
		others |= rows->chosen_count >= before || rows->chosen[rows->chosen_count] != comms[i]->index;
		rows->chosen[rows->chosen_count++] = comms[i]->index;
	}
	/* Where the same ones end rows by as many calls as before, these calls were steps. */
	if (rows->in_steps != in_steps && (others || rows->chosen_count != before))
		rows->whole_count = 0;
}

/* In which communicators ranks are compared. */
static void choose(struct job_rows *rows, struct world *world, uint64_t now_ns)
{
	struct world_comm **comms = calloc(world->comm_count + 1, sizeof(struct world_comm *));
	bool *taken = calloc(world->rank_room + 1, sizeof(*taken));
	uint32_t *chosen = realloc(rows->chosen, (world->comm_count + 1) * sizeof(*chosen));

	rows->chosen = chosen ? chosen : rows->chosen;
	if (comms && taken && chosen) {
		pipelines_find(world);
		choose_among(rows, world, comms, taken, now_ns);
		rows->changes = world->changes + world->in_rows;
		rows->looked_ns = now_ns;
	}
	free(comms);
	free(taken);
}

void job_rows_tick(struct job_rows *rows, struct world *world, uint64_t now_ns)
{
	if (rows->changes != world->changes + world->in_rows || now_ns >= rows->looked_ns + JOB_ROWS_LOOK_NS)
		choose(rows, world, now_ns);
	uint32_t room = count_members(rows, world) + 1;
	struct judged judged = { .now_ns = now_ns,
				 .entries = calloc(room, sizeof(*judged.entries)),
				 .measured = calloc(room, sizeof(*judged.measured)),
				 .values = calloc(room, sizeof(*judged.values)) };

	rows->judge.mostly = rows->whole_new = false;
	if (judged.entries && judged.measured && judged.values) {
		fit(rows, world, now_ns);
		for (uint32_t i = 0; i < rows->chosen_count; i++) {
			const struct world_comm *comm = comm_at(rows, world, i);
			if (comm->compared && comm->compared->function)
				look_how_far(rows, world, comm, judged.values, now_ns);
		}
		skip_gap(rows, world);
		for (; rows->next && is_due(rows, world, now_ns); rows->next++)
			judge(rows, world, &judged);
	}
	free(judged.entries);
	free(judged.measured);
	free(judged.values);
}

static const struct job_rows_row *row_back(const struct job_rows_rank *rank, uint64_t back)
{
	return &rank->rows[(rank->count - 1 - back) % JOB_ROWS_TOLD];
}

/* Over so many newest rows, or as many as there are. */
static double mean_late_ms(const struct job_rows_rank *rank, uint64_t count, double *lasted_ms)
{
	double late_ms = 0;

	count = rank->count < count ? rank->count : count;
	*lasted_ms = 0;
	for (uint64_t back = 0; back < count; back++) {
		late_ms += row_back(rank, back)->late_ms / (double)count;
		*lasted_ms += row_back(rank, back)->lasted_ms / (double)count;
	}
	return late_ms;
}

/* Those in which it was about as late as it has to be to be found. */
static void add_late_rows(const struct job_rows_rank *rank, struct job_rows_view *view)
{
	double lasted_ms, level_ms = mean_late_ms(rank, LATE_SERIES_ROWS_MIN, &lasted_ms), all_ms = 0;

	for (uint64_t back = 0; back < JOB_ROWS_TOLD && back < rank->count; back++) {
		const struct job_rows_row *row = row_back(rank, back);
		if (row->late_ms * 2 < fmax(level_ms, row_judge_cost_ms(row->lasted_ms)))
			continue;
		all_ms += row->lasted_ms;
		view->late_ms += row->late_ms;
		view->host_ms += row->host_ms;
		view->device_ms += row->device_ms;
	}
	view->share = all_ms > 0 ? view->late_ms / all_ms : 0;
}

bool job_rows_look(const struct job_rows *rows, const struct world *world, uint32_t number, uint64_t now_ns,
		    struct job_rows_view *view)
{
	uint32_t index = world->ranks[number].row_index;
	const struct job_rows_rank *rank = index ? &rows->ranks[index - 1] : NULL;
	double lasted_ms;

	*view = (struct job_rows_view){ 0 };
	if (!rank || !rank->count || now_ns >= rank->seen_ns + gone_ns(world->comms[rank->comm]))
		return false;
	double late_ms = mean_late_ms(rank, JOB_ROWS_RECENT, &lasted_ms);
	view->late = rows->judge.ranks[index - 1].decided_ns;
	view->of_level = rows->judge.ranks[index - 1].of_level;
	view->of_stage = rows->judge.ranks[index - 1].of_stage;
	view->host_late = row_judge_is_host_late(&rows->judge, index - 1);
	view->recent = lasted_ms > 0 ? late_ms / lasted_ms : 0;
	view->comm = world->comms[rank->comm];
	view->state = view->comm->compared;
	add_late_rows(rank, view);
	return true;
}

double job_rows_level(const struct job_rows *rows, const struct world *world, uint32_t number)
{
	uint32_t index = world->ranks[number].row_index;

	return rows->row_ms > 0 ? late_level_mean_ms(&rows->judge.late, index - 1) / rows->row_ms : 0;
}

bool job_rows_are_of_one_stage(const struct job_rows *rows, const struct world *world, uint32_t one, uint32_t other)
{
	uint32_t left = world->ranks[one].row_index, right = world->ranks[other].row_index;

	if (!left || !right)
		return false;
	const struct row_judge_rank *a = &rows->judge.ranks[left - 1], *b = &rows->judge.ranks[right - 1];
	return a->decided_ns && b->decided_ns && a->of_stage && b->of_stage && a->stage == b->stage;
}

size_t job_rows_bytes(const struct job_rows *rows, const struct world *world)
{
	size_t bytes = rows->room * (sizeof(*rows->ranks) + sizeof(*rows->judge.ranks) + sizeof(*rows->judge.stages) +
				     2 * sizeof(struct late_past)) +
		       rows->judge.host_room * (sizeof(*rows->judge.hosts) + sizeof(struct late_past)) +
		       rows->turns.room * sizeof(*rows->turns.ranks);

	for (uint32_t i = 0; i < world->comm_count; i++)
		bytes += world->comms[i]->compared ? sizeof(struct comm_rows) : 0;
	return bytes;
}

void job_rows_forget(struct job_rows *rows, struct world *world)
{
	for (uint32_t i = 0; i < world->comm_count; i++) {
		free(world->comms[i]->compared);
		world->comms[i]->compared = NULL;
	}
	free(rows->ranks);
	free(rows->chosen);
	row_judge_free(&rows->judge);
	job_turns_free(&rows->turns);
	*rows = (struct job_rows){ 0 };
}
