/* SPDX-License-Identifier: MIT */
/* User objects: something of the program that lives as long as the graphs that refer to it. */
#ifndef SIM_CUDA_GRAPHS_USER_OBJECT_H
#define SIM_CUDA_GRAPHS_USER_OBJECT_H

#include <stdbool.h>

#include <cuda.h>

/* A graph's references: a list without doubles. */
struct user_references;

/* Takes count new references. False: out of memory. */
bool user_references_add(struct user_references **list, CUuserObject object, unsigned int count);
/* False: the list has not that many. */
bool user_references_remove(struct user_references **list, CUuserObject object, unsigned int count);
/* References of its own to all that the other list refers to. */
bool user_references_copy(struct user_references **list, const struct user_references *other);
/* The last reference to an object runs its destructor on the calling thread, as a host function. */
void user_references_drop(struct user_references **list);

#endif
