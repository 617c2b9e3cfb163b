/* SPDX-License-Identifier: MIT */
#include "console/doctor/libraries.h"

#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "console/doctor/python.h"

#define NCCL_NAME "libnccl.so.2"
#define TORCH_NAME "libtorch_cuda.so"

static void add_copy(struct library_copies *copies, const char *path)
{
	char real[PATH_MAX];

	if (copies->count == LIBRARY_COPIES || !realpath(path, real) || access(real, R_OK) != 0)
		return;
	for (size_t i = 0; i < copies->count; i++) {
		if (!strcmp(copies->paths[i], real))
			return;
	}
	snprintf(copies->paths[copies->count++], INSTALL_PATH, "%s", real);
}

static void add_in_directories(struct library_copies *copies, const char *root, const char *directories,
			       const char *below)
{
	char list[8 * INSTALL_PATH], *rest = NULL;

	snprintf(list, sizeof(list), "%s", directories);
	for (char *one = strtok_r(list, ":\n", &rest); one; one = strtok_r(NULL, ":\n", &rest)) {
		char path[2 * INSTALL_PATH];

		snprintf(path, sizeof(path), "%s%s/%s", root, one, below);
		add_copy(copies, path);
	}
}

/* The directories that ld.so.conf of the usual distributions lists, rather than its cache: the cache cannot be read
 * under another root. */
static void add_in_system(struct library_copies *copies, const char *root)
{
	static const char *const patterns[] = { "/usr/lib/*-linux-gnu", "/lib/*-linux-gnu",
						"/usr/lib64",           "/usr/lib",
						"/usr/local/lib",       "/usr/local/cuda*/lib64",
						"/opt/*/nccl/lib" };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++) {
		char pattern[INSTALL_PATH];
		glob_t found = { 0 };

		snprintf(pattern, sizeof(pattern), "%s%s/" NCCL_NAME, root, patterns[i]);
		if (glob(pattern, 0, NULL, &found) == 0) {
			for (size_t j = 0; j < found.gl_pathc; j++)
				add_copy(copies, found.gl_pathv[j]);
		}
		globfree(&found);
	}
}

void library_find_nccl(const struct check_context *context, struct library_copies *copies)
{
	char packages[4 * INSTALL_PATH];
	const char *paths = check_get(context, "LD_LIBRARY_PATH");
	const char *conda = check_get(context, "CONDA_PREFIX");

	copies->count = 0;
	python_packages(context, packages, sizeof(packages));
	add_in_directories(copies, "", packages, "nvidia/nccl/lib/" NCCL_NAME);
	if (paths)
		add_in_directories(copies, context->root, paths, NCCL_NAME);
	add_in_system(copies, context->root);
	if (conda)
		add_in_directories(copies, context->root, conda, "lib/" NCCL_NAME);
}

/* NCCL looks this symbol up in its plugin; nobody else has a reason to name it. */
static const char inside_nccl[] = "ncclProfiler_v";

static bool has_nccl_inside(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	void *bytes = MAP_FAILED;
	struct stat status;

	if (file < 0)
		return false;
	if (fstat(file, &status) == 0 && status.st_size > 0)
		bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
	close(file);
	if (bytes == MAP_FAILED)
		return false;
	bool found = memmem(bytes, (size_t)status.st_size, inside_nccl, strlen(inside_nccl)) != NULL;
	munmap(bytes, (size_t)status.st_size);
	return found;
}

void library_ask_inside(const void *argument, void *result, size_t size)
{
	struct library_copies *copies = result;
	size_t kept = 0;

	(void)size;
	*copies = *(const struct library_copies *)argument;
	for (size_t i = 0; i < copies->count; i++) {
		if (has_nccl_inside(copies->paths[i]))
			memmove(copies->paths[kept++], copies->paths[i], INSTALL_PATH);
	}
	copies->count = kept;
}

void library_find_torch(const struct check_context *context, struct library_copies *copies)
{
	char packages[4 * INSTALL_PATH];
	const char *paths = check_get(context, "LD_LIBRARY_PATH");

	copies->count = 0;
	python_packages(context, packages, sizeof(packages));
	add_in_directories(copies, "", packages, "torch/lib/" TORCH_NAME);
	if (paths)
		add_in_directories(copies, context->root, paths, TORCH_NAME);
}

/* Opens the library and notes its file. NULL: answer->error says why. */
static void *open_library(const char *name, struct library_answer *answer)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map = NULL;

	if (!library) {
		snprintf(answer->error, sizeof(answer->error), "%s", dlerror());
		return NULL;
	}
	if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map)
		snprintf(answer->path, sizeof(answer->path), "%s", map->l_name);
	return library;
}

void library_ask_nccl_version(const void *argument, void *result, size_t size)
{
	struct library_answer *answer = result;
	void *library = open_library(argument, answer);
	int (*get_version)(int *) = library ? (int (*)(int *))dlsym(library, "ncclGetVersion") : NULL;

	(void)size;
	if (library && !get_version)
		snprintf(answer->text, sizeof(answer->text), "it exports no ncclGetVersion");
	else if (library && get_version(&answer->value) != 0)
		snprintf(answer->error, sizeof(answer->error), "it has no working ncclGetVersion");
}

void library_ask_profiler(const void *argument, void *result, size_t size)
{
	struct library_answer *answer = result;
	void *library = open_library(argument, answer);

	(void)size;
	for (int abi = 9; library && abi > 0 && !answer->value; abi--) {
		char symbol[32];

		snprintf(symbol, sizeof(symbol), "ncclProfiler_v%d", abi);
		if (dlsym(library, symbol))
			answer->value = abi;
	}
	/* What NCCL does when the file is preloaded: the name alone must find it. */
	if (library && !dlopen(INSTALL_PLUGIN_NAME, RTLD_NOW | RTLD_NOLOAD))
		snprintf(answer->text, sizeof(answer->text), "its SONAME is not " INSTALL_PLUGIN_NAME);
}

/* CUDA driver API, as far as it is needed to ask. */
enum { CUDA_64_BIT_STREAM_MEM_OPS = 122, CUDA_COMPUTE_CAPABILITY_MAJOR = 75 };
typedef int cuda_int(unsigned flags);
typedef int cuda_count(int *count);
typedef int cuda_device(int *device, int ordinal);
typedef int cuda_name(char *name, int size, int device);
typedef int cuda_attribute(int *value, int attribute, int device);

void library_ask_gpu(const void *argument, void *result, size_t size)
{
	struct library_answer *answer = result;
	void *library = open_library(argument, answer);
	char name[sizeof(answer->text) - 1] = "";
	int device = 0, able = 0;

	(void)size;
	answer->value = -1;
	if (!library)
		return;
	cuda_int *init = (cuda_int *)dlsym(library, "cuInit");
	cuda_count *count = (cuda_count *)dlsym(library, "cuDeviceGetCount");
	cuda_device *get = (cuda_device *)dlsym(library, "cuDeviceGet");
	cuda_name *get_name = (cuda_name *)dlsym(library, "cuDeviceGetName");
	cuda_attribute *attribute = (cuda_attribute *)dlsym(library, "cuDeviceGetAttribute");

	if (!init || !count || !get || !attribute) {
		snprintf(answer->error, sizeof(answer->error), "it lacks functions of the CUDA driver API");
		return;
	}
	answer->value = 0;
	int error = init(0);

	if (error || count(&answer->value) || answer->value == 0) {
		snprintf(answer->error, sizeof(answer->error), "cuInit says %d", error);
		return;
	}
	if (get(&device, 0) == 0 && get_name)
		get_name(name, sizeof(name), device);
	attribute(&able, CUDA_64_BIT_STREAM_MEM_OPS, device);
	snprintf(answer->text, sizeof(answer->text), "%s%s", able ? "" : "!", name);
}

void library_ask_generation(const void *argument, void *result, size_t size)
{
	struct library_answer *answer = result;
	void *library = open_library(argument, answer);
	int device = 0, major = 0, release = 0;

	(void)size;
	if (!library)
		return;
	cuda_int *init = (cuda_int *)dlsym(library, "cuInit");
	cuda_count *version = (cuda_count *)dlsym(library, "cuDriverGetVersion");
	cuda_device *get = (cuda_device *)dlsym(library, "cuDeviceGet");
	cuda_attribute *attribute = (cuda_attribute *)dlsym(library, "cuDeviceGetAttribute");

	if (!init || !version || !get || !attribute || init(0) || version(&release) || get(&device, 0) ||
	    attribute(&major, CUDA_COMPUTE_CAPABILITY_MAJOR, device))
		return;
	answer->value = release;
	snprintf(answer->text, sizeof(answer->text), "%d", major);
}
