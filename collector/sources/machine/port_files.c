/* SPDX-License-Identifier: MIT */
#include "collector/sources/machine/port_files.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collector/sources/machine/pause_counters.h"

enum { PATH_ROOM = 512, TEXT_ROOM = 128, SNMP_LINE = 1024, ETHERNET = 1 /* ARPHRD_ETHER */ };

struct file {
	enum analysis_port_counter counter;
	const char *path; /* below the port's directory */
};

static const struct file rdma_files[] = {
	{ ANALYSIS_PORT_DOWNED, "counters/link_downed" },
	{ ANALYSIS_PORT_RECOVERED, "counters/link_error_recovery" },
	{ ANALYSIS_PORT_SYMBOL_ERRORS, "counters/symbol_error" },
	{ ANALYSIS_PORT_INTEGRITY_ERRORS, "counters/local_link_integrity_errors" },
	{ ANALYSIS_PORT_OVERRUNS, "counters/excessive_buffer_overrun_errors" },
	{ ANALYSIS_PORT_RECEIVE_ERRORS, "counters/port_rcv_errors" },
	{ ANALYSIS_PORT_REMOTE_ERRORS, "counters/port_rcv_remote_physical_errors" },
	{ ANALYSIS_PORT_SEND_DISCARDS, "counters/port_xmit_discards" },
	{ ANALYSIS_PORT_SEND_WAITS, "counters/port_xmit_wait" },
	{ ANALYSIS_PORT_CHECKSUM_ERRORS, "hw_counters/rx_icrc_encapsulated" },
	{ ANALYSIS_PORT_ACK_TIMEOUTS, "hw_counters/local_ack_timeout_err" },
	{ ANALYSIS_PORT_OUT_OF_SEQUENCE, "hw_counters/out_of_sequence" },
	{ ANALYSIS_PORT_SEQUENCE_NAKS, "hw_counters/packet_seq_err" },
	{ ANALYSIS_PORT_ECN_MARKED, "hw_counters/np_ecn_marked_roce_packets" },
	{ ANALYSIS_PORT_CNP_SENT, "hw_counters/np_cnp_sent" },
	{ ANALYSIS_PORT_CNP_HANDLED, "hw_counters/rp_cnp_handled" },
	{ ANALYSIS_PORT_ADAPTIVE_RESENT, "hw_counters/roce_adp_retrans" },
	{ ANALYSIS_PORT_ADAPTIVE_TIMEOUTS, "hw_counters/roce_adp_retrans_to" },
	{ ANALYSIS_PORT_RECEIVER_NOT_READY, "hw_counters/rnr_nak_retry_err" },
};

static const struct file interface_files[] = {
	{ ANALYSIS_PORT_DOWNED, "carrier_down_count" },
	{ ANALYSIS_PORT_CHECKSUM_ERRORS, "statistics/rx_crc_errors" },
	{ ANALYSIS_PORT_RECEIVE_ERRORS, "statistics/rx_errors" },
	{ ANALYSIS_PORT_SEND_ERRORS, "statistics/tx_errors" },
	{ ANALYSIS_PORT_RECEIVE_DROPS, "statistics/rx_dropped" },
};

struct listing {
	struct analysis_port_state *states;
	size_t count, room;
	struct pause_counters *pauses; /* NULL: they are not read */
};

/* Its first line, "" when it cannot be read. */
static void read_line(const char *directory, const char *name, char text[TEXT_ROOM])
{
	char path[PATH_ROOM + TEXT_ROOM];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, text, TEXT_ROOM - 1) : 0;

	if (fd >= 0)
		close(fd);
	text[length > 0 ? length : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
}

/* A decimal number and nothing else; -1: it is none ("N/A (no PMA)"), or beyond what we count to. */
static int64_t as_number(const char *text)
{
	int64_t number = 0;

	if (!isdigit((unsigned char)*text))
		return -1;
	for (const char *at = text; *at; at++) {
		if (!isdigit((unsigned char)*at) || number > (INT64_MAX - 9) / 10)
			return -1;
		number = number * 10 + (*at - '0');
	}
	return number;
}

static int64_t read_number(const char *directory, const char *name)
{
	char text[TEXT_ROOM];

	read_line(directory, name, text);
	return as_number(text);
}

static void clear_counts(int64_t *counts)
{
	for (int i = 0; i < ANALYSIS_PORT_COUNTERS; i++)
		counts[i] = -1;
}

static void read_counts(const char *directory, const struct file *files, size_t count, int64_t *counts)
{
	clear_counts(counts);
	for (size_t i = 0; i < count; i++)
		counts[files[i].counter] = read_number(directory, files[i].path);
}

/* "400 Gb/sec (4X NDR)", "2.5 Gb/sec (1X SDR)" */
static int64_t read_rate(const char *directory)
{
	char text[TEXT_ROOM], *end;

	read_line(directory, "rate", text);
	if (!isdigit((unsigned char)*text))
		return -1;
	double gbit_s = strtod(text, &end);

	return strncmp(end, " Gb/sec", 7) || gbit_s > 1e6 ? -1 : (int64_t)(gbit_s * 1000 + 0.5);
}

/* NULL: no room, or a name that no device has. */
static struct analysis_port_state *next(struct listing *listing, const char *name)
{
	struct analysis_port_state *state = &listing->states[listing->count];

	if (listing->count == listing->room || strlen(name) >= sizeof(state->name))
		return NULL;
	memset(state, 0, sizeof(*state));
	snprintf(state->name, sizeof(state->name), "%s", name);
	return state;
}

static void add_rdma_port(struct listing *listing, const char *device, const char *name, const char *number)
{
	struct analysis_port_state *state = next(listing, name);
	char directory[PATH_ROOM], text[TEXT_ROOM];
	int port = atoi(number);

	if (!state || port < 1 || snprintf(directory, sizeof(directory), "%s/ports/%s", device, number) >= PATH_ROOM)
		return;
	state->number = port;
	read_line(device, "board_id", text);
	snprintf(state->model, sizeof(state->model), "%.31s", text);
	read_line(directory, "state", text);
	state->active = !strcmp(text, "4: ACTIVE");
	state->mbit_s = read_rate(directory);
	read_counts(directory, rdma_files, sizeof(rdma_files) / sizeof(*rdma_files), state->counts);
	listing->count++;
}

static void add_rdma_device(struct listing *listing, const char *device, const char *name)
{
	char path[PATH_ROOM];

	snprintf(path, sizeof(path), "%s/ports", device);
	DIR *ports = opendir(path);

	for (const struct dirent *entry = ports ? readdir(ports) : NULL; entry; entry = readdir(ports))
		if (isdigit((unsigned char)entry->d_name[0]))
			add_rdma_port(listing, device, name, entry->d_name);
	if (ports)
		closedir(ports);
}

/* IP over InfiniBand is of another type: its port is among the RDMA devices'. */
static void add_interface(struct listing *listing, const char *interface, const char *name)
{
	struct analysis_port_state *state = next(listing, name);
	char path[PATH_ROOM], text[TEXT_ROOM];

	snprintf(path, sizeof(path), "%s/device", interface);
	if (!state || access(path, F_OK) || read_number(interface, "type") != ETHERNET)
		return;
	read_line(interface, "operstate", text);
	state->active = !strcmp(text, "up");
	state->mbit_s = read_number(interface, "speed");
	read_counts(interface, interface_files, sizeof(interface_files) / sizeof(*interface_files), state->counts);
	if (listing->pauses)
		pause_counters_read(listing->pauses, name, state->counts);
	listing->count++;
}

static void list(struct listing *listing, const char *root, const char *class_name,
		 void (*add)(struct listing *listing, const char *path, const char *name))
{
	char directory[PATH_ROOM / 2], path[PATH_ROOM];

	snprintf(directory, sizeof(directory), "%s/sys/class/%s", root, class_name);
	DIR *all = opendir(directory);

	for (const struct dirent *entry = all ? readdir(all) : NULL; entry; entry = readdir(all)) {
		if (entry->d_name[0] == '.')
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name) < PATH_ROOM)
			add(listing, path, entry->d_name);
	}
	if (all)
		closedir(all);
}

/* Two lines of one protocol, "Tcp: NAME NAME …" and "Tcp: 1 200 …": the number under `name`. -1: none. */
static int64_t number_under(const char *name, char *names, char *numbers)
{
	char *names_left, *numbers_left;
	const char *key = strtok_r(names, " \n", &names_left), *number = strtok_r(numbers, " \n", &numbers_left);

	while (key && number && strcmp(key, name) != 0) {
		key = strtok_r(NULL, " \n", &names_left);
		number = strtok_r(NULL, " \n", &numbers_left);
	}
	return key && number ? as_number(number) : -1;
}

static int64_t read_tcp_resent(const char *root)
{
	char path[PATH_ROOM], names[SNMP_LINE], numbers[SNMP_LINE];
	int64_t resent = -1;

	snprintf(path, sizeof(path), "%s/proc/net/snmp", root);
	FILE *file = fopen(path, "re");

	if (!file)
		return -1;
	while (resent < 0 && fgets(names, sizeof(names), file) && fgets(numbers, sizeof(numbers), file))
		if (!strncmp(names, "Tcp: ", 5) && !strncmp(numbers, "Tcp: ", 5))
			resent = number_under("RetransSegs", names, numbers);
	fclose(file);
	return resent;
}

static void add_tcp(struct listing *listing, const char *root)
{
	struct analysis_port_state *state = next(listing, PORT_FILES_TCP);
	int64_t resent = state ? read_tcp_resent(root) : -1;

	if (resent < 0)
		return;
	state->active = true;
	state->mbit_s = -1;
	clear_counts(state->counts);
	state->counts[ANALYSIS_PORT_TCP_RESENT] = resent;
	listing->count++;
}

size_t port_files_read(const char *root, struct pause_counters *pauses, struct analysis_port_state *states, size_t room)
{
	struct listing listing = { .states = states, .room = room, .pauses = pauses };

	list(&listing, root, "infiniband", add_rdma_device);
	list(&listing, root, "net", add_interface);
	add_tcp(&listing, root);
	return listing.count;
}
