/* SPDX-License-Identifier: MIT */
#include "protocol/explanation.h"

#include "protocol/course_text.h"
#include "protocol/loss_text.h"
#include "protocol/memory_text.h"
#include "protocol/pace_text.h"
#include "finding/value.h"

json_t *explanation_json(const struct analysis *analysis)
{
	struct analysis_pipeline pipeline;
	struct analysis_gpu_memory memory;
	struct analysis_step_course course;
	struct analysis_pace pace;

	analysis_tell_pipeline(analysis, &pipeline);
	analysis_tell_gpu_memory(analysis, &memory);
	analysis_tell_step_course(analysis, &course);
	analysis_tell_pace(analysis, &pace);
	return json_pack("{s:b, s:o, s:o, s:o, s:o}", "sends", pipeline.sends, "loss", loss_text_json(&pipeline),
			 "gpu_memory", memory_text_json(&memory), "steps", course_text_json(&course), "pace",
			 pace_text_json(&pace));
}

static void print_line(FILE *out, const char *before, int label, const char *name, const char *text)
{
	fprintf(out, "%s%-*s%s\n", before, label, name, text);
}

void explanation_print(FILE *out, const char *before, int label, const json_t *explanation, bool live)
{
	const json_t *loss = json_object_get(explanation, "loss"), *memory = json_object_get(explanation, "gpu_memory"),
		     *steps = json_object_get(explanation, "steps"), *pace = json_object_get(explanation, "pace");

	if (json_is_object(loss))
		loss_text_print(out, before, label, loss);
	else if (json_is_true(json_object_get(explanation, "sends")))
		print_line(
		    out, before, label, "loss",
		    "which ranks compute it is not known: no whole step of a pipeline was seen on all of its ranks");
	else
		print_line(out, before, label, "loss",
			   "no rank sends to another, so this is no pipeline: where only some ranks log a loss, look "
			   "elsewhere");
	if (json_is_object(memory))
		memory_text_print(out, before, label, memory);
	else if (live)
		print_line(out, before, label, "memory",
			   "nothing is known of any GPU's memory yet, or NVML does not answer here");
	else
		print_line(out, before, label, "memory",
			   "not known: no collector of this user noted it in the black boxes for at least 16 s");
	if (json_is_object(steps))
		course_text_print(out, before, label, steps);
	else
		print_line(out, before, label, "steps", "too few steps have numbers to say which are long");
	if (!json_is_object(pace))
		print_line(out, before, label, "slower", "too few steps are known to say whether they become longer");
	else if (value_is(pace, "course", "steady"))
		print_line(out, before, label, "slower", "no: steps do not take longer for good than they did before");
	else
		pace_text_print(out, before, label, pace);
}

void explanation_print_shown(FILE *out, const char *before, int label, const json_t *explanation)
{
	pace_text_print(out, before, label, json_object_get(explanation, "pace"));
	loss_text_print(out, before, label, json_object_get(explanation, "loss"));
	memory_text_print(out, before, label, json_object_get(explanation, "gpu_memory"));
	course_text_print_pauses(out, before, label, json_object_get(explanation, "steps"));
}
