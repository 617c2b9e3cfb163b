/* SPDX-License-Identifier: MIT */
#include "collector/sources/machine/pause_counters.h"

#include <ctype.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "analysis/analysis.h"

enum {
	ROOT = 96,
	LINE = 256,
	INTERFACES = 64,  /* whose names are kept; of others nothing is read */
	NAMES = 16384,    /* of one driver: an adapter with 128 channels has some 6,000 */
	PLACES = 64,      /* of one interface: three counters of eight priorities and of the link, sent and received */
};

struct pattern {
	enum analysis_port_counter counter;
	const char *name; /* '#' stands for the digits of a priority */
};

/* What one driver counts in two ways (bnxt_en's pause frames of each priority, mlx5's rx_pause_ctrl_phy) stands here
 * once. */
static const struct pattern patterns[] = {
	/* mlx5 */
	{ ANALYSIS_PORT_PAUSES_RECEIVED, "rx_prio#_pause" },
	{ ANALYSIS_PORT_PAUSES_RECEIVED, "rx_global_pause" },
	{ ANALYSIS_PORT_PAUSES_SENT, "tx_prio#_pause" },
	{ ANALYSIS_PORT_PAUSES_SENT, "tx_global_pause" },
	{ ANALYSIS_PORT_PAUSED_US, "rx_prio#_pause_duration" },
	{ ANALYSIS_PORT_PAUSED_US, "rx_global_pause_duration" },
	/* bnxt_en */
	{ ANALYSIS_PORT_PAUSES_RECEIVED, "rx_pfc_frames" },
	{ ANALYSIS_PORT_PAUSES_RECEIVED, "rx_pause_frames" },
	{ ANALYSIS_PORT_PAUSES_SENT, "tx_pfc_frames" },
	{ ANALYSIS_PORT_PAUSES_SENT, "tx_pause_frames" },
	{ ANALYSIS_PORT_PAUSED_US, "pfc_pri#_rx_duration_us" },
	/* ice */
	{ ANALYSIS_PORT_PAUSES_RECEIVED, "rx_priority_#_xoff.nic" },
	{ ANALYSIS_PORT_PAUSES_RECEIVED, "link_xoff_rx.nic" },
	{ ANALYSIS_PORT_PAUSES_SENT, "tx_priority_#_xoff.nic" },
	{ ANALYSIS_PORT_PAUSES_SENT, "link_xoff_tx.nic" },
	/* i40e */
	{ ANALYSIS_PORT_PAUSES_RECEIVED, "port.rx_priority_#_xoff_rx" },
	{ ANALYSIS_PORT_PAUSES_RECEIVED, "port.link_xoff_rx" },
	{ ANALYSIS_PORT_PAUSES_SENT, "port.tx_priority_#_xoff_tx" },
	{ ANALYSIS_PORT_PAUSES_SENT, "port.link_xoff_tx" },
};

/* Where in the driver's list one counter is. */
struct place {
	uint32_t at;
	enum analysis_port_counter counter;
};

struct interface {
	char name[IFNAMSIZ];
	uint32_t total; /* of the driver's names when they were read; 0: not yet */
	struct place places[PLACES];
	size_t count;
};

struct pause_counters {
	char root[ROOT];
	int socket; /* -1: of a stand-in */
	struct interface interfaces[INTERFACES];
	size_t count;
};

static bool fits(const char *pattern, const char *name)
{
	for (; *pattern; pattern++) {
		if (*pattern != '#' && *pattern != *name++)
			return false;
		if (*pattern != '#')
			continue;
		if (!isdigit((unsigned char)*name))
			return false;
		while (isdigit((unsigned char)*name))
			name++;
	}
	return !*name;
}

/* ANALYSIS_PORT_COUNTERS: none. */
static enum analysis_port_counter counter_of(const char *name)
{
	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (fits(patterns[i].name, name))
			return patterns[i].counter;
	return ANALYSIS_PORT_COUNTERS;
}

/* -1 is none that was read yet. Sums that do not fit, which no port ever counts to, are left as they are. */
static void add(int64_t *count, uint64_t value)
{
	if (*count < 0)
		*count = 0;
	if (value <= (uint64_t)(INT64_MAX - *count))
		*count += (int64_t)value;
}

/* Room that the kernel fills with as many entries as the driver has, and that may have become more since they were
 * counted: behind it lies a page in which no write succeeds. */
struct room {
	void *map;
	size_t size, whole;
};

static bool room_make(struct room *room, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), rounded = (size + page - 1) / page * page;

	*room = (struct room){ .size = size, .whole = rounded + page };
	room->map = mmap(NULL, room->whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room->map == MAP_FAILED)
		return false;
	if (!mprotect((char *)room->map + rounded, page, PROT_NONE))
		return true;
	munmap(room->map, room->whole);
	return false;
}

static void room_free(struct room *room)
{
	munmap(room->map, room->whole);
}

static bool ask(const struct pause_counters *counters, const char *interface, void *command)
{
	struct ifreq request = { 0 };

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	request.ifr_data = command;
	return !ioctl(counters->socket, SIOCETHTOOL, &request);
}

/* 0: it has none, or so many that they are not read. */
static uint32_t count_names(const struct pause_counters *counters, const char *interface)
{
	union {
		struct ethtool_sset_info info; /* the numbers follow it */
		uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} sets = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = UINT64_C(1) << ETH_SS_STATS } };

	/* The kernel clears in the mask what the driver does not have. */
	if (!ask(counters, interface, &sets) || !sets.info.sset_mask)
		return 0;
	uint32_t count;
	memcpy(&count, sets.room + sizeof(sets.info), sizeof(count));
	return count <= NAMES ? count : 0;
}

static void note_name(struct interface *interface, uint32_t at, const char *text)
{
	char name[ETH_GSTRING_LEN + 1] = "";

	memcpy(name, text, ETH_GSTRING_LEN);
	enum analysis_port_counter counter = counter_of(name);

	if (counter != ANALYSIS_PORT_COUNTERS && interface->count < PLACES)
		interface->places[interface->count++] = (struct place){ at, counter };
}

static void read_names(const struct pause_counters *counters, struct interface *interface, uint32_t total)
{
	struct room room;

	interface->total = 0;
	interface->count = 0;
	if (!room_make(&room, sizeof(struct ethtool_gstrings) + (size_t)total * ETH_GSTRING_LEN))
		return;
	struct ethtool_gstrings *names = room.map;

	*names = (struct ethtool_gstrings){ .cmd = ETHTOOL_GSTRINGS, .string_set = ETH_SS_STATS, .len = total };
	if (ask(counters, interface->name, names) && names->len == total) {
		for (uint32_t i = 0; i < total; i++)
			note_name(interface, i, (const char *)names->data + (size_t)i * ETH_GSTRING_LEN);
		interface->total = total;
	}
	room_free(&room);
}

static void read_values(const struct pause_counters *counters, struct interface *interface, int64_t *counts)
{
	struct room room;

	if (!room_make(&room, sizeof(struct ethtool_stats) + (size_t)interface->total * sizeof(uint64_t)))
		return;
	struct ethtool_stats *stats = room.map;

	stats->cmd = ETHTOOL_GSTATS;
	stats->n_stats = interface->total;
	if (!ask(counters, interface->name, stats) || stats->n_stats != interface->total)
		interface->total = 0; /* what is at which place may be another now */
	for (size_t i = 0; i < interface->count && interface->total; i++)
		add(&counts[interface->places[i].counter], (uint64_t)stats->data[interface->places[i].at]);
	room_free(&room);
}

static struct interface *find(struct pause_counters *counters, const char *name)
{
	for (size_t i = 0; i < counters->count; i++)
		if (!strcmp(counters->interfaces[i].name, name))
			return &counters->interfaces[i];
	if (counters->count == INTERFACES || strlen(name) >= IFNAMSIZ)
		return NULL;
	struct interface *interface = &counters->interfaces[counters->count++];

	*interface = (struct interface){ 0 };
	snprintf(interface->name, sizeof(interface->name), "%s", name);
	return interface;
}

static void ask_driver(struct pause_counters *counters, const char *name, int64_t *counts)
{
	struct interface *interface = find(counters, name);
	uint32_t total = interface ? count_names(counters, name) : 0;

	if (!total)
		return;
	if (total != interface->total)
		read_names(counters, interface, total);
	if (interface->total && interface->count)
		read_values(counters, interface, counts);
}

/* "     rx_prio3_pause: 1214" */
static void take_line(char *line, int64_t *counts)
{
	char *name = line + strspn(line, " \t"), *colon = strrchr(line, ':'), *end;

	if (!colon || !isdigit((unsigned char)colon[1 + strspn(colon + 1, " ")]))
		return;
	*colon = '\0';
	uint64_t value = strtoull(colon + 1, &end, 10);
	enum analysis_port_counter counter = *end == '\n' || !*end ? counter_of(name) : ANALYSIS_PORT_COUNTERS;

	if (counter != ANALYSIS_PORT_COUNTERS)
		add(&counts[counter], value);
}

static void read_played(const struct pause_counters *counters, const char *interface, int64_t *counts)
{
	char path[ROOT + 64], line[LINE];

	snprintf(path, sizeof(path), "%s/ethtool/%.32s", counters->root, interface);
	FILE *file = fopen(path, "re");

	while (file && fgets(line, sizeof(line), file))
		take_line(line, counts);
	if (file)
		fclose(file);
}

struct pause_counters *pause_counters_open(const char *root)
{
	struct pause_counters *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	snprintf(made->root, sizeof(made->root), "%s", root);
	made->socket = *root ? -1 : socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (*root || made->socket >= 0)
		return made;
	free(made);
	return NULL;
}

void pause_counters_close(struct pause_counters *counters)
{
	if (counters && counters->socket >= 0)
		close(counters->socket);
	free(counters);
}

void pause_counters_read(struct pause_counters *counters, const char *interface, int64_t *counts)
{
	if (*counters->root)
		read_played(counters, interface, counts);
	else
		ask_driver(counters, interface, counts);
}
