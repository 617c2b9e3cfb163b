/* SPDX-License-Identifier: MIT */
#include "sim/cuda/kernels/module.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cuda/devices/context.h"
#include "sim/cuda/driver/calls.h"
#include "sim/cuda/streams/stream.h"

struct CUmod_st {
	bool owns_names;
	size_t count;
	struct CUfunc_st functions[];
};

#define NAME_BYTES 200

static CUmodule module_new(size_t count)
{
	CUmodule module = calloc(1, sizeof(*module) + count * sizeof(module->functions[0]));

	if (module)
		module->count = count;
	return module;
}

static CUresult load_image(CUmodule *module, const struct cpu_module_image *image)
{
	for (uint64_t i = 0; i < image->count; i++) {
		if (image->kernels[i].params > CPU_KERNEL_PARAMS_MAX)
			return CUDA_ERROR_INVALID_IMAGE;
	}
	*module = module_new(image->count);
	if (!*module)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint64_t i = 0; i < image->count; i++)
		(*module)->functions[i].kernel = image->kernels[i];
	return CUDA_SUCCESS;
}

static size_t count_entries(const char *text)
{
	size_t count = 0;

	for (text = strstr(text, ".entry"); text; text = strstr(text + 1, ".entry"))
		count++;
	return count;
}

static void module_free(CUmodule module)
{
	for (size_t i = 0; module->owns_names && i < module->count; i++)
		free((char *)module->functions[i].kernel.name);
	free(module);
}

static CUresult load_ptx(CUmodule *module, const char *text)
{
	char name[NAME_BYTES];
	CUresult result = CUDA_SUCCESS;
	CUmodule made = module_new(count_entries(text));

	if (!made)
		return CUDA_ERROR_OUT_OF_MEMORY;
	made->owns_names = true;
	for (size_t i = 0; i < made->count && result == CUDA_SUCCESS; i++) {
		result = ptx_next_entry(&text, name, sizeof(name), &made->functions[i].kernel);
		made->functions[i].kernel.name = strdup(name);
		if (!made->functions[i].kernel.name)
			result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	if (result != CUDA_SUCCESS) {
		module_free(made);
		return result;
	}
	*module = made;
	return CUDA_SUCCESS;
}

static bool looks_like_ptx(const char *text)
{
	text += strspn(text, " \t\r\n");
	return text[0] == '.' || (text[0] == '/' && (text[1] == '/' || text[1] == '*'));
}

/* As on a GPU, code is loaded once the context is idle. CPU functions, as NCCL's kernels, are there from the start. */
static CUresult load(CUcontext context, CUmodule *module, const void *image)
{
	if (!module || !image)
		return CUDA_ERROR_INVALID_VALUE;
	if (strncmp(image, CPU_MODULE_MAGIC, sizeof(((struct cpu_module_image *)0)->magic)) == 0)
		return load_image(module, image);
	if (!looks_like_ptx(image))
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	streams_drain(context);
	return load_ptx(module, image);
}

CUresult sim_cuModuleLoadData(CUmodule *module, const void *image)
{
	CUcontext context;
	CUresult result = context_current(&context);

	if (result == CUDA_SUCCESS)
		result = load(context, module, image);
	for (size_t i = 0; result == CUDA_SUCCESS && i < (*module)->count; i++) {
		(*module)->functions[i].context = context;
		(*module)->functions[i].resets = atomic_load(&context->resets);
	}
	return result;
}

CUresult sim_cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count, CUjit_option *options,
				void **values)
{
	(void)count, (void)options, (void)values;
	return sim_cuModuleLoadData(module, image);
}

/* Queued launches have copied what they need. */
CUresult sim_cuModuleUnload(CUmodule module)
{
	if (!module)
		return CUDA_ERROR_INVALID_HANDLE;
	module_free(module);
	return CUDA_SUCCESS;
}

CUresult sim_cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
	if (!function || !module || !name)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < module->count; i++) {
		if (strcmp(module->functions[i].kernel.name, name) == 0) {
			*function = &module->functions[i];
			return CUDA_SUCCESS;
		}
	}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult sim_cuFuncLoad(CUfunction function)
{
	return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult sim_cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function)
{
	if (!value || !function)
		return CUDA_ERROR_INVALID_VALUE;
	*value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
	return CUDA_SUCCESS;
}
