/* SPDX-License-Identifier: MIT */
#include "plugin/preload/caller.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/guest/message.h"

enum { OBJECTS = 128, NAME = 4096 };

/*
 * A loaded object that calls NCCL. Those of one NCCL share a caller. An entry of size 0 holds no address: it was never
 * used, or was forgotten, and is used again. Written under the lock with an odd version meanwhile; a reader takes what
 * it has read only if the version was even and has not changed.
 */
struct calling_object {
	_Atomic uint32_t version;
	_Atomic uintptr_t begin, size;
	_Atomic(const struct caller *) caller;
};

struct known_caller {
	struct caller caller;
	struct known_caller *next;
};

/* Entries up to object_count have been used; it only grows, under the lock. Callers are never changed. */
static struct calling_object objects[OBJECTS];
static _Atomic uint32_t object_count;
static struct known_caller *callers;
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

/* With "p" in front, the names that no preload replaces. */
static const char *const names[] = {
#define X(name) "pnccl" #name,
	NCCL_FUNCTIONS(X)
#undef X
};

struct object {
	uintptr_t address; /* searched */
	uintptr_t begin, end;
	char name[NAME]; /* "" = the main program */
};

static int match_object(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct object *object = argument;
	uintptr_t begin = UINTPTR_MAX, end = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		begin = at < begin ? at : begin;
		end = at + part->p_memsz > end ? at + part->p_memsz : end;
	}
	if (object->address < begin || object->address >= end)
		return 0;
	object->begin = begin;
	object->end = end;
	snprintf(object->name, NAME, "%s", info->dlpi_name);
	return 1;
}

static bool find_object(const void *address, struct object *object)
{
	object->address = (uintptr_t)address;
	return dl_iterate_phdr(match_object, object) != 0;
}

/* Is it one of our own wrappers, in whichever scope it was found? Calling it would recurse without end. */
static bool is_ours(const void *symbol)
{
	Dl_info found, own;

	return !dladdr(symbol, &found) || !dladdr((const void *)is_ours, &own) || found.dli_fbase == own.dli_fbase;
}

/* Where functions are looked up; NULL: nowhere. */
struct scopes {
	void *caller, *by_name, *by_functions;
};

static void *search(void *scope, const char *name)
{
	void *symbol = scope == NULL ? NULL : dlsym(scope, name);

	return symbol && !is_ours(symbol) ? symbol : NULL;
}

/* The strong pncclX first: ncclX could be somebody else's, and a NCCL without pncclX still has its own. */
static void *search_either(void *scope, const char *strong)
{
	void *symbol = search(scope, strong);

	return symbol ? symbol : search(scope, strong + 1);
}

/*
 * As the loader would: the global scope behind us (a NCCL that is linked to the program, or another tool that was
 * preloaded), then the caller with its dependencies. A caller without NCCL has been jumped through (a tail call leaves
 * no return address) or relies on others: then what goes by NCCL's name, and what is NCCL by its functions.
 */
static void *find_function(const struct scopes *scopes, const char *strong)
{
	void *symbol = search(RTLD_NEXT, strong + 1);

	if (!symbol)
		symbol = search_either(scopes->caller, strong);
	if (!symbol)
		symbol = search_either(scopes->by_name, strong);
	if (!symbol)
		symbol = search_either(scopes->by_functions, strong);
	return symbol;
}

/* The NCCL that we call must stay loaded, because the pointers into it are kept for ever. */
static void keep_loaded(const struct caller *caller)
{
	const void *base = NULL;
	Dl_info info;

	for (int i = 0; i < NCCL_FUNCTION_COUNT; i++) {
		if (!caller->functions[i] || !dladdr((const void *)caller->functions[i], &info) ||
		    info.dli_fbase == base)
			continue;
		base = info.dli_fbase;
		if (!dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD))
			dlerror(); /* it is the main program, which is never unloaded */
	}
}

/* The object with this number, counted down. Nothing may be opened while the loader lists its objects. */
struct numbered {
	size_t left;
	char name[NAME];
};

static int match_number(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct numbered *object = argument;

	(void)size;
	if (object->left--)
		return 0;
	snprintf(object->name, NAME, "%s", info->dlpi_name);
	return 1;
}

/* The first loaded object that is a NCCL; NULL: none. */
static void *find_by_functions(void)
{
	struct numbered object;

	for (size_t number = 0;; number++) {
		object.left = number;
		if (!dl_iterate_phdr(match_number, &object))
			return NULL;
		void *scope = *object.name ? dlopen(object.name, RTLD_LAZY | RTLD_NOLOAD) : NULL;

		if (search_either(scope, "pncclAllReduce"))
			return scope;
		if (scope)
			dlclose(scope);
	}
}

static void close_scope(void *scope)
{
	if (scope)
		dlclose(scope);
}

static void resolve(const struct object *object, struct caller *caller)
{
	struct scopes scopes = {
		.caller = dlopen(*object->name ? object->name : NULL, RTLD_LAZY | RTLD_NOLOAD),
		.by_name = dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD),
	};

	if (!search_either(scopes.caller, "pncclAllReduce") && !scopes.by_name)
		scopes.by_functions = find_by_functions();
	for (int i = 0; i < NCCL_FUNCTION_COUNT; i++)
		*(void **)&caller->functions[i] = find_function(&scopes, names[i]);
	keep_loaded(caller);
	close_scope(scopes.by_functions);
	close_scope(scopes.by_name);
	close_scope(scopes.caller);
	dlerror(); /* clears our failures, which the program's next dlerror() would report */
}

/* The caller of the object, if the address lies in it. */
static const struct caller *caller_at(struct calling_object *object, uintptr_t address)
{
	/* Acquire: pairs with the release at the end of write_object(). */
	uint32_t version = atomic_load_explicit(&object->version, memory_order_acquire);
	uintptr_t begin = atomic_load_explicit(&object->begin, memory_order_relaxed);
	uintptr_t size = atomic_load_explicit(&object->size, memory_order_relaxed);
	const struct caller *caller = atomic_load_explicit(&object->caller, memory_order_relaxed);

	/* Pairs with the fence in write_object(). */
	atomic_thread_fence(memory_order_acquire);
	if (version % 2 || atomic_load_explicit(&object->version, memory_order_relaxed) != version)
		return NULL; /* being written: at worst the object is looked up once more */
	return address - begin < size ? caller : NULL;
}

static const struct caller *find_known(uintptr_t address)
{
	uint32_t count = atomic_load_explicit(&object_count, memory_order_acquire);

	for (uint32_t i = 0; i < count; i++) {
		const struct caller *caller = caller_at(&objects[i], address);

		if (caller)
			return caller;
	}
	return NULL;
}

/* Under the lock. */
static void write_object(struct calling_object *object, uintptr_t begin, uintptr_t size, const struct caller *caller)
{
	uint32_t version = atomic_load_explicit(&object->version, memory_order_relaxed);

	atomic_store_explicit(&object->version, version + 1, memory_order_relaxed);
	/* Who reads a part of the new entry sees the odd version, or the last one. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&object->begin, begin, memory_order_relaxed);
	atomic_store_explicit(&object->size, size, memory_order_relaxed);
	atomic_store_explicit(&object->caller, caller, memory_order_relaxed);
	atomic_store_explicit(&object->version, version + 2, memory_order_release);
}

/* NULL: the table is full of objects that nobody has forgotten. Under the lock. */
static struct calling_object *free_object(void)
{
	uint32_t count = atomic_load_explicit(&object_count, memory_order_relaxed);

	for (uint32_t i = 0; i < count; i++)
		if (!atomic_load_explicit(&objects[i].size, memory_order_relaxed))
			return &objects[i];
	if (count == OBJECTS)
		return NULL;
	/* Release: a reader that sees the count sees an entry of size 0. */
	atomic_store_explicit(&object_count, count + 1, memory_order_release);
	return &objects[count];
}

/* The remembered equal of the caller. NULL: no memory. Under the lock. */
static const struct caller *remember_caller(const struct caller *caller)
{
	struct known_caller *known = callers;

	while (known && memcmp(&known->caller, caller, sizeof(*caller)) != 0)
		known = known->next;
	if (known)
		return &known->caller;
	known = malloc(sizeof(*known));
	if (!known)
		return NULL;
	*known = (struct known_caller){ *caller, callers };
	callers = known;
	return &known->caller;
}

static const struct caller *remember(const struct object *object, const struct caller *found)
{
	pthread_mutex_lock(&changing);
	const struct caller *caller = remember_caller(found);
	/* Another thread may have been first. */
	bool unknown = caller && !find_known(object->address);
	struct calling_object *place = unknown ? free_object() : NULL;
	if (place) /* else each call of the object looks it up */
		write_object(place, object->begin, object->end - object->begin, caller);
	pthread_mutex_unlock(&changing);
	return caller;
}

/* Reported once per process: a program may make such a call in every step. */
static void report_missing(const char *name)
{
	static atomic_flag reported = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&reported))
		message("%s was called and no NCCL that exports it is loaded: the call fails. A NCCL that hides its "
			"functions "
			"is seen by the profiler plugin alone: run the program with --no-preload",
			name);
}

/* Not under a lock of ours: the loader has locks of its own, and calls constructors that may call NCCL. */
static __attribute__((noinline)) const struct caller *find_new(const void *address, enum nccl_function wanted)
{
	struct caller caller = { 0 };
	struct object object;

	if (find_object(address, &object))
		resolve(&object, &caller);
	if (!caller.functions[wanted]) {
		report_missing(names[wanted] + 1);
		return NULL;
	}
	return remember(&object, &caller);
}

const struct caller *caller_find(const void *return_address, enum nccl_function wanted)
{
	const struct caller *found = find_known((uintptr_t)return_address);

	return found && found->functions[wanted] ? found : find_new(return_address, wanted);
}

static int count_gone(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)size;
	*(unsigned long long *)argument = info->dlpi_subs;
	return 1;
}

void caller_review(void)
{
	static _Atomic unsigned long long seen;
	unsigned long long gone = 0;

	dl_iterate_phdr(count_gone, &gone);
	if (atomic_load_explicit(&seen, memory_order_relaxed) == gone)
		return;
	/* Another thread holds the lock to remember an object; in a forked child it may be held for ever. The next
	 * review tries again. */
	if (pthread_mutex_trylock(&changing) != 0)
		return;
	atomic_store_explicit(&seen, gone, memory_order_relaxed);
	uint32_t count = atomic_load_explicit(&object_count, memory_order_relaxed);
	for (uint32_t i = 0; i < count; i++)
		write_object(&objects[i], 0, 0, NULL);
	pthread_mutex_unlock(&changing);
}
