/* SPDX-License-Identifier: MIT */
#include "analysis/job/open.h"

#include "analysis/job/place.h"

static uint32_t find(const struct open *open, enum rw_kind kind, uint32_t subject)
{
	uint32_t at = 0;

	while (at < open->count && (open->list[at].kind != kind || open->list[at].subject != subject))
		at++;
	return at;
}

bool open_has(const struct open *open, enum rw_kind kind, uint32_t subject)
{
	return find(open, kind, subject) < open->count;
}

bool open_has_critical(const struct open *open)
{
	for (uint32_t i = 0; i < open->count; i++)
		if (open->list[i].critical)
			return true;
	return false;
}

void open_tell(struct open *open, struct findings *findings, struct record *record, uint64_t now_ns)
{
	uint32_t at = find(open, record->finding.kind, record->subject);

	if (at == OPEN_MAX) {
		record_free(record);
		return;
	}
	if (at == open->count)
		open->list[open->count++] = (struct open_finding){ .kind = record->finding.kind, .subject = record->subject };
	open->list[at].seen_ns = now_ns;
	open->list[at].critical |= record->finding.severity == RW_CRITICAL;
	findings_tell(findings, record, now_ns);
}

void open_close(struct open *open, struct findings *findings, enum rw_kind kind, uint32_t subject, uint64_t now_ns)
{
	uint32_t at = find(open, kind, subject);

	if (at == open->count)
		return;
	open->list[at] = open->list[--open->count];
	findings_close(findings, kind, subject, now_ns);
}

void open_hold(struct open *open, uint64_t now_ns)
{
	for (uint32_t i = 0; i < open->count; i++)
		open->list[i].seen_ns = now_ns;
}

void open_close_over(struct open *open, struct findings *findings, uint64_t now_ns)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < open->count; i++) {
		const struct open_finding *finding = &open->list[i];
		if (now_ns < finding->seen_ns + JOB_PLACE_FRESH_NS)
			open->list[kept++] = *finding;
		else
			findings_close(findings, finding->kind, finding->subject, now_ns);
	}
	open->count = kept;
}
