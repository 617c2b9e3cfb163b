/* SPDX-License-Identifier: MIT */
#include "sim/cuda/graphs/user_object.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "sim/cuda/driver/calls.h"
#include "sim/cuda/streams/callback.h"

struct CUuserObject_st {
	atomic_uint references;
	CUhostFn destroy;
	void *argument;
};

struct user_references {
	struct user_references *next;
	CUuserObject object;
	unsigned int count;
};

static void object_drop(CUuserObject object, unsigned int count)
{
	if (atomic_fetch_sub(&object->references, count) > count)
		return;
	callback_run_here(object->destroy, object->argument);
	free(object);
}

bool user_references_add(struct user_references **list, CUuserObject object, unsigned int count)
{
	struct user_references *at = *list;

	while (at && at->object != object)
		at = at->next;
	if (!at) {
		at = malloc(sizeof(*at));
		if (!at)
			return false;
		*at = (struct user_references){ *list, object, 0 };
		*list = at;
	}
	at->count += count;
	atomic_fetch_add(&object->references, count);
	return true;
}

bool user_references_remove(struct user_references **list, CUuserObject object, unsigned int count)
{
	while (*list && (*list)->object != object)
		list = &(*list)->next;
	struct user_references *at = *list;
	if (!at || at->count < count)
		return false;
	at->count -= count;
	if (!at->count) {
		*list = at->next;
		free(at);
	}
	object_drop(object, count);
	return true;
}

bool user_references_copy(struct user_references **list, const struct user_references *other)
{
	for (; other; other = other->next) {
		if (!user_references_add(list, other->object, 1))
			return false;
	}
	return true;
}

void user_references_drop(struct user_references **list)
{
	while (*list) {
		struct user_references *at = *list;
		*list = at->next;
		object_drop(at->object, at->count);
		free(at);
	}
}

CUresult sim_cuUserObjectCreate(CUuserObject *object, void *argument, CUhostFn destroy, unsigned int references,
				unsigned int flags)
{
	if (!object || !destroy || !references || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	*object = malloc(sizeof(**object));
	if (!*object)
		return CUDA_ERROR_OUT_OF_MEMORY;
	atomic_init(&(*object)->references, references);
	(*object)->destroy = destroy;
	(*object)->argument = argument;
	return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRetain(CUuserObject object, unsigned int count)
{
	if (!object || !count)
		return CUDA_ERROR_INVALID_VALUE;
	atomic_fetch_add(&object->references, count);
	return CUDA_SUCCESS;
}

CUresult sim_cuUserObjectRelease(CUuserObject object, unsigned int count)
{
	if (!object || !count)
		return CUDA_ERROR_INVALID_VALUE;
	object_drop(object, count);
	return CUDA_SUCCESS;
}
