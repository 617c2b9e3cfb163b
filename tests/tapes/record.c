/* SPDX-License-Identifier: MIT */
/* record TAPE DIRECTORY < HEADER: records the job whose ranks have their black boxes in DIRECTORY (RANKWATCH_DIR), from
 * before its start until all that had a box have ended, or SIGTERM. HEADER: a JSON object. Says what it could not
 * see. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "collector/watch.h"
#include "machine.h"

enum { SLOWLY = 20 /* ticks */, BOXES = 2, LEFT = 20 /* after the end: a collector waits for exit statuses */ };

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = { .tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

struct machine {
	const char *directory;
	struct recording *recording;
	struct recorded_boxes *boxes;
	struct recorded_threads *threads;
	struct recorded_kernel *kernel;
	struct recorded_gpus *gpus;
	uint64_t ticks;
};

/* As the collector goes about it: the host first, then, in every second tick, the boxes. */
static void tick(struct machine *machine, uint64_t now_ns)
{
	pid_t pids[2 * TAPE_BOXES];
	size_t boxed = recorded_boxes_writers(machine->boxes, pids, TAPE_BOXES);
	size_t count = boxed + recorded_absentees(pids, boxed, pids + boxed, TAPE_BOXES);

	recording_tick(machine->recording, now_ns);
	if (machine->kernel) {
		recorded_kernel_watch(machine->kernel, pids, count);
		recorded_kernel_look(machine->kernel);
	}
	for (size_t i = 0; i < count; i++) {
		recorded_threads_look(machine->threads, machine->recording, pids[i]);
		recorded_children_look(machine->threads, machine->recording, pids[i], machine->ticks % SLOWLY == 0);
	}
	if (!machine->gpus)
		machine->gpus = recorded_gpus_new(machine->directory);
	if (machine->gpus)
		recorded_gpus_look(machine->gpus, machine->recording, now_ns);
	if (machine->ticks % SLOWLY == 0)
		recorded_slowly_look(machine->recording, pids, boxed, machine->directory);
	if (machine->ticks++ % BOXES == 0)
		recorded_boxes_look(machine->boxes, machine->recording);
}

static void record(struct machine *machine)
{
	uint64_t next_ns = clock_ns();

	for (int left = 0; !stopped && left < LEFT; left += recorded_boxes_are_left(machine->boxes)) {
		uint64_t now_ns = clock_ns();

		tick(machine, now_ns);
		next_ns += WATCH_TICK_MS * UINT64_C(1000000);
		if (next_ns < now_ns)
			next_ns = now_ns + WATCH_TICK_MS * UINT64_C(1000000);
		sleep_until(next_ns);
	}
}

int main(int argc, char **argv)
{
	static char header[TAPE_TEXT_MAX];
	struct rlimit files;
	char why[256] = "";

	if (argc != 3 || !fgets(header, sizeof(header) - 1, stdin)) {
		fprintf(stderr, "usage: record TAPE DIRECTORY < HEADER\n");
		return EXIT_FAILURE;
	}
	header[strcspn(header, "\n")] = '\0';
	signal(SIGTERM, on_signal);
	setpriority(PRIO_PROCESS, 0, -15); /* a tick that comes late is a hole in the tape */
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);

	struct machine machine = { .directory = argv[2], .recording = recording_open(argv[1], header) };

	machine.boxes = recorded_boxes_new(machine.directory);
	machine.threads = recorded_threads_new();
	machine.kernel = recorded_kernel_new(machine.recording, why);
	if (!machine.boxes || !machine.threads)
		return EXIT_FAILURE;
	if (!machine.kernel)
		fprintf(stderr, "record: without the kernel's records: %s\n", why);
	puts("recording"); /* the job may start now */
	fflush(stdout);
	record(&machine);
	recorded_kernel_free(machine.kernel);
	recorded_threads_free(machine.threads);
	recorded_boxes_free(machine.boxes);
	recorded_gpus_free(machine.gpus);
	recording_close(machine.recording);
	return EXIT_SUCCESS;
}
