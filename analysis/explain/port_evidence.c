/* SPDX-License-Identifier: MIT */
#include "analysis/explain/port_evidence.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/model.h"
#include "analysis/report/record.h"

/* A pace that was seen for less than this is none. */
static const uint64_t pace_ns = 30000000000u;

enum weight { WEIGHT_NONE, WEIGHT_LOAD, WEIGHT_SLOWER, WEIGHT_ERRORS, WEIGHT_LINK };

/*
 * least: of so many in the window is spoken. A healthy link counts an error now and then, and its adapter resends:
 * ibqueryerrors of infiniband-diags has 10 and 100 as its thresholds, too. Counters of LOAD move in healthy jobs: they
 * are compared with the port's own pace before.
 */
static const struct {
	const char *words;
	enum weight weight;
	uint64_t least;
} counters[ANALYSIS_PORT_COUNTERS] = {
	[ANALYSIS_PORT_DOWNED] = { "link went down", WEIGHT_LINK, 1 },
	[ANALYSIS_PORT_RECOVERED] = { "link was trained anew", WEIGHT_LINK, 1 },
	[ANALYSIS_PORT_SYMBOL_ERRORS] = { "symbol errors", WEIGHT_ERRORS, 10 },
	[ANALYSIS_PORT_INTEGRITY_ERRORS] = { "link integrity errors", WEIGHT_ERRORS, 10 },
	[ANALYSIS_PORT_OVERRUNS] = { "input buffer overruns", WEIGHT_ERRORS, 10 },
	[ANALYSIS_PORT_CHECKSUM_ERRORS] = { "checksum errors", WEIGHT_ERRORS, 10 },
	[ANALYSIS_PORT_RECEIVE_ERRORS] = { "receive errors", WEIGHT_ERRORS, 10 },
	[ANALYSIS_PORT_REMOTE_ERRORS] = { "packets damaged before the last switch", WEIGHT_ERRORS, 100 },
	[ANALYSIS_PORT_SEND_ERRORS] = { "send errors", WEIGHT_ERRORS, 10 },
	[ANALYSIS_PORT_SEND_DISCARDS] = { "packets discarded instead of sent", WEIGHT_ERRORS, 100 },
	[ANALYSIS_PORT_ACK_TIMEOUTS] = { "acknowledgements timed out", WEIGHT_ERRORS, 10 },
	[ANALYSIS_PORT_OUT_OF_SEQUENCE] = { "packets out of sequence", WEIGHT_ERRORS, 100 },
	[ANALYSIS_PORT_SEQUENCE_NAKS] = { "packets asked for again", WEIGHT_ERRORS, 100 },
	[ANALYSIS_PORT_RECEIVE_DROPS] = { "received packets dropped", WEIGHT_LOAD, 1000 },
	[ANALYSIS_PORT_SEND_WAITS] = { "ticks without credit to send", WEIGHT_LOAD, 1000000 },
	[ANALYSIS_PORT_ECN_MARKED] = { "packets marked for congestion", WEIGHT_LOAD, 1000 },
	[ANALYSIS_PORT_CNP_SENT] = { "congestion notifications sent", WEIGHT_LOAD, 1000 },
	[ANALYSIS_PORT_CNP_HANDLED] = { "slowed down by congestion notifications", WEIGHT_LOAD, 1000 },
	[ANALYSIS_PORT_ADAPTIVE_RESENT] = { "packets sent again by adaptive retransmission", WEIGHT_LOAD, 1000 },
	[ANALYSIS_PORT_ADAPTIVE_TIMEOUTS] = { "adaptive retransmissions timed out", WEIGHT_LOAD, 10 },
	[ANALYSIS_PORT_RECEIVER_NOT_READY] = { "retries given up as the receiver was not ready", WEIGHT_LOAD, 10 },
	[ANALYSIS_PORT_TCP_RESENT] = { "segments sent again", WEIGHT_LOAD, 100 },
	[ANALYSIS_PORT_PAUSES_RECEIVED] = { "pause frames received", WEIGHT_LOAD, 1000 },
	[ANALYSIS_PORT_PAUSES_SENT] = { "pause frames sent", WEIGHT_LOAD, 1000 },
	[ANALYSIS_PORT_PAUSED_US] = { "microseconds told to pause", WEIGHT_LOAD, 100000 },
};

/* What one port showed around the beginning. */
struct showing {
	const struct port *port;
	const struct port_reading *before, *last; /* the window's ends */
	uint64_t rises[ANALYSIS_PORT_COUNTERS];   /* 0: not to be spoken of */
	uint64_t from_ns, to_ns;                  /* in which they rose; to_ns 0: nothing of the kind */
	bool went_down;                           /* and is */
	bool fell;                                /* to a lower rate */
	int64_t others_mbit_s;                    /* that of the other ports of its model, higher; 0 not so */
	uint32_t others;
	enum weight weight;
};

/* The latest reading of at_ns or before; the oldest that is kept where there is none. */
static const struct port_reading *reading_before(const struct port *port, uint64_t at_ns)
{
	const struct port_reading *reading, *found = NULL;

	for (uint64_t age = 0; (reading = port_reading_at(port, age)); age++) {
		found = reading;
		if (reading->at_ns <= at_ns)
			break;
	}
	return found;
}

static bool is_unusual(const struct showing *showing, int counter, uint64_t risen)
{
	uint64_t seen_ns = showing->before->at_ns - showing->port->first_ns;
	double pace = seen_ns >= pace_ns ? (double)showing->before->counts[counter] / (double)seen_ns : 0;
	double usual = pace * (double)(showing->last->at_ns - showing->before->at_ns);

	if (risen < counters[counter].least || (double)risen < PORT_BEYOND * usual)
		return false;
	return counters[counter].weight != WEIGHT_LOAD || seen_ns >= pace_ns;
}

static void stretch(struct showing *showing, uint64_t from_ns, uint64_t to_ns)
{
	if (!showing->to_ns || from_ns < showing->from_ns)
		showing->from_ns = from_ns;
	if (to_ns > showing->to_ns)
		showing->to_ns = to_ns;
}

static bool differs(const struct showing *showing, const struct port_reading *left, const struct port_reading *right)
{
	for (int i = 0; i < ANALYSIS_PORT_COUNTERS; i++)
		if (showing->rises[i] && left->counts[i] != right->counts[i])
			return true;
	return (showing->went_down && left->active != right->active) || (showing->fell && left->mbit_s > right->mbit_s);
}

/* Between which readings it happened. */
static void find_times(struct showing *showing)
{
	const struct port_reading *reading, *later = NULL;

	for (uint64_t age = 0; (reading = port_reading_at(showing->port, age)); later = reading, age++) {
		if (later && later->at_ns <= showing->last->at_ns && reading->at_ns >= showing->before->at_ns &&
		    differs(showing, reading, later))
			stretch(showing, reading->at_ns, later->at_ns);
	}
}

static void raise(struct showing *showing, enum weight weight)
{
	if (weight > showing->weight)
		showing->weight = weight;
}

static void find_rises(struct showing *showing)
{
	for (int i = 0; i < ANALYSIS_PORT_COUNTERS; i++) {
		uint64_t risen = showing->last->counts[i] - showing->before->counts[i];

		if (!is_unusual(showing, i, risen))
			continue;
		showing->rises[i] = risen;
		raise(showing, counters[i].weight);
	}
}

static bool was_active_since(const struct showing *showing)
{
	const struct port_reading *reading;

	for (uint64_t age = 0; (reading = port_reading_at(showing->port, age)); age++)
		if (reading->at_ns >= showing->before->at_ns && reading->at_ns <= showing->last->at_ns &&
		    reading->active)
			return true;
	return false;
}

static void find_state(struct showing *showing)
{
	showing->went_down = !showing->last->active && was_active_since(showing);
	showing->fell = showing->last->active && showing->last->mbit_s > 0 &&
			showing->before->mbit_s > showing->last->mbit_s;
	if (showing->went_down || showing->fell)
		raise(showing, WEIGHT_LINK);
}

/* All other active ports of the same model, two at least, run at one rate that is higher. A host has adapters for
 * storage and management as well: those are other models, or are left alone here. */
static void compare_with_others(struct showing *showing, const struct ports *ports)
{
	const struct port *own = showing->port;
	int64_t common = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < ports->count && *own->model; i++) {
		const struct port *port = ports->items[i];
		const struct port_reading *last = port_reading_at(port, 0);

		if (port == own || strcmp(port->model, own->model) || !last->active || last->mbit_s <= 0)
			continue;
		if (count++ && last->mbit_s != common)
			return;
		common = last->mbit_s;
	}
	if (count < 2 || !showing->last->active || showing->last->mbit_s <= 0 || common <= showing->last->mbit_s)
		return;
	showing->others = count;
	showing->others_mbit_s = common;
	raise(showing, WEIGHT_SLOWER);
}

static struct showing look(const struct ports *ports, const struct port *port, uint64_t since_ns)
{
	struct showing showing = { .port = port };

	showing.before = reading_before(port, since_ns > PORT_LEAD_NS ? since_ns - PORT_LEAD_NS : 0);
	showing.last = reading_before(port, since_ns + PORT_LEAD_NS);
	if (!port->was_active || !showing.before || showing.last->at_ns < showing.before->at_ns)
		return (struct showing){ 0 };
	find_rises(&showing);
	find_state(&showing);
	find_times(&showing);
	if (!showing.fell)
		compare_with_others(&showing, ports);
	return showing;
}

/* "1,214" */
static void write_count(char *text, size_t room, uint64_t count)
{
	char digits[24];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
	size_t used = 0;

	for (int i = 0; i < length && used + 2 < room; i++) {
		if (i && (length - i) % 3 == 0)
			text[used++] = ',';
		text[used++] = digits[i];
	}
	text[used] = '\0';
}

static void write_rise(FILE *out, uint32_t counter, uint64_t count)
{
	char text[32];

	write_count(text, sizeof(text), count);
	if (counters[counter].weight != WEIGHT_LINK)
		fprintf(out, ", %s +%s", counters[counter].words, text);
	else if (count <= 2)
		fprintf(out, ", %s %s", counters[counter].words, count == 1 ? "once" : "twice");
	else
		fprintf(out, ", %s %s times", counters[counter].words, text);
}

/* Seconds, rounded away from the beginning: readings are what they lie between. */
static void write_moment(FILE *out, uint64_t at_ns, uint64_t since_ns)
{
	uint64_t apart_ns = at_ns > since_ns ? at_ns - since_ns : since_ns - at_ns;

	fprintf(out, "%" PRIu64 " s %s", (apart_ns + 999999999) / 1000000000, at_ns > since_ns ? "after" : "before");
}

static void write_times(FILE *out, const struct rw_port_showing *showing, uint64_t since_ns)
{
	if (!showing->to_ns)
		return;
	fputs(" (between ", out);
	write_moment(out, showing->from_ns, since_ns);
	fputs(" and ", out);
	write_moment(out, showing->to_ns, since_ns);
	fputs(" it began)", out);
}

static void write_showing(FILE *out, const struct rw_port_showing *showing, uint64_t since_ns)
{
	if (showing->flags & RW_PORT_WENT_DOWN)
		fputs(", is down", out);
	if (showing->flags & RW_PORT_FELL)
		fprintf(out, ", fell from %g to %g Gb/s", (double)showing->before_mbit / 1000,
			(double)showing->last_mbit / 1000);
	for (int i = 0; i < RW_PORT_RISES && showing->rises[i]; i++)
		write_rise(out, showing->counters[i], showing->rises[i]);
	write_times(out, showing, since_ns);
	if (showing->others)
		fprintf(out, ", runs at %g Gb/s, the %u others of its model here at %g",
			(double)showing->last_mbit / 1000, (unsigned)showing->others,
			(double)showing->others_mbit / 1000);
}

/* Boxes may be of several hosts; which one's port it is must then be said. */
static const char *host_to_say(const struct analysis *analysis, const struct port_shown *shown)
{
	bool said = shown->host < analysis->job.host_count && analysis->job.host_count > 1;

	return said ? analysis->job.hosts[shown->host] : "";
}

static void add(const struct analysis *analysis, struct record *record, const struct port_shown *shown,
		uint64_t since_ns)
{
	const struct rw_port_showing *showing = &shown->showing;
	const char *host = host_to_say(analysis, shown);
	char text[176] = "", what[256], port[24] = "";
	FILE *out = fmemopen(text, sizeof(text), "w");

	if (!out)
		return;
	write_showing(out, showing, since_ns);
	fclose(out);
	text[sizeof(text) - 1] = '\0';
	if (showing->number)
		snprintf(port, sizeof(port), " port %u", (unsigned)showing->number);
	snprintf(what, sizeof(what), "%s%s%s%s: %s", host, *host ? ", " : "", showing->name, port,
		 *text ? text + 2 : "");
	record_add_evidence(record, PORT_SOURCE, -1, what);
}

static uint32_t mbit(int64_t value)
{
	return value > 0 ? (uint32_t)value : 0;
}

/* The weightiest counters, in the table's order. */
static struct port_shown as_shown(const struct showing *showing, uint64_t since_ns)
{
	struct rw_port_showing shown = {
		.number = (uint32_t)showing->port->number,
		.flags = (showing->went_down ? RW_PORT_WENT_DOWN : 0u) | (showing->fell ? RW_PORT_FELL : 0u),
		.since_ns = since_ns,
		.from_ns = showing->from_ns,
		.to_ns = showing->to_ns,
		.before_mbit = mbit(showing->before->mbit_s),
		.last_mbit = mbit(showing->last->mbit_s),
		.others = showing->others,
		.others_mbit = mbit(showing->others_mbit_s),
		.weight = showing->weight,
	};
	int rises = 0;

	snprintf(shown.name, sizeof(shown.name), "%s", showing->port->name);
	for (uint32_t i = 0; i < ANALYSIS_PORT_COUNTERS && rises < RW_PORT_RISES; i++) {
		if (!showing->rises[i])
			continue;
		shown.counters[rises] = i;
		shown.rises[rises++] = showing->rises[i];
	}
	return (struct port_shown){ shown, PORT_OWN_HOST };
}

static int by_weight(const void *left, const void *right)
{
	const struct rw_port_showing *a = &((const struct port_shown *)left)->showing,
				     *b = &((const struct port_shown *)right)->showing;

	if (a->weight != b->weight)
		return (b->weight > a->weight) - (b->weight < a->weight);
	int order = strcmp(a->name, b->name);

	return order ? order : (a->number > b->number) - (a->number < b->number);
}

/* Are all readings still there that the port's showing around since_ns is made of? Of a collector that came later they
 * never were. */
static bool has_readings(const struct port *port, uint64_t since_ns)
{
	uint64_t from_ns = since_ns > PORT_LEAD_NS ? since_ns - PORT_LEAD_NS : 0,
		 kept = port->reading_count < PORT_READINGS ? port->reading_count : PORT_READINGS;
	const struct port_reading *oldest = port_reading_at(port, kept - 1);

	return oldest && (oldest->at_ns <= from_ns || (oldest->at_ns == port->first_ns && port->first_ns <= since_ns));
}

/* Where ports are read, all boxes are this machine's. */
static bool is_same_port(const struct ports *ports, const struct port_shown *left, const struct port_shown *right)
{
	return (ports->count || left->host == right->host) && left->showing.number == right->showing.number &&
	       !strcmp(left->showing.name, right->showing.name);
}

/* Of that port, nearest to since_ns; NULL: nothing near is remembered. */
static const struct port_shown *remembered(const struct ports *ports, const struct port_shown *like, uint64_t since_ns)
{
	const struct port_shown *nearest = NULL;
	uint64_t least_ns = PORT_LEAD_NS;

	for (uint32_t i = 0; ports->memory && i < ports->memory->count; i++) {
		const struct port_shown *shown = &ports->memory->shown[i];
		uint64_t at_ns = shown->showing.since_ns,
			 apart_ns = at_ns > since_ns ? at_ns - since_ns : since_ns - at_ns;

		if (!is_same_port(ports, shown, like) || apart_ns > least_ns)
			continue;
		nearest = shown;
		least_ns = apart_ns;
	}
	return nearest;
}

static const struct port *live_port(const struct ports *ports, const struct port_shown *shown)
{
	for (uint32_t i = 0; i < ports->count; i++)
		if (ports->items[i]->number == (int32_t)shown->showing.number &&
		    !strcmp(ports->items[i]->name, shown->showing.name))
			return ports->items[i];
	return NULL;
}

/* What all ports showed around since_ns, the weightiest first; at most PORTS_MAX + PORTS_SHOWN. */
static uint32_t collect(const struct ports *ports, uint64_t since_ns, struct port_shown *shown)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < ports->count; i++) {
		struct showing showing = look(ports, ports->items[i], since_ns);

		if (showing.weight && has_readings(ports->items[i], since_ns))
			shown[count++] = as_shown(&showing, since_ns);
	}
	for (uint32_t i = 0; ports->memory && i < ports->memory->count; i++) {
		const struct port_shown *old = &ports->memory->shown[i];
		const struct port *port = live_port(ports, old);

		if (remembered(ports, old, since_ns) == old && !(port && has_readings(port, since_ns)))
			shown[count++] = *old;
	}
	if (count)
		qsort(shown, count, sizeof(*shown), by_weight);
	return count < PORT_SAID ? count : PORT_SAID;
}

void port_evidence_attach(const struct analysis *analysis, struct record *record, uint64_t since_ns)
{
	const struct ports *ports = &analysis->ports;
	struct port_shown *shown = ports->memory ? calloc(PORTS_MAX + PORTS_SHOWN, sizeof(*shown)) : NULL;
	uint32_t count = shown ? collect(ports, since_ns, shown) : 0;

	for (uint32_t i = 0; i < count; i++) {
		add(analysis, record, &shown[i], since_ns);
		if (shown[i].showing.since_ns == since_ns)
			ports_remember(ports->memory, &shown[i].showing, shown[i].host);
	}
	free(shown);
}

/* The latest are kept: the oldest makes room. */
static void put_latest(struct rw_ports *record, const struct rw_port_showing *showing)
{
	uint32_t at = 0;

	if (record->count < RW_PORT_SHOWINGS)
		at = record->count++;
	else
		for (uint32_t i = 1; i < record->count; i++)
			if (record->showings[i].since_ns < record->showings[at].since_ns)
				at = i;
	if (record->showings[at].since_ns <= showing->since_ns)
		record->showings[at] = *showing;
}

static bool stands_in(const struct rw_ports *record, const struct rw_port_showing *showing)
{
	for (uint32_t i = 0; i < record->count; i++)
		if (record->showings[i].number == showing->number && !strcmp(record->showings[i].name, showing->name) &&
		    record->showings[i].since_ns + PORT_LEAD_NS >= showing->since_ns)
			return true;
	return false;
}

bool port_record_take(const struct analysis *analysis, uint64_t now_ns, struct rw_ports *record)
{
	const struct ports *ports = &analysis->ports;
	struct port_shown *shown = ports->memory ? calloc(PORTS_MAX + PORTS_SHOWN, sizeof(*shown)) : NULL;
	uint32_t count = shown ? collect(ports, now_ns, shown) : 0;

	*record = (struct rw_ports){ .version = RW_PORTS_VERSION };
	for (uint32_t i = 0; shown && i < ports->memory->count; i++)
		put_latest(record, &ports->memory->shown[i].showing);
	for (uint32_t i = 0; i < count; i++)
		if (shown[i].showing.since_ns == now_ns && !stands_in(record, &shown[i].showing))
			put_latest(record, &shown[i].showing);
	free(shown);
	return record->count != 0;
}

/* It is somebody else's word. */
static bool is_sound(const struct rw_port_showing *showing)
{
	for (int i = 0; i < RW_PORT_RISES; i++)
		if (showing->counters[i] >= ANALYSIS_PORT_COUNTERS)
			return false;
	return *showing->name && memchr(showing->name, '\0', sizeof(showing->name)) && showing->number <= INT32_MAX &&
	       showing->from_ns <= showing->to_ns && showing->since_ns <= UINT64_MAX / 2 &&
	       showing->to_ns <= UINT64_MAX / 2 && showing->weight > WEIGHT_NONE && showing->weight <= WEIGHT_LINK;
}

int port_record_put(struct analysis *analysis, analysis_process_id id, const struct rw_ports *record)
{
	const struct process *process = job_process(&analysis->job, id);

	if (!process || record->version != RW_PORTS_VERSION || record->count > RW_PORT_SHOWINGS)
		return -EINVAL;
	for (uint32_t i = 0; i < record->count; i++)
		if (!is_sound(&record->showings[i]))
			return -EINVAL;
	if (!record->count)
		return 0;
	if (ports_need_memory(&analysis->ports))
		return -ENOMEM;
	for (uint32_t i = 0; i < record->count; i++)
		ports_remember(analysis->ports.memory, &record->showings[i], process->host);
	return 0;
}
