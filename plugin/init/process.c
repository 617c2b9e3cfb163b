/* SPDX-License-Identifier: MIT */
#include "plugin/init/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "identity/identity.h"
#include "plugin/cost/cost.h"
#include "plugin/drain/drain.h"
#include "plugin/guest/clock.h"
#include "plugin/guest/memory.h"
#include "plugin/guest/message.h"
#include "plugin/network/waits.h"
#include "plugin/operations/kernel.h"
#include "plugin/operations/replay.h"
#include "plugin/operations/step.h"
#include "plugin/recording/header.h"
#include "plugin/scanning/scanning.h"

/* First release whose profiler interface nobody has compared with this one. */
enum { UNKNOWN_NCCL = 23200 };
enum { LAST_POLL_TURNS = 12 /* of 0.5 ms: longer than the drain sleeps while something is in flight */ };

static struct recording the_recording;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER; /* never held across a call of the driver */
static bool refused;                        /* under `opening`: reported once, not tried again */
static struct rw_box_header *_Atomic boxed; /* its header as soon as there is a box, before it records */

static const char *get_environment(void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

/* `argument`: this process speaks for its node. Eight ranks with one wrong variable are one line, not eight. */
static void report(void *argument, const char *line)
{
	if (*(const bool *)argument)
		message("%s", line);
}

static void read_identity(struct identity *identity, int32_t largest)
{
	char command_line[8192];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, command_line, sizeof(command_line));

	if (fd >= 0)
		close(fd);
	identity_read(identity, get_environment, NULL, largest, command_line, size < 0 ? 0 : (size_t)size);
}

static const char *no_progress_because(const struct config *config, uint32_t abi)
{
	const char *launch_mode = getenv("NCCL_LAUNCH_MODE");

	if (config->gpu_time == CONFIG_GPU_TIME_OFF)
		return "off: RANKWATCH_GPU_TIME=off";
	if (abi < 5 && !recording_is_interposed())
		return "none: profiler ABI before v5 names no stream";
	/* There, launches sit between barriers of threads, and a CUDA call can wait for ever. */
	if (launch_mode && strcasecmp(launch_mode, "GROUP") == 0)
		return "none: NCCL_LAUNCH_MODE=GROUP";
	return NULL;
}

static int make_box(struct recording *recording, const struct identity *identity)
{
	struct box_request request = {
		.directory = recording->config.directory,
		.job = identity->job,
		.rank = identity->world_rank,
		.local_ranks = identity->local_size > 0 ? (uint32_t)identity->local_size : 1,
		.history_bytes = recording->config.history_bytes,
	};
	int err = box_writer_create(&recording->box, &request);

	if (err) {
		message("not recording: %s", recording->box.note[0] ? recording->box.note : strerror(-err));
		return err;
	}
	recording->previous = memory_populated(((size_t)recording->box.ring_mask + 1) * sizeof(*recording->previous));
	if (!recording->previous) {
		message("not recording: no memory");
		/* A box without a record would pass for that of a rank that was killed. */
		if (recording->box.path[0])
			unlink(recording->box.path);
		box_writer_close(&recording->box);
		return -ENOMEM;
	}
	recording_open_lanes(recording);
	waits_open(&recording->box);
	if (recording->config.kernelch && (!kernels_open(&recording->box) || !replays_open()))
		message("RANKWATCH_KERNELCH=1: no memory, kernel events are not recorded");
	return 0;
}

/* Text that grows by one note after another; what finds no room is cut off. */
struct notes {
	char text[1024];
	size_t length;
};

static void __attribute__((format(printf, 2, 3))) add_note(struct notes *notes, const char *format, ...)
{
	static const char between[] = "; ";
	va_list arguments;

	if (notes->length + sizeof(between) > sizeof(notes->text))
		return;
	if (notes->length) {
		memcpy(notes->text + notes->length, between, sizeof(between));
		notes->length += sizeof(between) - 1;
	}
	size_t room = sizeof(notes->text) - notes->length;
	va_start(arguments, format);
	int length = vsnprintf(notes->text + notes->length, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		notes->length += (size_t)length < room ? (size_t)length : room - 1;
}

/* Each rank's driver compiles the kernel, and keeps it in a directory that ranks may share. As the driver decides. */
static void note_compiling(struct notes *notes, const struct scan_device *device)
{
	const char *disabled = getenv("CUDA_CACHE_DISABLE"), *path = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");
	bool kept = !disabled || strcmp(disabled, "1") != 0;

	if (!device || !device->image->is_ptx)
		return;
	if (!kept)
		add_note(notes, "each process compiles the scan kernel from PTX for some 0.2 s (CUDA_CACHE_DISABLE=1)");
	else if (path && *path)
		add_note(
		    notes,
		    "each process compiles the scan kernel from PTX for some 0.2 s, and the driver keeps it in %.120s",
		    path);
	else
		add_note(notes,
			 "each process compiles the scan kernel from PTX for some 0.2 s, and the driver keeps it in "
			 "%.100s/.nv/ComputeCache",
			 home ? home : "");
}

/* By the user's own wish. */
static bool is_wanted(const char *state)
{
	static const char wish[] = "off: RANKWATCH_";

	return strncmp(state, wish, sizeof(wish) - 1) == 0;
}

/* What is not as usual, of which the user may want to know. */
static void note_limits(struct notes *notes, const struct rw_box_header *header, const struct scan_device *device)
{
	uint32_t nccl = header->nccl_version;

	if (nccl >= UNKNOWN_NCCL)
		add_note(notes, "NCCL %u.%u.%u is newer than 2.31, the newest that is known", nccl / 10000,
			 nccl / 100 % 100, nccl % 100);
	/* NCCL has called us, and shows nobody else its functions: there is nothing that a preload could stand in front
	 * of. */
	if (!header->interposed && header->profiler_abi && !nccl)
		add_note(notes, "this NCCL hides its functions: who waits in inits and one-sided calls is not seen, "
				"and inputs are not scanned "
				"before their operation; a libnccl.so.2 that exports its functions shows them");
	if (strcmp(header->gpu_progress_state, "watermark") != 0 && !is_wanted(header->gpu_progress_state))
		add_note(notes, "which GPU is late is not seen (GPU progress: %.63s)", header->gpu_progress_state);
	if ((strncmp(header->scan_state, "none", 4) == 0 || strncmp(header->scan_state, "off", 3) == 0) &&
	    !is_wanted(header->scan_state))
		add_note(notes, "NaN and Inf are not looked for (scan: %.63s)", header->scan_state);
	note_compiling(notes, device);
}

static void report_start(const struct box_writer *box, const struct scan_device *device)
{
	bool has_place = box->path[0];
	struct notes notes = { 0 };

	if (has_place)
		message("recording to %s (%.1f MiB a process%s). Live: rankwatch findings; afterwards: rankwatch "
			"report; RANKWATCH=off turns it off",
			box->path, (double)box->size / (1 << 20),
			box->header->history_limited ? ", for lack of space" : "");
	else
		message("recording to memory of its own (%.1f MiB a process): no collector and no report will see it",
			(double)box->size / (1 << 20));
	note_limits(&notes, box->header, device);
	if (notes.length)
		message("note: %s", notes.text);
}

static void read_config(struct config *config, bool speaks_for_node)
{
	const char *log = getenv("RANKWATCH_LOG"); /* before the others: what is wrong with them belongs there */

	if (log && *log && message_to(log) != 0 && speaks_for_node)
		message("RANKWATCH_LOG=%s cannot be opened; messages stay on standard error", log);
	config_read(config, get_environment, environ, report, &speaks_for_node);
}

static void open_progress(struct recording *recording, uint32_t abi)
{
	progress_open(&recording->progress, recording->box.gpu, RW_BOX_COMMS * sizeof(*recording->box.gpu),
		      no_progress_because(&recording->config, abi), recording->box.header->gpu_progress_state);
}

/* The part that needs neither NCCL nor a device. */
static int make_box_and_header(struct recording *recording, struct identity *identity)
{
	read_config(&recording->config, identity->local_rank <= 0);
	if (!recording->config.on)
		return -ECANCELED;
	int err = make_box(recording, identity);
	if (err)
		return err;
	header_fill(recording->box.header, identity);
	/* Release: pairs with the acquire in mark_exit(). */
	atomic_store_explicit(&boxed, recording->box.header, memory_order_release);
	return 0;
}

static int build(struct recording *recording, const struct communicator_init *communicator)
{
	struct identity identity;
	int err = 0;

	clock_open();
	read_identity(&identity, communicator->nranks);
	bool speaks_for_node = identity.local_rank <= 0;
	if (recording->box.header)
		header_fill_identity(recording->box.header, &identity);
	else
		err = make_box_and_header(recording, &identity);
	if (err)
		return err;
	if (communicator->abi && communicator->abi < 4 && recording->config.kernelch) {
		recording->config.kernelch = false;
		message("RANKWATCH_KERNELCH=1: NCCL before 2.27 gives no times of kernels");
	}
	header_fill_nccl(recording->box.header, communicator->caller, communicator->abi);
	recording->nccl_version = recording->box.header->nccl_version;
	recording->largest = communicator->nranks;
	communicator_have_no_context(&recording->communicators[0]);
	open_progress(recording, communicator->abi);
	scanning_open(recording, communicator->abi);
	recording->cost_sample = recording->progress.has_driver ? COST_SAMPLE : COST_SAMPLE_WITHOUT_DRIVER;
	err = drain_start(recording);
	if (err) {
		progress_refuse(&recording->progress, "none: no thread of our own");
		/* Nobody would take the results, and every batch would stay in flight. */
		scanning_close("off: no thread of our own");
		message(
		    "no thread of our own (%s): no GPU progress is read, nothing is scanned and no thread is sampled",
		    strerror(-err));
	}
	/* That its box does not outlive it, each process reports for itself; a second choice of place is the same for
	 * the whole node. */
	if (recording->box.note[0] && (speaks_for_node || !recording->box.path[0]))
		message("%s", recording->box.note);
	return 0;
}

/* The launcher's rank belongs to a process with one device; which variable counts can depend on the largest
 * communicator. */
static void review_rank(struct recording *recording, const struct communicator_init *communicator)
{
	struct identity identity;

	if (communicator->nranks <= recording->largest)
		return;
	recording->largest = communicator->nranks;
	read_identity(&identity, recording->largest);
	if (!recording->box.header->devices[1].used)
		header_fill_identity(recording->box.header, &identity);
}

static struct recording *open_once(const struct communicator_init *communicator)
{
	struct recording *recording = recording_get();

	if (recording) {
		review_rank(recording, communicator);
		return recording;
	}
	if (refused)
		return NULL;
	refused = build(&the_recording, communicator) != 0;
	if (refused)
		return NULL;
	memory_populate_own_file();
	recording_begin(&the_recording);
	step_begin(&the_recording);
	return &the_recording;
}

void process_open_device(struct recording *recording)
{
	static bool done;
	struct rw_box_header *header = recording->box.header;

	if (done)
		return;
	done = true;
	header->cuda_driver_version = progress_driver_version(&recording->progress);
	progress_start(&recording->progress);
	const struct scan_device *device = scanning_device();
	if (header->local_rank <= 0 && !recording->config.quiet)
		report_start(&recording->box, device);
}

struct rw_box_header *process_box(int32_t nranks)
{
	struct identity identity;

	if (!recording_is_possible())
		return NULL;
	pthread_mutex_lock(&opening);
	if (!refused && !the_recording.box.header) {
		read_identity(&identity, nranks);
		refused = make_box_and_header(&the_recording, &identity) != 0;
	}
	struct rw_box_header *header = the_recording.box.header;
	pthread_mutex_unlock(&opening);
	return header;
}

struct recording *process_record(const struct communicator_init *communicator)
{
	if (!recording_is_possible())
		return NULL;
	pthread_mutex_lock(&opening);
	struct recording *recording = open_once(communicator);
	pthread_mutex_unlock(&opening);
	return recording;
}

/* The drain's next poll sees what ended last; with nothing in flight it polls rarely, and there is nothing to see. */
static void await_last_poll(const struct rw_box_header *header)
{
	uint64_t now = clock_ns();
	struct timespec turn = { .tv_nsec = 500000 };

	for (int i = 0; i < LAST_POLL_TURNS; i++) {
		if (atomic_load_explicit(&header->drain_ns, memory_order_acquire) > now)
			return;
		nanosleep(&turn, NULL);
	}
}

/* exit() without ncclCommDestroy never reaches finalize. Not run at dlclose: we are linked with -z nodelete. */
__attribute__((destructor)) static void mark_exit(void)
{
	struct rw_box_header *header = atomic_load_explicit(&boxed, memory_order_acquire);

	if (!header || recording_is_foreign())
		return;
	await_last_poll(header);
	atomic_store_explicit(&header->end, RW_BOX_EXITED, memory_order_release);
}
