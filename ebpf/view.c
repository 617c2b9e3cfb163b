/* SPDX-License-Identifier: MIT */
#include "ebpf/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "ebpf/helper_client.h"

struct view {
	struct helper_client *helper; /* one of the two */
	struct probes *probes;
};

/* A helper that is there and refuses is what its user should hear of: programs of our own would be the exception. */
static int open_either(struct view *view, const char *helper, uint64_t threshold_ns, probes_record *record,
		       void *argument, char *why)
{
	char refused[VIEW_WHY] = "";
	int err = helper ? helper_client_open(&view->helper, helper, record, argument, refused) : -ENOENT;

	if (!err)
		return 0;
	err = probes_open(&view->probes, threshold_ns, record, argument, why);
	if (err && *refused && helper)
		snprintf(why, VIEW_WHY, "%s", refused);
	return err;
}

int view_open(struct view **view, const char *helper, uint64_t threshold_ns, probes_record *record, void *argument,
	      char *why)
{
	struct view *opened = calloc(1, sizeof(*opened));
	int err = opened ? 0 : -ENOMEM;

	*view = NULL;
	if (err) {
		snprintf(why, VIEW_WHY, "out of memory");
		return err;
	}
	err = open_either(opened, helper, threshold_ns, record, argument, why);
	if (err)
		view_close(opened);
	else
		*view = opened;
	return err;
}

void view_close(struct view *view)
{
	if (!view)
		return;
	helper_client_close(view->helper);
	if (view->probes)
		probes_close(view->probes);
	free(view);
}

bool view_is_helpers(const struct view *view)
{
	return view->helper != NULL;
}

int view_watch(struct view *view, pid_t pid, int pidfd, char *why)
{
	*why = '\0';
	return view->helper ? helper_client_watch(view->helper, pid, pidfd, why) : probes_watch(view->probes, pid);
}

void view_unwatch(struct view *view, pid_t pid)
{
	if (view->helper)
		helper_client_unwatch(view->helper, pid);
	else
		probes_unwatch(view->probes, pid);
}

int view_poll(struct view *view)
{
	return view->helper ? helper_client_poll(view->helper) : probes_poll(view->probes);
}

int view_sample(struct view *view, pid_t pid)
{
	return view->helper ? helper_client_sample(view->helper, pid) : probes_sample(view->probes, pid);
}

int view_stack(struct view *view, int32_t stack_id, char (*frames)[40], int room)
{
	return view->helper ? helper_client_stack(view->helper, stack_id, frames, room)
			    : probes_stack(view->probes, stack_id, frames, room);
}

void view_loss(struct view *view, struct probes_loss *loss)
{
	if (view->helper)
		helper_client_loss(view->helper, loss);
	else
		probes_loss(view->probes, loss);
}

uint64_t view_own_ns(struct view *view)
{
	return view->helper ? 0 : probes_own_ns(view->probes);
}

uint64_t view_cost_ns(const struct view *view)
{
	return view->helper ? helper_client_cost_ns(view->helper) : 0;
}
