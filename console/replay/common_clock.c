/* SPDX-License-Identifier: MIT */
#include "console/replay/common_clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	RUN = 64,           /* slots that are read at a time */
	KEPT = 8192,        /* ends that are kept of a box, about */
	MATCHES = 5,        /* ends in common, at least */
	MATCHES_DRIFT = 64, /* and for a drift to be seen */
	DRIFT_PARTS = 4,    /* the first and the last of so many parts of the time show the drift */
};
/* No operation lasts for more than some days. */
#define LASTS_NS UINT64_C(1000000000000000)
/* Half of the ends lie within that of where they should, or these are not the same operations. */
#define SPREAD_NS 10000000.0
/* How sure the clock must be, by the spread of the ends and their number. */
#define SURE_NS 2000000.0
/* Time over which a drift shows, at least, and how large it can be. */
#define DRIFT_NS   60000000000.0
#define DRIFT_MOST 1e-3

/* An operation ended. */
struct end {
	uint64_t key;
	double ns; /* the mean of the ranks that saw it, on the clock that is meant */
};

struct ends {
	struct end *of; /* by key, each once */
	size_t count, room;
};

/* The boxes of one boot. */
struct boot {
	const struct rw_box_header *header; /* of the first of them */
	struct ends ends;
	struct box_clock clock;
	size_t group;
	bool grouped;
};

/* The same operation, seen by two clocks. */
struct match {
	double here_ns, ahead_ns; /* ahead: the other clock less this one */
};

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 33) * UINT64_C(0xff51afd7ed558ccd);
	value = (value ^ value >> 33) * UINT64_C(0xc4ceb9fe1a85ec53);
	return value ^ value >> 33;
}

static bool ends_for_all_at_once(const struct rw_operation *operation)
{
	const uint32_t known = RW_KNOWN_API | RW_KNOWN_DONE,
		       apart = RW_FLAG_CAPTURED | RW_FLAG_UNANNOUNCED | RW_FLAG_ABORTED;

	if ((operation->known & known) != known || operation->flags & apart || !operation->count)
		return false;
	if (operation->done_seen_ns < operation->api_ns ||
	    operation->done_seen_ns - operation->api_ns > LASTS_NS) /* damage */
		return false;
	switch (operation->function) {
	case RW_FUNCTION_ALL_GATHER:
	case RW_FUNCTION_ALL_REDUCE:
	case RW_FUNCTION_ALL_TO_ALL:
	case RW_FUNCTION_REDUCE_SCATTER:
		return true;
	default:
		return false;
	}
}

/* 0: it shows nothing. The same on all ranks. */
static uint64_t key_of(const struct rw_operation *operation, const struct rw_communicator *communicators,
		       uint32_t count)
{
	const struct rw_communicator *communicator = operation->comm < count ? &communicators[operation->comm] : NULL;

	if (!ends_for_all_at_once(operation) || !communicator || !box_is_of(operation, communicator) ||
	    communicator->nranks == 1)
		return 0;
	return mix(mix(communicator->id) ^ mix(operation->sequence * RW_FUNCTION_COUNT + operation->function)) | 1;
}

static int add_end(struct ends *ends, uint64_t key, uint64_t ns)
{
	if (ends->count == ends->room) {
		size_t room = ends->room ? ends->room * 2 : KEPT;
		struct end *grown = realloc(ends->of, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		ends->of = grown;
		ends->room = room;
	}
	ends->of[ends->count++] = (struct end){ .key = key, .ns = (double)ns };
	return 0;
}

/* Of all operations those whose key is such a multiple: the same on all machines. A box that cannot be read to its end
 * says so to who replays it. */
static int add_box(struct ends *ends, const struct box_reader *reader, uint64_t one_in)
{
	struct rw_communicator *communicators = NULL;
	struct rw_operation slots[RUN];
	enum box_slot states[RUN];
	uint64_t head = reader->header.head, ring = reader->header.ring_slots, next = head > ring ? head - ring : 0;
	uint32_t count = 0;
	int err = box_communicators(reader, &communicators, &count), got = err ? 0 : 1;

	for (; err != -ENOMEM && got > 0 && next < head; next += (uint64_t)got) {
		got = box_reader_operations(reader, next, head - next < RUN ? (uint32_t)(head - next) : RUN, slots,
					    states);
		for (int i = 0; i < got && err != -ENOMEM; i++) {
			uint64_t key = states[i] == BOX_SLOT_OK ? key_of(&slots[i], communicators, count) : 0;

			if (key && key / 2 % one_in == 0)
				err = add_end(ends, key, slots[i].done_seen_ns);
		}
	}
	free(communicators);
	return err == -ENOMEM ? err : 0;
}

static int by_key(const void *a, const void *b)
{
	const struct end *left = a, *right = b;

	return (left->key > right->key) - (left->key < right->key);
}

/* Each operation once, at the mean of the times at which it was seen to end. */
static void order(struct ends *ends)
{
	size_t kept = 0;

	if (ends->count)
		qsort(ends->of, ends->count, sizeof(*ends->of), by_key);
	for (size_t first = 0, next; first < ends->count; first = next) {
		double sum_ns = 0;

		for (next = first; next < ends->count && ends->of[next].key == ends->of[first].key; next++)
			sum_ns += ends->of[next].ns - ends->of[first].ns;
		ends->of[kept] = ends->of[first];
		ends->of[kept++].ns += sum_ns / (double)(next - first);
	}
	ends->count = kept;
}

static double moved(const struct box_clock *clock, double ns)
{
	return ns + (double)clock->ahead_ns + (ns - (double)clock->from_ns) * clock->drift;
}

static int by_ahead(const void *a, const void *b)
{
	const struct match *left = a, *right = b;

	return (left->ahead_ns > right->ahead_ns) - (left->ahead_ns < right->ahead_ns);
}

static int by_time(const void *a, const void *b)
{
	const struct match *left = a, *right = b;

	return (left->here_ns > right->here_ns) - (left->here_ns < right->here_ns);
}

/* Of `count` matches, which it puts into order. */
static double median_ahead(struct match *matches, size_t count)
{
	qsort(matches, count, sizeof(*matches), by_ahead);
	return (matches[(count - 1) / 2].ahead_ns + matches[count / 2].ahead_ns) / 2;
}

static double mean_time(const struct match *matches, size_t count)
{
	double sum_ns = 0;

	for (size_t i = 0; i < count; i++)
		sum_ns += matches[i].here_ns - matches[0].here_ns;
	return matches[0].here_ns + sum_ns / (double)count;
}

/* What one clock gains on the other; 0 where nothing can be said. */
static double find_drift(struct match *matches, size_t count)
{
	size_t part = count / DRIFT_PARTS;

	qsort(matches, count, sizeof(*matches), by_time);
	if (count < MATCHES_DRIFT || matches[count - 1].here_ns - matches[0].here_ns < DRIFT_NS)
		return 0;
	struct match *last = &matches[count - part];
	double lasted_ns = mean_time(last, part) - mean_time(matches, part);
	double gained_ns = median_ahead(last, part) - median_ahead(matches, part);
	double drift = lasted_ns > 0 ? gained_ns / lasted_ns : 0;

	return fabs(drift) < DRIFT_MOST ? drift : 0;
}

/* Half of them lie within it of the median. */
static double spread(struct match *matches, size_t count, double median_ns)
{
	for (size_t i = 0; i < count; i++)
		matches[i].ahead_ns = fabs(matches[i].ahead_ns - median_ns);
	return median_ahead(matches, count);
}

static bool fit(struct box_clock *clock, struct match *matches, size_t count)
{
	if (count < MATCHES)
		return false;
	*clock = (struct box_clock){ .drift = find_drift(matches, count) };
	clock->from_ns = (uint64_t)matches[0].here_ns;
	for (size_t i = 0; i < count; i++)
		matches[i].ahead_ns -= (matches[i].here_ns - (double)clock->from_ns) * clock->drift;
	double median_ns = median_ahead(matches, count);
	clock->ahead_ns = llround(median_ns);
	if (!clock->ahead_ns)
		clock->ahead_ns = 1; /* 0 would leave the drift out */
	double spread_ns = spread(matches, count, median_ns);
	return spread_ns < SPREAD_NS && spread_ns < SURE_NS * sqrt((double)count);
}

/* Operations whose end both saw. Returns how many. */
static size_t match_ends(const struct ends *here, const struct ends *there, struct match *matches)
{
	size_t count = 0;

	for (size_t i = 0, k = 0; i < here->count && k < there->count;) {
		const struct end *a = &here->of[i], *b = &there->of[k];

		if (a->key == b->key)
			matches[count++] = (struct match){ .here_ns = a->ns, .ahead_ns = b->ns - a->ns };
		i += a->key <= b->key;
		k += b->key <= a->key;
	}
	return count;
}

/* What the boot saw end becomes known on the common clock, and so do operations that only it and others took part in.
 */
static int join(struct ends *common, const struct boot *boot)
{
	int err = 0;

	for (size_t i = 0; !err && i < boot->ends.count; i++) {
		const struct end *end = &boot->ends.of[i];

		err = add_end(common, end->key, 0);
		if (!err)
			common->of[common->count - 1].ns = moved(&boot->clock, end->ns);
	}
	if (!err)
		order(common);
	return err;
}

/* Adds to the group whoever can be compared with what is known of it, and goes on while that makes more of it known. */
static int gather(struct boot *boots, size_t count, struct ends *common, struct match *matches, size_t group)
{
	bool more = true;
	int err = 0;

	while (more && !err) {
		more = false;
		for (size_t i = 0; i < count && !err; i++) {
			if (boots[i].grouped ||
			    !fit(&boots[i].clock, matches, match_ends(&boots[i].ends, common, matches)))
				continue;
			boots[i].grouped = more = true;
			boots[i].group = group;
			err = join(common, &boots[i]);
		}
	}
	return err;
}

static size_t most_ends(const struct boot *boots, size_t count)
{
	size_t most = 0;

	for (size_t i = 0; i < count; i++)
		if (boots[i].ends.count > most)
			most = boots[i].ends.count;
	return most;
}

/* The first boot that has no clock yet gives its own to all that can be compared with it. */
static int group_boots(struct boot *boots, size_t count)
{
	struct match *matches = calloc(most_ends(boots, count) + 1, sizeof(*matches));
	size_t group = 0;
	int err = matches ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++) {
		struct ends common = { 0 };

		if (boots[i].grouped)
			continue;
		boots[i].clock = (struct box_clock){ 0 };
		boots[i].group = group;
		boots[i].grouped = true;
		err = join(&common, &boots[i]);
		if (!err)
			err = gather(boots, count, &common, matches, group++);
		free(common.of);
	}
	free(matches);
	return err;
}

static size_t boot_of(struct boot *boots, size_t *count, const struct rw_box_header *header)
{
	for (size_t i = 0; i < *count; i++)
		if (!strncmp(boots[i].header->boot_id, header->boot_id, sizeof(header->boot_id)))
			return i;
	boots[*count] = (struct boot){ .header = header };
	return (*count)++;
}

/* Ends of a box that are kept: one in so many. */
static uint64_t find_one_in(const struct box_entry *entries, size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++) {
		const struct rw_box_header *header = &entries[i].reader.header;
		uint64_t held = header->head < header->ring_slots ? header->head : header->ring_slots;

		most = held > most ? held : most;
	}
	return most / KEPT + 1;
}

static int gather_ends(struct boot *boots, size_t boot_count, const struct box_entry *entries, size_t count,
		       const size_t *boot)
{
	uint64_t one_in = find_one_in(entries, count);
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = add_box(&boots[boot[i]].ends, &entries[i].reader, one_in);
	for (size_t i = 0; i < boot_count; i++)
		order(&boots[i].ends);
	return err;
}

int common_clock_find(struct box_entry *entries, size_t count, size_t *groups)
{
	struct boot *boots = calloc(count + 1, sizeof(*boots));
	size_t boot_count = 0;
	int err = boots ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && !err; i++)
		groups[i] = boot_of(boots, &boot_count, &entries[i].reader.header);
	if (!err && boot_count > 1)
		err = gather_ends(boots, boot_count, entries, count, groups);
	if (!err && boot_count > 1)
		err = group_boots(boots, boot_count);
	for (size_t i = 0; i < count && !err; i++) {
		const struct boot *boot = &boots[groups[i]];

		box_reader_set_clock(&entries[i].reader, &boot->clock);
		groups[i] = boot->group;
	}
	for (size_t i = 0; i < boot_count; i++)
		free(boots[i].ends.of);
	free(boots);
	return err;
}
