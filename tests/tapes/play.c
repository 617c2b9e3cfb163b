/* SPDX-License-Identifier: MIT */
/*
 * play TAPE LEVEL: plays a tape to the collector's own code in virtual time, and prints each finding as a JSON line
 * with the milliseconds of the tape at which it was told. LEVEL: ebpf, root, proc (an ordinary user), self (boxes
 * alone, live), or report (what `rankwatch report` makes of the boxes in the end); `account` behind it prints where the
 * ranks' time went instead. play TAPE header: the tape's header. play TAPE boxes DIRECTORY: saves the boxes as they are
 * in the end. play world: the sizes that a tape's header must agree with.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blackbox/saved.h"
#include "collector/watch.h"
#include "console/boxes/boxes.h"
#include "console/replay/replay.h"
#include "finding/finding_json.h"
#include "protocol/account_text.h"
#include "played.h"
#include "played_life.h"
#include "played_ports.h"
#include "tests/unit/analysis/jobs/adding_up.h"

struct level {
	const char *name;
	bool kernel, stack, proc, live;
};

static const struct level levels[] = {
	{ "ebpf", true, true, true, true },    { "root", false, true, true, true },
	{ "proc", false, false, true, true },  { "self", false, false, false, true },
	{ "report", false, false, false, false },
};

static const struct level boxes_alone = { "boxes", false, false, false, false };

struct played *played;

struct play {
	const struct level *level;
	const char *directory; /* of saved boxes; NULL: none are wanted */
	struct tape tape;
	uv_loop_t loop;
	struct analysis *analysis;
	struct watch watch;
	bool watching, wrong;
	const char *account; /* print it, and no findings; NULL: the findings */
	uint64_t first_ns;
	unsigned left_out; /* of the ticks to come */
};

/* Who is told "likely" wants to know what was not seen. */
static bool says_how_sure(json_t *finding)
{
	const char *confidence = json_string_value(json_object_get(finding, "confidence"));

	if ((confidence && !strcmp(confidence, "certain")) || json_array_size(json_object_get(finding, "missing")))
		return true;
	fprintf(stderr, "%s, and nothing is missing: %s\n", confidence, json_string_value(json_object_get(finding, "text")));
	return false;
}

static void print_finding(struct play *play, json_t *finding)
{
	double at_ms = (double)(played->now_ns - play->first_ns) / 1e6;

	play->wrong |= !says_how_sure(finding);
	json_t *line = json_pack("{s:f, s:o}", "at_ms", at_ms, "finding", finding);

	if (!play->account) {
		json_dumpf(line, stdout, JSON_COMPACT);
		putchar('\n');
	}
	json_decref(line);
}

/* Whatever was recorded: where the ranks' time went adds up. */
static void check_account(struct play *play, const struct analysis *analysis)
{
	struct analysis_account account;
	uint32_t ranks;

	play->wrong |= !adding_up(stderr, analysis, &ranks);
	if (!play->account)
		return;
	analysis_tell_account(analysis, &account);
	json_t *told = account_json(&account);
	account_print(stdout, "", 10, told);
	json_decref(told);
}

static void on_finding(void *argument, const struct rw_finding *finding)
{
	print_finding(argument, finding_to_json(finding, 0));
}

static int fail(const char *path, int err)
{
	fprintf(stderr, "%s: %s\n", path, err == -EINVAL ? "damaged: a record makes no sense" : strerror(-err));
	return EXIT_FAILURE;
}

/* /proc/self is the player's; without one that fits, /proc is taken for another pid name space's. */
static void make_self(const struct play *play)
{
	char path[128], target[16];

	snprintf(target, sizeof(target), "%d", play->level->proc ? (int)getpid() : 0);
	snprintf(path, sizeof(path), "%s/proc/%s", played->tree.root, target);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/proc/self", played->tree.root);
	if (symlink(target, path))
		perror(path);
}

static void open_watch(struct play *play)
{
	static char places[1][BOX_PLACE_PATH], log[BOX_PLACE_PATH];
	const struct watch_request request = {
		.loop = &play->loop,
		.analysis = play->analysis,
		.root = played->tree.root,
		.job = json_string_value(json_object_get(play->tape.header, "job")),
		.any_job = true,
		.owner = geteuid(),
		.places = places,
		.place_count = 1,
		.now_ns = played->now_ns,
		.kernel_log = log,
	};

	snprintf(places[0], sizeof(places[0]), "%s/boxes", played->tree.root);
	snprintf(log, sizeof(log), "%s/dev/kmsg", played->tree.root);
	if (!request.job || watch_open(&play->watch, &request)) {
		fputs("the tape's job cannot be watched\n", stderr);
		exit(EXIT_FAILURE);
	}
	watch_catch_up(&play->watch, played->now_ns);
	host_deepen(play->watch.host);
	play->watching = true;
}

/* What was seen in one tick is all there when the tick is played. The collector leaves out what it would. */
static void play_tick(struct play *play)
{
	if (!played->now_ns || !play->level->live)
		return;
	played_ports_write(played->tree.root, (double)(played->now_ns - play->first_ns) / 1e6);
	if (!play->watching)
		open_watch(play);
	if (!played_life_report_ends() && play->left_out) {
		play->left_out--;
		return;
	}
	uv_run(&play->loop, UV_RUN_NOWAIT);
	watch_tick(&play->watch, played->now_ns);
	play->left_out = watch_next_ms(&play->watch, false, played->now_ns) / WATCH_TICK_MS - 1;
	played_probes_forget();
}

static int apply(struct play *play, enum tape_record type)
{
	struct span *ticks = &play->tape.streams[TAPE_TICK];

	switch (type) {
	case TAPE_TICK:
		play_tick(play);
		played->now_ns += take_number(ticks);
		if (!play->first_ns)
			play->first_ns = played->now_ns;
		return ticks->bad ? -EINVAL : 0;
	case TAPE_FRAME:
	case TAPE_KERNEL:
	case TAPE_LOOK:
		return played_probes_apply(&play->tape, type);
	default:
		return tree_apply(&played->tree, &play->tape, type, played->now_ns);
	}
}

static void report(struct play *play)
{
	char path[128], log[128], *paths[] = { path };
	struct replay replay;
	struct boxes boxes;
	const char *id;
	json_t *finding;

	snprintf(path, sizeof(path), "%s/boxes", played->tree.root);
	snprintf(log, sizeof(log), "%s/dev/kmsg", played->tree.root);
	if (boxes_open(&boxes, paths, 1, NULL, NULL) || !boxes.count ||
	    replay_open(&replay, boxes.entries, boxes.count, log, NULL, NULL)) {
		fputs("the tape's boxes cannot be read\n", stderr);
		exit(EXIT_FAILURE);
	}
	json_object_foreach(replay.findings, id, finding)
		print_finding(play, json_incref(finding));
	check_account(play, replay.machines[0].analysis);
	replay_close(&replay);
	boxes_close(&boxes);
}

static void save(struct play *play)
{
	char path[128], why[160] = "", name[BOX_SAVED_NAME], *paths[] = { path };
	int directory = open(play->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct boxes boxes;

	snprintf(path, sizeof(path), "%s/boxes", played->tree.root);
	if (directory < 0 || boxes_open(&boxes, paths, 1, NULL, NULL) || !boxes.count) {
		fputs("the tape's boxes cannot be read, or there is no such directory\n", stderr);
		exit(EXIT_FAILURE);
	}
	for (size_t i = 0; i < boxes.count; i++) {
		box_saved_name(&boxes.entries[i].reader.header, name);
		if (box_save(&boxes.entries[i].reader, directory, name, why)) {
			fprintf(stderr, "%s\n", why);
			exit(EXIT_FAILURE);
		}
	}
	boxes_close(&boxes);
	close(directory);
}

static int run(struct play *play, const char *path)
{
	enum tape_record type;
	int err = tree_open(&played->tree, play->level->proc, play->level->stack);

	if (err)
		return fail("/dev/shm", err);
	make_self(play);
	while (!err && tape_next(&play->tape, &type, &err))
		err = apply(play, type);
	if (!err) {
		play_tick(play);
		played->over = true; /* who still lived is killed now */
		if (play->directory)
			save(play);
		else if (!play->level->live)
			report(play);
		else
			check_account(play, play->analysis);
	}
	if (play->watching)
		watch_close(&play->watch);
	tree_close(&played->tree);
	if (err)
		return fail(path, err);
	return play->wrong ? EXIT_FAILURE : EXIT_SUCCESS;
}

pid_t played_writer(uint64_t inode)
{
	pid_t pid = played->over ? 0 : tree_box_writer(&played->tree, inode);

	return pid > 0 ? pid : 0;
}

int played_exit_status(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "exit/%d", (int)pid);
	const char *text = tree_text(&played->tree, path);

	return text ? atoi(text) : -1;
}

static int play_level(struct play *play, const char *path)
{
	played = calloc(1, sizeof(*played));
	play->analysis = analysis_new(false, on_finding, play);
	if (!played || !play->analysis || uv_loop_init(&play->loop))
		return fail(path, -ENOMEM);
	played->with_kernel = play->level->kernel;
	int status = run(play, path);

	uv_run(&play->loop, UV_RUN_DEFAULT);
	uv_loop_close(&play->loop);
	analysis_free(play->analysis);
	free(played->fresh);
	free(played);
	return status;
}

/* With when its first tick was. */
static int print_header(struct play *play)
{
	json_object_set_new(play->tape.header, "begins_ns",
			    json_integer((json_int_t)take_number(&play->tape.streams[TAPE_TICK])));
	json_dumpf(play->tape.header, stdout, JSON_COMPACT);
	putchar('\n');
	return EXIT_SUCCESS;
}

/* What a recorder of today would record: what a tape says of itself and does not agree with this is stale. */
static int print_world(void)
{
	json_t *world = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "box layout", RW_BOX_LAYOUT, "box header",
				  (int)sizeof(struct rw_box_header), "communicator", (int)sizeof(struct rw_communicator),
				  "operation", (int)sizeof(struct rw_operation), "host sample",
				  (int)sizeof(struct rw_host_sample), "network wait", (int)sizeof(struct rw_wait),
				  "functions", RW_FUNCTION_COUNT, "kernel record", (int)sizeof(struct rw_kernel_wait));

	json_dumpf(world, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(world);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct play play = { 0 };
	char why[256];
	int status = EXIT_FAILURE;

	if (argc == 2 && !strcmp(argv[1], "world"))
		return print_world();
	bool boxes = argc == 4 && !strcmp(argv[2], "boxes");

	play.account = argc == 4 && !strcmp(argv[3], "account") ? argv[3] : NULL;
	if (boxes) {
		play.level = &boxes_alone;
		play.directory = argv[3];
	} else if (argc != 3 && !play.account) {
		fputs("usage: play TAPE LEVEL [account], play TAPE boxes DIRECTORY, play TAPE header, play world\n", stderr);
		return EXIT_FAILURE;
	}
	if (tape_open(&play.tape, argv[1], why)) {
		fprintf(stderr, "%s\n", why);
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (!strcmp(argv[2], levels[i].name))
			play.level = &levels[i];
	if (play.level) {
		status = play_level(&play, argv[1]);
	} else {
		status = print_header(&play);
	}
	tape_close(&play.tape);
	return status;
}
