/* SPDX-License-Identifier: MIT */
/*
 * Which NCCL a call reaches with the interposer in front: the one that it would have reached without it.
 *   callers SCENARIO (with the library preloaded, as the loader does it)
 * FAKES: folder with libfake_{first,second,bare,named}.so, of which the last has NCCL's SONAME, with
 * libuser_{first,second,bare,none}.so, which call them, and with libuser_whole.so, which is both.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FIRST = 101, SECOND = 102, BARE = 103, NAMED = 104, WHOLE = 105, SYSTEM_ERROR = 2, CALLS = 100000 };

typedef int ask(void);
typedef int all_reduce(const void *, void *, size_t, int, int, void *, void *);

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                        \
			exit(1);                                                                                       \
		}                                                                                                      \
	} while (0)

static void *open_fake(const char *name, int flags)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", FAKES, name);
	void *handle = dlopen(path, RTLD_LAZY | flags);
	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(handle);
	return handle;
}

static int call(void *user, const char *name)
{
	ask *function;

	*(void **)&function = dlsym(user, name);
	CHECK(function);
	return function();
}

/* As extension modules of Python are loaded: each with a NCCL of its own. */
static void two(void)
{
	void *first = open_fake("libuser_first.so", RTLD_LOCAL), *second = open_fake("libuser_second.so", RTLD_LOCAL);

	for (int i = 0; i < 3; i++) {
		CHECK(call(first, "call_all_reduce") == FIRST);
		CHECK(call(second, "call_all_reduce") == SECOND);
		CHECK(call(second, "call_bcast") == SECOND);
		CHECK(call(first, "call_bcast") == FIRST);
	}
}

/* A NCCL without strong names: its own weak one, never ours again. */
static void bare(void)
{
	void *user = open_fake("libuser_bare.so", RTLD_LOCAL);

	CHECK(call(user, "call_all_reduce") == BARE);
	CHECK(call(user, "call_bcast") == BARE);
}

/* Not linked to a NCCL: the one that is loaded by name, or in the global scope. */
static void unlinked(void)
{
	void *user = open_fake("libuser_none.so", RTLD_LOCAL);

	CHECK(call(user, "call_all_reduce") == SYSTEM_ERROR);
	open_fake("libfake_named.so", RTLD_LOCAL);
	CHECK(call(user, "call_all_reduce") == NAMED);
}

/* The global scope comes before a library's own dependencies, with us in front as without. */
static void global(void)
{
	open_fake("libfake_first.so", RTLD_GLOBAL);
	CHECK(call(open_fake("libuser_second.so", RTLD_LOCAL), "call_all_reduce") == FIRST);
}

/* Pointers that a program takes itself pass us by. */
static void pointer(void)
{
	all_reduce *function;

	*(void **)&function = dlsym(open_fake("libfake_first.so", RTLD_LOCAL), "ncclAllReduce");
	CHECK(function && function(NULL, NULL, 1, 0, 0, NULL, NULL) == FIRST);
}

/* What the call writes to standard error. */
static void call_and_read(all_reduce *function, char *text, size_t size)
{
	int before = dup(STDERR_FILENO), file = memfd_create("standard error", MFD_CLOEXEC);

	CHECK(before >= 0 && file >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
	int result = function(NULL, NULL, 1, 0, 0, NULL, NULL);
	ssize_t length = pread(file, text, size - 1, 0);

	dup2(before, STDERR_FILENO);
	close(before);
	close(file);
	CHECK(result == SYSTEM_ERROR && length >= 0);
	text[length] = '\0';
}

/* Somebody who looks for NCCL in the global scope finds us, and gets an error as from a broken system. */
static void probe(void)
{
	all_reduce *function;
	char text[1024];

	*(void **)&function = dlsym(RTLD_DEFAULT, "ncclAllReduce");
	CHECK(function);
	call_and_read(function, text, sizeof(text));
	CHECK(strstr(text, "ncclAllReduce was called and no NCCL that exports it is loaded"));
	CHECK(strstr(text, "--no-preload"));
	CHECK(!dlerror());
	CHECK(!dlsym(RTLD_DEFAULT, "ncclGetVersion") && !dlsym(RTLD_DEFAULT, "pncclAllReduce"));
	*(void **)&function = dlsym(RTLD_DEFAULT, "ncclAllReduce");
	CHECK(function(NULL, NULL, 1, 0, 0, NULL, NULL) == SYSTEM_ERROR);
}

/* A function that this NCCL is too old for. */
static void missing(void)
{
	CHECK(call(open_fake("libuser_first.so", RTLD_LOCAL), "call_all_to_all") == SYSTEM_ERROR);
	CHECK(call(open_fake("libuser_first.so", RTLD_LOCAL), "call_all_reduce") == FIRST);
}

/* Closed and opened again, and another one in between. */
static void reopened(void)
{
	/* Each begins as all use of NCCL does: with a communicator. */
	for (int i = 0; i < 20; i++) {
		void *first = open_fake("libuser_first.so", RTLD_LOCAL);
		CHECK(call(first, "call_init") == 0);
		CHECK(call(first, "call_all_reduce") == FIRST);
		CHECK(dlclose(first) == 0);
		void *second = open_fake("libuser_second.so", RTLD_LOCAL);
		CHECK(call(second, "call_init") == 0);
		CHECK(call(second, "call_all_reduce") == SECOND);
		CHECK(dlclose(second) == 0);
	}
}

static atomic_int loader_walks;

/* The library binds to this one: a walk over all loaded objects under the loader's lock. */
int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *argument)
{
	static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "dl_iterate_phdr");
	atomic_fetch_add(&loader_walks, 1);
	return real(each, argument);
}

/* So that the next library lies elsewhere. */
static void occupy(const void *function)
{
	void *page = (void *)((uintptr_t)function & ~(uintptr_t)4095);

	CHECK(mmap(page, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == page);
}

/* As many libraries as a long job unloads: those that are there afterwards are remembered as the first ones were. */
static void unloaded(void)
{
	enum { LIBRARIES = 150, GROUPS = 1000 };
	void *stays = open_fake("libuser_second.so", RTLD_LOCAL);

	for (int i = 0; i < LIBRARIES; i++) {
		void *user = open_fake("libuser_first.so", RTLD_LOCAL);
		const void *function = dlsym(user, "call_group");

		CHECK(call(user, "call_init") == 0 && call(user, "call_group") == FIRST);
		CHECK(call(stays, "call_group") == SECOND);
		CHECK(dlclose(user) == 0);
		if (i % 2)
			occupy(function);
	}
	void *user = open_fake("libuser_first.so", RTLD_LOCAL);
	ask *groups[] = { (ask *)dlsym(user, "call_group"), (ask *)dlsym(stays, "call_group") };
	CHECK(groups[0]() == FIRST && groups[1]() == SECOND);
	int before = atomic_load(&loader_walks);
	for (int i = 0; i < GROUPS; i++)
		CHECK(groups[0]() == FIRST && groups[1]() == SECOND);
	fprintf(stderr, "%d walks over the loaded objects in %d groups\n", atomic_load(&loader_walks) - before, GROUPS);
	CHECK(before > 0 && atomic_load(&loader_walks) == before);
}

/* A tail call has no return address: it looks as if the caller's caller had called, here the program. The communicator
 * says whose it is. */
static void jumped(void)
{
	void *first = open_fake("libuser_first.so", RTLD_LOCAL), *second = open_fake("libuser_second.so", RTLD_LOCAL);

	CHECK(call(first, "call_init") == 0 && call(second, "call_init") == 0);
	CHECK(call(first, "jump_to_bcast") == FIRST);
	CHECK(call(second, "jump_to_bcast") == SECOND);
}

static atomic_int calls_made;

static void *call_often(void *user)
{
	long expected = strtol(getenv("EXPECTED"), NULL, 10);

	for (int i = 0; i < CALLS; i++) {
		CHECK(call(user, "call_all_reduce") == expected);
		atomic_fetch_add(&calls_made, 1);
	}
	return NULL;
}

/* The first call of an object on several threads at once, and a child made while they call. The child looks for no
 * symbol, and the object is known by then: a thread that the child does not have may hold the loader's lock. */
static void threads(void)
{
	void *user = open_fake("libuser_first.so", RTLD_LOCAL);
	ask *call_all_reduce = (ask *)dlsym(user, "call_all_reduce");
	pthread_t handles[8];
	int status;

	setenv("EXPECTED", "101", 1);
	for (int i = 0; i < 8; i++)
		CHECK(pthread_create(&handles[i], NULL, call_often, user) == 0);
	while (!atomic_load(&calls_made))
		sched_yield();
	pid_t child = fork();
	if (child == 0)
		_exit(call_all_reduce() == FIRST ? 0 : 1);
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	for (int i = 0; i < 8; i++)
		pthread_join(handles[i], NULL);
}

static void copy_file(const char *from, const char *to)
{
	char bytes[65536];
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");

	CHECK(in && out);
	for (size_t size; (size = fread(bytes, 1, sizeof(bytes), in)) > 0;)
		CHECK(fwrite(bytes, 1, size, out) == size);
	CHECK(!ferror(in) && fclose(in) == 0 && fclose(out) == 0);
}

/* More kinds of NCCL than anybody has: each file that is opened is another one, with code that calls it. */
static void many(void)
{
	enum { KINDS = 40 };
	char directory[] = "/tmp/callers-XXXXXX", path[64];

	CHECK(mkdtemp(directory));
	for (int i = 0; i < KINDS; i++) {
		snprintf(path, sizeof(path), "%s/%d.so", directory, i);
		copy_file(FAKES "/libuser_whole.so", path);
		void *user = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
		unlink(path);
		for (int again = 0; user && again < 2; again++)
			CHECK(call(user, "call_all_reduce") == WHOLE);
		CHECK(user);
	}
	CHECK(rmdir(directory) == 0);
}

static const struct {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{ "two", two },         { "bare", bare },       { "unlinked", unlinked }, { "global", global },
	{ "pointer", pointer }, { "probe", probe },     { "missing", missing },   { "reopened", reopened },
	{ "jumped", jumped },   { "threads", threads }, { "unloaded", unloaded },
	{ "many", many },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(scenarios[i].name, argv[1]) != 0)
			continue;
		scenarios[i].run();
		return 0;
	}
	fprintf(stderr, "callers SCENARIO\n");
	return 2;
}
