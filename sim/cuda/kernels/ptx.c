/* SPDX-License-Identifier: MIT */
/* Just enough of PTX to bind its entries to CPU functions: names and parameter sizes. */
#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cuda/kernels/module.h"
#include "sim/cuda/kernels/scan_twin.h"

#define TWIN_SUFFIX "__cpu"

/* Of kernels that every program may load: their twins come with the driver. */
static const struct {
	const char *twin;
	cpu_kernel *run;
} built_in[] = {
	{ "rankwatch_scan" TWIN_SUFFIX, rankwatch_scan__cpu },
};

static cpu_kernel *find_twin(const char *twin)
{
	cpu_kernel *exported = (cpu_kernel *)dlsym(RTLD_DEFAULT, twin);

	for (size_t i = 0; !exported && i < sizeof(built_in) / sizeof(built_in[0]); i++) {
		if (strcmp(twin, built_in[i].twin) == 0)
			return built_in[i].run;
	}
	return exported;
}

/* "u64" -> 8; "b8" with "[N]" after the name is handled by the caller. */
static uint32_t type_bytes(const char *type)
{
	return (uint32_t)(strtoul(type + 1, NULL, 10) / 8);
}

/* at: behind ".param". Reads up to the comma or parenthesis that ends the parameter. */
static const char *parse_param(const char *at, uint32_t *bytes)
{
	const char *end = at + strcspn(at, ",)");

	*bytes = 0;
	for (; at < end; at++) {
		if (*at == '.' && strchr("usfb", at[1]) && isdigit((unsigned char)at[2]))
			*bytes = type_bytes(at + 1);
		if (*at == '[')
			*bytes *= (uint32_t)strtoul(at + 1, NULL, 10);
	}
	return end;
}

static CUresult parse_params(const char **at, struct cpu_module_kernel *kernel)
{
	kernel->params = 0;
	*at += strcspn(*at, "({");
	while (**at && **at != ')' && **at != '{') {
		const char *param = strstr(*at, ".param");
		const char *end = *at + strcspn(*at, ")");
		if (!param || param > end)
			break;
		if (kernel->params == CPU_KERNEL_PARAMS_MAX)
			return CUDA_ERROR_INVALID_PTX;
		*at = parse_param(param + strlen(".param"), &kernel->param_bytes[kernel->params]);
		if (!kernel->param_bytes[kernel->params++])
			return CUDA_ERROR_INVALID_PTX;
		*at += **at == ',';
	}
	return CUDA_SUCCESS;
}

CUresult ptx_next_entry(const char **at, char *name, size_t size, struct cpu_module_kernel *kernel)
{
	char twin[256];

	*at = strstr(*at, ".entry");
	if (!*at)
		return CUDA_SUCCESS;
	*at += strlen(".entry");
	*at += strspn(*at, " \t\r\n");
	size_t length = strcspn(*at, " \t\r\n({");
	if (!length || length >= size || length + sizeof(TWIN_SUFFIX) > sizeof(twin))
		return CUDA_ERROR_INVALID_PTX;
	snprintf(name, size, "%.*s", (int)length, *at);
	snprintf(twin, sizeof(twin), "%s" TWIN_SUFFIX, name);
	*at += length;
	kernel->run = find_twin(twin);
	if (!kernel->run) {
		fprintf(stderr, "stand-in CUDA: kernel %s has no CPU twin: export a function %s (cpu_module.h)\n", name,
			twin);
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	return parse_params(at, kernel);
}
