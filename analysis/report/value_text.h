/* SPDX-License-Identifier: MIT */
/* The sentences of findings about values. */
#ifndef ANALYSIS_REPORT_VALUE_TEXT_H
#define ANALYSIS_REPORT_VALUE_TEXT_H

#include "analysis/measure/digests.h"
#include "analysis/report/record.h"

#define VALUE_TEXT_CLEAN_INPUTS "the inputs of all ranks that are seen here were clean"

/* World ranks that were seen to bring bad values: into the operation that the record shows, or into another one that
 * did not come after it. */
struct value_bringers {
	const int32_t *here, *elsewhere;
	size_t here_count, elsewhere_count;
};

/* "rank 5 brought 12 NaN into ReduceScatter #31 on ~fsdp in step 7", "…, and ranks 6,7 such values into other calls" */
void value_text_born(struct record *record, const struct value_bringers *bringers);
/* "the sum of finite values overflows in ReduceScatter #31 on ~fsdp in step 7: 3 Inf" */
void value_text_overflow(struct record *record);
/* "ranks 0-7: 3 NaN in the result of AllReduce #31 on ~fsdp in step 7; one of these ranks made it"; unseen: or one that
 * is not seen */
void value_text_unknown(struct record *record, bool from_result, bool unseen);
/* "3 NaN in the result of AllReduce #31 on ~fsdp in step 7; the inputs of all ranks that are seen here were clean":
 * nobody is named. One of them may still have made it, if it went to a rank that is not seen and came back. */
void value_text_unseen(struct record *record);
/* Behind one of these: what came of it, and that nothing is to be done. */
void value_text_harmless(struct record *record);
/* all: each of the record's ranks was seen to bring it, wherever it came from; else NULL. */
void value_text_scaled(struct record *record, const struct value_bringers *all);
/* "rank 3 has had 12 NaN in AllGather on ~fsdp since it was first seen, always at the same place in the step" */
void value_text_usual(struct record *record);
/* "rank 3 has another result of AllReduce #31 on ~dp in step 7 than the others" and its like. */
void value_text_corruption(struct record *record, const struct disagreement *found);
/* What to do where bits have changed. */
void value_text_advise_altered(struct record *record);
/* A transfer between two world ranks. A record that names one of them: by what its GPU has reported. */
void value_text_altered(struct record *record, int32_t sender, int32_t receiver);
/* The result is bad although the inputs are finite and too small to overflow. */
void value_text_damaged(struct record *record);
/* "rank 5's largest value in ReduceScatter #31 on ~fsdp is 9.3 × that of the others, since step 74" */
void value_text_parted(struct record *record, double factor);
/* What the evidence says of numerics and hardware: analysis/values/nature.h. */
void value_text_nature(struct record *record, const char *nature);
/* "rank 5's largest value in … has grown to 3.1e4, 2.1 × below what fp16 holds" */
void value_text_rising(struct record *record, double largest, double most);
/* "3.1 % of what rank 5 brings into … is saturated, since step 40; it was 0.2 %" */
void value_text_saturation(struct record *record, double share, double before);

#endif
