/* SPDX-License-Identifier: MIT */
#include "analysis/known/versions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char prefix[] = "NCCL_";

void versions_read_builds(struct versions *versions, const struct rw_box_header *box)
{
	versions->nccl = box->nccl_version;
	versions->cuda = box->cuda_driver_version;
	versions->rankwatch = box->rankwatch_version;
	versions->interposed = box->interposed;
}

int versions_read(struct versions *versions, const struct rw_box_header *box)
{
	const char *end = box->environment + sizeof(box->environment);
	size_t used = 0;

	*versions = (struct versions){ 0 };
	versions_read_builds(versions, box);
	versions->variables = calloc(1, sizeof(box->environment) + 2);
	if (!versions->variables)
		return -ENOMEM;
	for (const char *at = box->environment; at < end && *at;) {
		size_t length = strnlen(at, (size_t)(end - at));

		if (length >= strlen(prefix) && !memcmp(at, prefix, strlen(prefix))) {
			memcpy(versions->variables + used, at, length);
			used += length + 1;
		}
		at += length + 1;
	}
	char *fitting = realloc(versions->variables, used + 1);
	versions->variables = fitting ? fitting : versions->variables;
	return 0;
}

void versions_free(struct versions *versions)
{
	free(versions->variables);
}
