/* SPDX-License-Identifier: MIT */
#include "console/report/run_head.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/foreign_text.h"
#include "base/paragraph.h"
#include "console/flight_recorder/left_dumps.h"
#include "console/replay/seen_live.h"
#include "console/report/scan_line.h"
#include "finding/rank_list.h"
#include "finding/step_text.h"
#include "protocol/account_text.h"
#include "protocol/explanation.h"

enum { LIST = 256, LABEL = 10, HOSTS = 8 };

static void print_escaped(FILE *out, const char *text, size_t size)
{
	char copy[256];
	size_t length = strnlen(text, size < sizeof(copy) ? size : sizeof(copy) - 1);

	memcpy(copy, text, length);
	copy[length] = '\0';
	foreign_put(out, copy);
}

/* "3 s", "12 min 5 s", "2 h 3 min", "4 days". */
static void print_duration(FILE *out, uint64_t seconds)
{
	if (seconds < 60)
		fprintf(out, "%" PRIu64 " s", seconds);
	else if (seconds < 3600)
		fprintf(out, "%" PRIu64 " min %" PRIu64 " s", seconds / 60, seconds % 60);
	else if (seconds < 48 * 3600)
		fprintf(out, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600, seconds / 60 % 60);
	else
		fprintf(out, "%" PRIu64 " days", seconds / 86400);
}

/* ", hosts a, b" */
static void print_hosts(FILE *out, const struct replay *replay)
{
	const struct replay_process **firsts = calloc(replay->count + 1, sizeof(const struct replay_process *));
	size_t count = firsts ? replay_boots(replay, 0, replay->count, firsts) : 0;

	fputs(count > 1 ? ", hosts " : ", host ", out);
	for (size_t i = 0; i < count && i < HOSTS; i++) {
		const struct rw_box_header *header = replay_header(firsts[i]);

		fputs(i ? ", " : "", out);
		print_escaped(out, header->host, sizeof(header->host));
	}
	if (count > HOSTS)
		fprintf(out, " and %zu more", count - HOSTS);
	fputc('\n', out);
	free(firsts);
}

static void print_job(FILE *out, const struct replay *replay)
{
	const struct rw_box_header *header = replay_header(&replay->processes[0]);

	fputs("job       ", out);
	print_escaped(out, header->job, sizeof(header->job));
	if (header->generation > 0)
		fprintf(out, ", restart %d", header->generation);
	print_hosts(out, replay);
}

static void print_several(FILE *out, const struct replay *replay)
{
	const struct replay_process **firsts = calloc(replay->count + 1, sizeof(const struct replay_process *));
	size_t boots = firsts ? replay_boots(replay, 0, replay->count, firsts) : 1;

	free(firsts);
	if (boots > 1 && replay->machine_count == 1)
		fprintf(out,
			"machines  %zu, judged together: their clocks are compared by when the same collectives ended "
			"on them\n",
			boots);
	else if (boots > 1)
		fprintf(out,
			"machines  %zu, in %zu groups whose clocks cannot be compared, since they saw too few of the "
			"same collectives end: "
			"each group is judged by itself; what only two of them together would show is not looked for, "
			"but for operations "
			"in flight, which are matched by the order of calls. Times of day are each group's own\n",
			boots, replay->machine_count);
}

static void print_ranks(FILE *out, const struct replay *replay, const struct analysis_summary *summary)
{
	int32_t *ranks = calloc(replay->count, sizeof(*ranks));
	size_t known = 0;
	char list[LIST];

	if (ranks)
		known = replay_ranks(replay, 0, replay->count, ranks);
	fprintf(out, "ranks     %zu", replay->count);
	if (summary->ranks_total > 0)
		fprintf(out, " of %d", summary->ranks_total);
	fputs(" left a black box", out);
	if (known)
		fprintf(out, ": %s", rank_list_text(list, sizeof(list), ranks, known));
	fputc('\n', out);
	free(ranks);
}

static void print_lives(FILE *out, const struct replay *replay)
{
	size_t alive = 0, exited = 0, copied = 0, unknown = 0;

	for (size_t i = 0; i < replay->count; i++) {
		const struct replay_process *process = &replay->processes[i];

		if (replay_header(process)->end == RW_BOX_EXITED)
			exited++;
		else if (replay_header(process)->end == RW_BOX_COPIED)
			copied++;
		else if (process->life == BOX_ALIVE)
			alive++;
		else if (process->life == BOX_LIFE_UNKNOWN)
			unknown++;
	}
	size_t without = replay->count - alive - exited - copied - unknown;

	if (exited)
		fprintf(out, "; %zu left through exit()", exited);
	if (without)
		fprintf(out, "; %zu ended without exit() (killed, crashed, or left by _exit or exec)", without);
	if (copied)
		fprintf(out, "; %zu copied while they ran", copied);
	if (unknown)
		fprintf(out, "; %zu without an end mark", unknown);
	if (alive)
		fprintf(out, "; %zu still alive", alive);
}

static void print_end(FILE *out, const struct replay *replay, uint64_t now_ns)
{
	uint64_t last_ns = replay->last_ns + (uint64_t)replay->realtime_offset_ns, longest_ns = 0;
	time_t last = (time_t)(last_ns / 1000000000);
	char text[64] = "";
	struct tm utc;

	for (size_t i = 0; i < replay->machine_count; i++) {
		const struct replay_machine *machine = &replay->machines[i];

		if (machine->last_ns > machine->first_ns && machine->last_ns - machine->first_ns > longest_ns)
			longest_ns = machine->last_ns - machine->first_ns;
	}
	if (gmtime_r(&last, &utc))
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &utc);
	fprintf(out, "last sign %s", text);
	if (now_ns > last_ns) {
		fputs(", ", out);
		print_duration(out, (now_ns - last_ns) / 1000000000);
		fputs(" ago", out);
	}
	if (longest_ns) {
		fputs(", after ", out);
		print_duration(out, longest_ns / 1000000000);
	}
	print_lives(out, replay);
	fputc('\n', out);
}

/* Calls that these releases report to no profiler, so that only the interposer sees them. */
static const char *unseen_calls(const struct rw_box_header *header)
{
	if (header->interposed || header->nccl_version < 22700 || header->nccl_version >= 22900)
		return NULL;
	return header->nccl_version < 22800 ? "symmetric kernels" : "the copy engine";
}

/* Each rank decides by itself how many it leaves out, and is not compared with others in the steps in which it does. */
static uint64_t most_left_out(const struct replay *replay)
{
	uint64_t most = 0;

	for (size_t i = 0; i < replay->count; i++) {
		uint64_t left_out = replay_header(&replay->processes[i])->progress_sampled_out;
		most = left_out > most ? left_out : most;
	}
	return most;
}

static void print_nccl(FILE *out, const struct replay *replay)
{
	uint64_t left_out = most_left_out(replay);
	const struct rw_box_header *header = replay_header(&replay->processes[0]);
	uint32_t version = header->nccl_version;

	fputs("NCCL      ", out);
	if (version)
		fprintf(out, "%u.%u.%u", version / 10000, version / 100 % 100, version % 100);
	else
		fputs("version not known", out);
	if (header->profiler_abi)
		fprintf(out, ", profiler ABI v%u", header->profiler_abi);
	fprintf(out, "%s, GPU progress: ", header->interposed ? ", interposer" : "");
	print_escaped(out, header->gpu_progress_state, sizeof(header->gpu_progress_state));
	if (header->progress_every > 1)
		fprintf(out, ", 1 operation in %u", header->progress_every);
	if (left_out)
		fprintf(out, ", %" PRIu64 " small operations left out%s", left_out,
			replay->count > 1 ? " on the rank with most" : "");
	if (unseen_calls(header))
		fprintf(out, "; calls by %s are not seen without the interposer", unseen_calls(header));
	fputc('\n', out);
}

/* One line, however many processes: whoever sets the mask sets it for the whole job. */
static void print_mask(FILE *out, const struct replay *replay)
{
	uint64_t missing = 0;
	size_t count = 0;

	for (size_t i = 0; i < replay->count; i++) {
		missing |= replay_header(&replay->processes[i])->mask_missing;
		count += replay_header(&replay->processes[i])->mask_missing != 0;
	}
	if (count)
		fprintf(out,
			"mask      NCCL's event mask lacked 0x%" PRIx64
			" of what rankwatch asks for, in %zu of %zu processes: "
			"operations that began then are not in the boxes, or only in part, and their ranks look as if "
			"they had "
			"called nothing. Somebody set the mask, as NCCL's RAS client can\n",
			missing, count, replay->count);
}

static void print_scan(FILE *out, const struct replay *replay)
{
	fputs("scan      ", out);
	scan_line_print(out, replay_header(&replay->processes[0]));
	fputc('\n', out);
}

/* What the kernel saw then is in no box. */
static void print_level(FILE *out, const struct replay *replay)
{
	fputs("level     self: what each process recorded of its own threads", out);
	if (seen_live_any(replay))
		fputs("; and what a collector saw live", out);
	fputc('\n', out);
}

static void print_recorded(FILE *out, const struct analysis_summary *summary)
{
	fprintf(out, "recorded  %" PRIu64 " operations on %u communicator%s", summary->operations,
		summary->communicators, summary->communicators == 1 ? "" : "s");
	step_text_print(out, summary->steps, summary->first_step_ms, summary->step_ms);
	if (summary->untracked)
		fprintf(out, "; %" PRIu64 " untracked", summary->untracked);
	if (summary->one_sided)
		fprintf(out, ", %" PRIu64 " of them one-sided calls, which are not followed", summary->one_sided);
	if (summary->captured)
		fprintf(out, "; %" PRIu64 " run inside CUDA graphs, without times", summary->captured);
	if (summary->dropped)
		fprintf(out, "; %" PRIu64 " dropped", summary->dropped);
	if (summary->forgotten)
		fprintf(out, "; %" PRIu64 " calls of groups forgotten before all their ranks had ended them",
			summary->forgotten);
	fputc('\n', out);
}

static void print_account(FILE *out, const struct replay *replay, const struct replay_machine *machine)
{
	struct analysis_account account;

	analysis_tell_account(machine->analysis, &account);
	seen_live_correct(replay, &account);
	json_t *reported = account_json(&account);
	account_print(out, "", LABEL, reported);
	json_decref(reported);
}

/* What could be taken for the cause of what was found, and is none. */
static void print_explanation(FILE *out, const struct replay_machine *machine)
{
	json_t *reported = explanation_json(machine->analysis);

	explanation_print_shown(out, "", LABEL, reported);
	json_decref(reported);
}

/* What a machine shows of its own ranks; of several its name stands above, where it shows anything. */
static void print_machine(FILE *out, const struct replay *replay, const struct replay_machine *machine)
{
	char *name = replay->machine_count > 1 ? replay_machine_name(replay, machine) : NULL, *lines = NULL;
	size_t size;
	FILE *text = open_memstream(&lines, &size);

	if (text) {
		print_account(text, replay, machine);
		print_explanation(text, machine);
	}
	if (!text || fclose(text) || !lines)
		fputs("(no memory for what the account of a machine shows)\n", out);
	else if (*lines)
		fprintf(out, "%s%s%s%s", name ? "on        " : "", name ? name : "", name ? ":\n" : "", lines);
	free(lines);
	free(name);
}

static void print_machines(FILE *out, const struct replay *replay)
{
	for (size_t i = 0; i < replay->machine_count; i++)
		print_machine(out, replay, &replay->machines[i]);
}

/* Only where there are GPUs that an Xid could be of. */
static void print_xids(FILE *out, const struct replay *replay)
{
	uint64_t first_ns = UINT64_MAX;
	bool any = false;

	for (size_t i = 0; i < replay->count; i++) {
		const struct rw_box_header *header = replay_header(&replay->processes[i]);

		if (header->created_ns < first_ns)
			first_ns = header->created_ns;
		any |= header->devices[0].used;
	}
	if (any)
		kernel_xids_print(out, &replay->xids, replay->machines[0].analysis, first_ns);
}

static void print_dumps(FILE *out, const struct replay *replay)
{
	json_t *dumps = left_dumps_find(replay);

	left_dumps_print(out, dumps);
	json_decref(dumps);
}

/* Breaks each line where the terminal ends; what follows stands under the text and not under the label. */
static void print_broken(FILE *out, char *lines, int width)
{
	char *rest = NULL;

	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		paragraph_print(out, line, 0, LABEL, width);
}

typedef void print_part(FILE *out, const struct replay *replay, uint64_t now_ns);

/* What did not fit into memory is missing: then nothing of it is said. */
static void print_part_broken(FILE *out, print_part *print, const struct replay *replay, uint64_t now_ns, int width)
{
	char *lines = NULL;
	size_t size;
	FILE *text = open_memstream(&lines, &size);

	if (text)
		print(text, replay, now_ns);
	if (!text || fclose(text) || !lines)
		fputs("(no memory for what the report says of a run)\n", out);
	else
		print_broken(out, lines, width);
	free(lines);
}

static void print_which(FILE *out, const struct replay *replay, uint64_t now_ns)
{
	(void)now_ns;
	print_job(out, replay);
}

static void print_record(FILE *out, const struct replay *replay, uint64_t now_ns)
{
	struct analysis_summary summary;

	replay_summarise(replay, &summary);
	print_several(out, replay);
	print_ranks(out, replay, &summary);
	print_end(out, replay, now_ns);
	print_nccl(out, replay);
	print_mask(out, replay);
	print_scan(out, replay);
	print_level(out, replay);
	print_recorded(out, &summary);
	print_machines(out, replay);
	print_xids(out, replay);
	print_dumps(out, replay);
}

static void print_earlier(FILE *out, const struct replay *replay, uint64_t now_ns)
{
	int32_t generation = replay_header(&replay->processes[0])->generation;
	struct analysis_summary summary;

	replay_summarise(replay, &summary);
	fputs("earlier   this job before it was started again: ", out);
	if (generation > 0)
		fprintf(out, "restart %d", generation);
	else
		fputs("its first start (restart 0)", out);
	print_hosts(out, replay);
	print_ranks(out, replay, &summary);
	print_end(out, replay, now_ns);
}

void run_head_print_job(FILE *out, const struct replay *replay, int width)
{
	print_part_broken(out, print_which, replay, 0, width);
}

void run_head_print_record(FILE *out, const struct replay *replay, uint64_t now_ns, int width)
{
	print_part_broken(out, print_record, replay, now_ns, width);
}

void run_head_print_earlier(FILE *out, const struct replay *replay, uint64_t now_ns, int width)
{
	print_part_broken(out, print_earlier, replay, now_ns, width);
}
