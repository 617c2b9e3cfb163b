/* SPDX-License-Identifier: MIT */
#include "sim/nccl/comm/config.h"

#include <string.h>

#include "sim/nccl/log.h"

#define CHANNELS_MAX 64
#define NOT_SET      NCCL_CONFIG_UNDEF_INT

/* since: the first version whose programs know the field; in older ones the bytes mean nothing. */
static const struct field {
	const char *name;
	size_t offset;
	unsigned int since;
	int least, most, usual;
} fields[] = {
	{ "blocking", offsetof(ncclConfig_t, blocking), 21400, 0, 1, 1 },
	{ "cgaClusterSize", offsetof(ncclConfig_t, cgaClusterSize), 21700, 0, INT_MAX, 4 },
	{ "minCTAs", offsetof(ncclConfig_t, minCTAs), 21700, 1, INT_MAX, 1 },
	{ "maxCTAs", offsetof(ncclConfig_t, maxCTAs), 21700, 1, INT_MAX, CHANNELS_MAX },
	{ "splitShare", offsetof(ncclConfig_t, splitShare), 0, 0, 1, 0 },
	{ "trafficClass", offsetof(ncclConfig_t, trafficClass), 22500, INT_MIN, INT_MAX, NOT_SET },
	{ "collnetEnable", offsetof(ncclConfig_t, collnetEnable), 22700, 0, 1, 0 },
	{ "CTAPolicy", offsetof(ncclConfig_t, CTAPolicy), 22700, NCCL_CTA_POLICY_DEFAULT, NCCL_CTA_POLICY_ZERO,
	  NCCL_CTA_POLICY_DEFAULT },
	{ "shrinkShare", offsetof(ncclConfig_t, shrinkShare), 22700, 0, 1, 0 },
	{ "nvlsCTAs", offsetof(ncclConfig_t, nvlsCTAs), 22700, 1, INT_MAX, NOT_SET },
	{ "nChannelsPerNetPeer", offsetof(ncclConfig_t, nChannelsPerNetPeer), 22800, 1, CHANNELS_MAX, NOT_SET },
	{ "nvlinkCentricSched", offsetof(ncclConfig_t, nvlinkCentricSched), 22800, 0, 1, 0 },
};

static ncclResult_t field_read(ncclConfig_t *config, const struct field *field)
{
	int *value = (int *)((char *)config + field->offset);

	if (config->version < field->since || *value == NOT_SET) {
		*value = field->usual;
		return ncclSuccess;
	}
	if (*value >= field->least && *value <= field->most)
		return ncclSuccess;
	log_warn("Invalid config %s attribute value %d", field->name, *value);
	return ncclInvalidArgument;
}

/* As NCCL compares them, before defaults: a program that sets only minCTAs is refused. */
static ncclResult_t channels_check(const ncclConfig_t *config)
{
	if (config->version < 21700 || config->minCTAs <= config->maxCTAs)
		return ncclSuccess;
	log_warn("Invalid config min/max channels attribute value %d/%d", config->minCTAs, config->maxCTAs);
	return ncclInvalidArgument;
}

ncclResult_t config_read(ncclConfig_t *config, const ncclConfig_t *given)
{
	*config = (ncclConfig_t)NCCL_CONFIG_INITIALIZER;
	if (given) {
		config->magic = 0;
		memcpy(config, given, given->size < sizeof(*config) ? given->size : sizeof(*config));
	}
	if (config->magic != NCCL_CONFIG_MAGIC) {
		log_warn("ncclConfig_t argument not initialized via NCCL_CONFIG_INITIALIZER");
		return ncclInvalidArgument;
	}
	ncclResult_t result = channels_check(config);
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields) && result == ncclSuccess; i++)
		result = field_read(config, &fields[i]);
	return result;
}
