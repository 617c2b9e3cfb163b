/* SPDX-License-Identifier: MIT */
#include "console/doctor/check.h"

#include <libgen.h> /* dirname, and the basename that may change its argument */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "blackbox/writer.h"
#include "console/doctor/child.h"

enum { SECONDS = 20, USUAL_RANKS = 8, OPERATIONS_A_SECOND = 200, DOCKER_MIB = 64 };

/* What making a box, as the plugin would, came to. */
struct trial {
	int error;
	char directory[512]; /* without the job's part; "" the box would live in a memfd */
	char note[256];
	uint64_t box_bytes;
	uint32_t ring_slots;
};

/* Removes the box and the job's directory, which nobody else uses. RANKWATCH_DIR itself is the user's. */
static void remove_box(struct trial *trial, const char *path, const char *job)
{
	char directory[512];

	snprintf(trial->directory, sizeof(trial->directory), "%s", path);
	dirname(trial->directory);
	snprintf(directory, sizeof(directory), "%s", trial->directory);
	unlink(path);
	if (!strcmp(basename(directory), job)) {
		rmdir(trial->directory);
		dirname(trial->directory);
	}
}

/* In a child: whatever happens to the box's directories or memory does not happen to doctor. */
static void try_box(const void *argument, void *result, size_t size)
{
	const struct box_request *request = argument;
	struct box_writer writer;
	struct trial *trial = result;

	(void)size;
	trial->error = box_writer_create(&writer, request);
	snprintf(trial->note, sizeof(trial->note), "%s", writer.note);
	if (trial->error)
		return;
	trial->box_bytes = writer.size;
	trial->ring_slots = (uint32_t)writer.ring_mask + 1;
	if (*writer.path)
		remove_box(trial, writer.path, request->job);
	box_writer_close(&writer);
}

static uint32_t local_ranks(const struct check_context *context)
{
	const char *variable = check_get(context, "LOCAL_WORLD_SIZE");
	int ranks = variable ? atoi(variable) : 0;

	return ranks > 0 ? (uint32_t)ranks : USUAL_RANKS;
}

static void say_size(struct check_result *result, const struct trial *trial, uint32_t ranks)
{
	struct statvfs fs = { 0 };
	double minutes = (double)trial->ring_slots / OPERATIONS_A_SECOND / 60;
	bool whole = trial->ring_slots == RW_BOX_RING_MAX;

	statvfs(trial->directory, &fs);
	double mib = (double)fs.f_blocks * (double)fs.f_frsize / 1048576;
	double free_mib = (double)fs.f_bavail * (double)fs.f_frsize / 1048576;

	check_say(result, whole ? VERDICT_OK : VERDICT_WARNING,
		  "%s: %.0f of %.0f MiB free; %.1f MiB for each of %u ranks, the last %.1f minutes at %d operations/s",
		  trial->directory, free_mib, mib, (double)trial->box_bytes / 1048576, ranks, minutes,
		  OPERATIONS_A_SECOND);
	if (mib <= DOCKER_MIB)
		check_advise(result,
			     "a container's default of 64 MB: start it with --shm-size=1g, or in Kubernetes mount an "
			     "emptyDir with medium: Memory on /dev/shm; NCCL needs the space, too");
	else if (!whole)
		check_advise(result, "more free space there gives a longer history; RANKWATCH_DIR names another place");
}

static void box_run(struct check_context *context, struct check_result *result)
{
	struct trial trial;
	char job[32];
	uint32_t ranks = local_ranks(context);
	struct box_request request = {
		.directory = check_get(context, "RANKWATCH_DIR"), .job = job, .rank = -1, .local_ranks = ranks
	};

	snprintf(job, sizeof(job), "doctor-%d", (int)getpid());
	int error = child_call(try_box, &request, &trial, sizeof(trial), SECONDS);

	if (error || trial.error) {
		check_say(result, VERDICT_NO, "no black box can be made: %s",
			  *trial.note ? trial.note : strerror(error ? -error : -trial.error));
		check_advise(result, "give RANKWATCH_DIR a directory on a tmpfs that you may write");
	} else if (!*trial.directory) {
		check_say(result, VERDICT_WARNING, "only in memory that does not outlive the process: %s", trial.note);
		check_advise(result, "give RANKWATCH_DIR a directory on a tmpfs that you may write");
	} else {
		say_size(result, &trial, ranks);
		if (*trial.note && !*result->advice)
			check_advise(result, "%s", trial.note);
	}
}

const struct check box_check = { .name = "black box", .run = box_run };
