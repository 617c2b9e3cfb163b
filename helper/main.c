/* SPDX-License-Identifier: MIT */
/* rankwatchd: loads the BPF programs once for a machine, gives up the rights that this takes, and serves collectors. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ebpf/probes.h"
#include "helper/confine.h"
#include "helper/entrance.h"
#include "helper/gate.h"
#include "helper/server.h"

enum { THRESHOLD_NS = 10000000 /* the shortest wait worth a record, as collectors with programs of their own have it */,
       DESCRIPTORS = 8192 };

static const char help[] =
    "Usage: rankwatchd [OPTION]...\n"
    "Loads rankwatch's eBPF programs once for this machine and shows each user's collectors what the threads of that\n"
    "user's own processes wait for. systemd starts it when the first collector asks (rankwatchd.socket); root can\n"
    "start it by hand. It runs until it gets SIGTERM.\n"
    "\n"
    "  -h, --help     print this\n"
    "      --version  print the version\n"
    "\n"
    "Exit status: 0 by SIGTERM, 1 when it could not start or had to end, 2 misuse.\n"
    "\"rankwatch doctor\" says whether it is reached and what it sees.\n";

/* 0: go on; else the exit status, plus one. */
static int read_options(int count, char **arguments)
{
	static const struct option options[] = { { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'v' },
						 { 0 } };
	int option = getopt_long(count, arguments, "h", options, NULL);

	if (option == 'h')
		return fputs(help, stdout) < 0 || fflush(stdout) ? 2 : 1;
	if (option == 'v')
		return puts("rankwatchd " RANKWATCH_VERSION) < 0 || fflush(stdout) ? 2 : 1;
	if (option == -1 && optind == count)
		return 0;
	if (option == -1)
		fprintf(stderr, "rankwatchd: it takes no operands\n");
	fprintf(stderr, "Try \"rankwatchd --help\".\n");
	return 3;
}

static int try_watching(void *argument)
{
	struct probes *probes = argument;
	pid_t self = getpid();
	int err = probes_watch(probes, self);

	if (!err)
		err = probes_sample(probes, self);
	if (!err)
		probes_unwatch(probes, self);
	return err;
}

static void raise_descriptor_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= DESCRIPTORS)
		return;
	limit.rlim_cur = DESCRIPTORS;
	if (limit.rlim_max < DESCRIPTORS)
		limit.rlim_max = DESCRIPTORS;
	if (setrlimit(RLIMIT_NOFILE, &limit)) {
		getrlimit(RLIMIT_NOFILE, &limit);
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Where nothing can be loaded it runs on, to answer each client why: systemd would only start it again. */
static bool load(struct server *server)
{
	if (probes_open_shared(&server->probes, THRESHOLD_NS, server_record, server, server->why)) {
		server->probes = NULL;
		fprintf(stderr, "rankwatchd: nothing can be watched: %s\n", server->why);
		return false;
	}
	probes_read_symbols(server->probes); /* later it may not */
	server->watches.probes = server->probes;
	return true;
}

static int confine(struct server *server, bool loaded, bool given)
{
	int unfit = loaded ? confine_fits(try_watching, server->probes) : 0;
	char capabilities[CONFINE_DESCRIPTION];
	int err = confine_rights(unfit != 0);

	confine_describe(unfit, capabilities);
	if (!err)
		err = confine_calls(CONFINE_HELPER);
	if (err)
		fprintf(stderr, "rankwatchd: its rights cannot be given up: %s\n", strerror(-err));
	else if (loaded)
		fprintf(stderr, "rankwatchd %s: eBPF programs loaded; listens at %s; %s\n", RANKWATCH_VERSION,
			given ? "the socket that systemd has given it" : RW_HELPER_SOCKET, capabilities);
	return err;
}

static void on_end(int number)
{
	(void)number;
	_exit(0);
}

int main(int count, char **arguments)
{
	static struct server server;
	char why[ENTRANCE_WHY] = "";
	bool given;
	int status = read_options(count, arguments);

	if (status)
		return status - 1;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, on_end);
	signal(SIGINT, on_end);
	raise_descriptor_limit();

	int listener = entrance_open(RW_HELPER_SOCKET, &given, why);

	if (listener < 0) {
		fprintf(stderr, "rankwatchd: %s\n", why);
		return 1;
	}

	/* Before anything is loaded: nothing of it is the gate's. */
	int gate = gate_start(listener);

	if (gate < 0) {
		fprintf(stderr, "rankwatchd: %s\n", strerror(-gate));
		return 1;
	}
	bool loaded = load(&server);

	if (confine(&server, loaded, given))
		return 1;
	server_run(&server, gate);
	fprintf(stderr, "rankwatchd: the process that accepts connections has ended; so does this one\n");
	return 1;
}
