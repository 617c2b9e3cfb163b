/* SPDX-License-Identifier: MIT */
#include "fake_probes.h"

#include <stdio.h>

struct probes {
	int nothing;
};

struct fake_probes fake_probes;

static struct probes opened;

int probes_open(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why)
{
	(void)threshold_ns, (void)record, (void)argument;
	*probes = fake_probes.open_err ? NULL : &opened;
	if (fake_probes.open_err)
		snprintf(why, 256, "no CAP_BPF and CAP_PERFMON; run the collector as root");
	return fake_probes.open_err;
}

void probes_close(struct probes *probes)
{
	(void)probes;
}

int probes_watch(struct probes *probes, pid_t tgid)
{
	(void)probes, (void)tgid;
	return fake_probes.refused_count > 0 && fake_probes.refused_count-- ? fake_probes.refusal : 0;
}

void probes_unwatch(struct probes *probes, pid_t tgid)
{
	(void)probes, (void)tgid;
}

int probes_poll(struct probes *probes)
{
	(void)probes;
	return fake_probes.records;
}

int probes_sample(struct probes *probes, pid_t tgid)
{
	(void)probes, (void)tgid;
	return 0;
}

void probes_loss(struct probes *probes, struct probes_loss *loss)
{
	(void)probes;
	*loss = fake_probes.lost;
}
