/* SPDX-License-Identifier: MIT */
/* Which network ports a late transfer or a broken connection can be explained by: docs/host-evidence.md, "Network
 * ports". */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collector/sources/machine/port_files.h"
#include "console/doctor/check.h"
#include "console/doctor/child.h"

enum { SECONDS = 20, PORTS = 64, NAMED = 16 };

struct ports {
	size_t count;
	bool tcp;
	struct analysis_port_state states[PORTS];
};

static int by_name(const void *left, const void *right)
{
	const struct analysis_port_state *a = left, *b = right;
	int order = strverscmp(a->name, b->name);

	return order ? order : a->number - b->number;
}

/* TCP as a whole is none: it is said behind them. */
static void take_tcp_out(struct ports *ports)
{
	for (size_t i = 0; i < ports->count; i++) {
		if (strcmp(ports->states[i].name, PORT_FILES_TCP) != 0)
			continue;
		ports->states[i] = ports->states[--ports->count];
		ports->tcp = true;
		return;
	}
}

/* In a child: an adapter's firmware may not answer. */
static void read_ports(const void *argument, void *result, size_t size)
{
	struct ports *ports = result;

	(void)size;
	ports->count = port_files_read(argument, NULL, ports->states, PORTS);
	take_tcp_out(ports);
	qsort(ports->states, ports->count, sizeof(*ports->states), by_name);
}

static bool counts_anything(const struct analysis_port_state *state)
{
	for (int i = 0; i < ANALYSIS_PORT_COUNTERS; i++)
		if (state->counts[i] >= 0)
			return true;
	return false;
}

/* "mlx5_0 port 1, 400 Gb/s" */
static void add_port(char *text, size_t room, const struct analysis_port_state *state)
{
	size_t used = strlen(text);
	char number[24] = "", rate[32] = "";

	if (state->number)
		snprintf(number, sizeof(number), " port %d", state->number);
	if (state->mbit_s >= 0)
		snprintf(rate, sizeof(rate), " %g Gb/s", (double)state->mbit_s / 1000);
	snprintf(text + used, room - used, "%s%s%s%s%s%s", used ? ", " : "", state->name, number, rate,
		 state->active ? "" : " not active", counts_anything(state) ? "" : " without counters");
}

static void say_ports(const struct ports *ports, struct check_result *result)
{
	char list[sizeof(result->text) - 128] = "", more[32] = "";
	size_t blind = 0;

	for (size_t i = 0; i < ports->count; i++) {
		blind += !counts_anything(&ports->states[i]);
		if (i < NAMED)
			add_port(list, sizeof(list), &ports->states[i]);
	}
	if (ports->count > NAMED)
		snprintf(more, sizeof(more), " and %zu more", ports->count - NAMED);
	check_say(result, blind ? VERDICT_WARNING : VERDICT_OK, "%zu %s: %s%s%s", ports->count,
		  ports->count == 1 ? "port" : "ports", list, more, ports->tcp ? "; what TCP sends again" : "");
	if (blind)
		check_advise(result, "of a port without counters in /sys only its state and rate are seen; a container "
				     "needs the host's /sys");
}

static void ports_run(struct check_context *context, struct check_result *result)
{
	static struct ports ports;
	int error = child_call(read_ports, context->root, &ports, sizeof(ports), SECONDS);

	if (error) {
		check_say(result, VERDICT_NO, "%s/sys/class/infiniband, net: %s%s", context->root,
			  child_error_text(error), error == -ETIMEDOUT ? "; an adapter may be sick" : "");
		check_advise(result, "look at the kernel log, and at ibstat");
	} else if (!ports.count) {
		check_say(result, VERDICT_NONE,
			  "no RDMA device is to be seen here, and no network interface that belongs to a device: "
			  "nothing is known of "
			  "links and their errors%s",
			  ports.tcp ? ", only what TCP sends again" : "");
	} else {
		say_ports(&ports, result);
	}
}

const struct check ports_check = { .name = "network ports", .run = ports_run };
