/* SPDX-License-Identifier: MIT */
#include "finding/finding_json.h"

#include <rankwatch/operation_names.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char *const kinds[] = {
	[RW_KIND_STRAGGLER] = "straggler",
	[RW_KIND_HANG] = "hang",
	[RW_KIND_DESYNC] = "desync",
	[RW_KIND_GONE] = "gone",
	[RW_KIND_NAN] = "nan",
	[RW_KIND_INF] = "inf",
	[RW_KIND_OVERFLOW] = "overflow",
	[RW_KIND_SATURATION] = "saturation",
	[RW_KIND_CORRUPTION] = "corruption",
	[RW_KIND_DRIFT] = "drift",
	[RW_KIND_SLOWDOWN] = "slowdown",
	[RW_KIND_MEMORY] = "memory",
	[RW_KIND_GPU] = "gpu",
	[RW_KIND_VERSION] = "version",
	[RW_KIND_BLIND] = "blind",
};

static const char *const causes[] = {
	[RW_CAUSE_UNKNOWN] = "unknown", [RW_CAUSE_IO] = "io",		[RW_CAUSE_CPU] = "cpu",
	[RW_CAUSE_LOCK] = "lock",	[RW_CAUSE_MEMORY] = "memory",	[RW_CAUSE_SOCKET] = "socket",
	[RW_CAUSE_STOPPED] = "stopped", [RW_CAUSE_RUNNING] = "running", [RW_CAUSE_GONE] = "gone",
	[RW_CAUSE_THROTTLE] = "throttle", [RW_CAUSE_GPU] = "gpu",	[RW_CAUSE_NETWORK] = "network",
	[RW_CAUSE_SLEEP] = "sleep",	[RW_CAUSE_PROCESS] = "process",
};

static const char *const functions[RW_FUNCTION_COUNT] = RW_FUNCTION_NAMES;
static const char *const dtypes[RW_DTYPE_COUNT] = RW_DTYPE_NAMES;

static const char *const algorithms[] = {
	NULL, "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT",
};

static const char *const protocols[] = { NULL, "LL", "LL128", "SIMPLE" };

static const char *name_at(const char *const *names, size_t count, size_t value)
{
	return value < count ? names[value] : NULL;
}

const char *finding_kind_name(enum rw_kind kind)
{
	return name_at(kinds, COUNT(kinds), (size_t)kind);
}

const char *finding_cause_name(enum rw_cause_class class_)
{
	return name_at(causes, COUNT(causes), (size_t)class_);
}

const char *finding_function_name(uint8_t function)
{
	return name_at(functions, COUNT(functions), function);
}

const char *finding_dtype_name(uint8_t dtype)
{
	return name_at(dtypes, COUNT(dtypes), dtype);
}

const char *finding_algorithm_name(uint8_t algorithm)
{
	return name_at(algorithms, COUNT(algorithms), algorithm);
}

const char *finding_protocol_name(uint8_t protocol)
{
	return name_at(protocols, COUNT(protocols), protocol);
}
