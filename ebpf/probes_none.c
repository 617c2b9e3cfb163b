/* SPDX-License-Identifier: MIT */
/* Stands in for probes.c where the build had no BPF compiler or library. */
#include "ebpf/probes.h"

#include <errno.h>
#include <stdio.h>

int probes_open(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why)
{
	(void)threshold_ns;
	(void)record;
	(void)argument;
	*probes = NULL;
	snprintf(why, 256, "built without eBPF: %.150s; build it where \"meson setup\" says \"eBPF : yes\"",
		 PROBES_MISSING);
	return -EOPNOTSUPP;
}

void probes_close(struct probes *probes)
{
	(void)probes;
}

int probes_watch(struct probes *probes, pid_t tgid)
{
	(void)probes;
	(void)tgid;
	return -EOPNOTSUPP;
}

void probes_unwatch(struct probes *probes, pid_t tgid)
{
	(void)probes;
	(void)tgid;
}

int probes_poll(struct probes *probes)
{
	(void)probes;
	return -EOPNOTSUPP;
}

int probes_sample(struct probes *probes, pid_t tgid)
{
	(void)probes;
	(void)tgid;
	return -EOPNOTSUPP;
}

int probes_stack(struct probes *probes, int32_t stack_id, char (*frames)[40], int room)
{
	(void)probes;
	(void)stack_id;
	(void)frames;
	(void)room;
	return 0;
}

void probes_loss(struct probes *probes, struct probes_loss *loss)
{
	(void)probes;
	*loss = (struct probes_loss){ 0 };
}

uint64_t probes_own_ns(struct probes *probes)
{
	(void)probes;
	return 0;
}

int probes_open_shared(struct probes **probes, uint64_t threshold_ns, probes_record *record, void *argument, char *why)
{
	return probes_open(probes, threshold_ns, record, argument, why);
}

int probes_watch_for(struct probes *probes, pid_t tgid, uint32_t owner)
{
	(void)owner;
	return probes_watch(probes, tgid);
}

bool probes_watches(struct probes *probes, pid_t tgid)
{
	(void)probes;
	(void)tgid;
	return false;
}

uint64_t probes_lost_by(struct probes *probes, uint32_t owner)
{
	(void)probes;
	(void)owner;
	return 0;
}

int probes_hold(struct probes *probes)
{
	(void)probes;
	return -EOPNOTSUPP;
}

void probes_release(struct probes *probes)
{
	(void)probes;
}

void probes_read_symbols(struct probes *probes)
{
	(void)probes;
}
