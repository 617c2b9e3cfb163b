/* SPDX-License-Identifier: MIT */
#include "sim/cuda/devices/visible.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "sim/cuda/devices/device.h"

#define DEVICES_DEFAULT 8
#define UUID_TEXT_BYTES 41 /* GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx */

int visible_host_devices(void)
{
	const char *text = getenv("SIM_CUDA_DEVICES");
	char *end;

	if (!text || !*text)
		return DEVICES_DEFAULT;
	long count = strtol(text, &end, 10);
	if (*end || count < 0 || count > DEVICES_MAX) {
		fprintf(stderr, "stand-in CUDA: SIM_CUDA_DEVICES=%s is not a number from 0 to %d, using %d\n", text,
			DEVICES_MAX, DEVICES_DEFAULT);
		return DEVICES_DEFAULT;
	}
	return (int)count;
}

/* FNV-1a, 64 bit. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
	return hash;
}

void visible_uuid(int physical, CUuuid *uuid)
{
	const char *claimed = getenv("NCCL_HOSTID");
	char name[256] = "";

	if (!claimed || !*claimed)
		gethostname(name, sizeof(name) - 1);
	uint64_t host = hash_text(claimed && *claimed ? claimed : name);
	memcpy(uuid->bytes, "simcuda", 7);
	memcpy(uuid->bytes + 7, &host, sizeof(host));
	uuid->bytes[15] = (char)physical;
}

static void write_uuid(int physical, char text[UUID_TEXT_BYTES])
{
	CUuuid uuid;
	char *at = text + sprintf(text, "GPU-");

	visible_uuid(physical, &uuid);
	for (int i = 0; i < 16; i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;
		at += sprintf(at, "%s%02x", dash ? "-" : "", (unsigned char)uuid.bytes[i]);
	}
}

/* -1: none, or more than one. */
static int find_uuid(const char *beginning, int count)
{
	char text[UUID_TEXT_BYTES];
	int found = -1;

	for (int i = 0; i < count; i++) {
		write_uuid(i, text);
		if (strncasecmp(text, beginning, strlen(beginning)) != 0)
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

static int find_device(const char *item, int count)
{
	char *end;

	if (strncasecmp(item, "GPU-", 4) == 0)
		return find_uuid(item, count);
	long number = strtol(item, &end, 10);
	return end != item && !*end && number >= 0 && number < count ? (int)number : -1;
}

static bool contains(const int *devices, int used, int device)
{
	for (int i = 0; i < used; i++) {
		if (devices[i] == device)
			return true;
	}
	return false;
}

static int read_list(char *list, int count, int *devices)
{
	char *rest = NULL;
	int used = 0;

	for (char *item = strtok_r(list, ",", &rest); item; item = strtok_r(NULL, ",", &rest)) {
		int device = find_device(item + strspn(item, " "), count);
		if (device < 0)
			break;
		if (contains(devices, used, device))
			return 0;
		devices[used++] = device;
	}
	return used;
}

int visible_devices(int count, int *devices)
{
	const char *given = getenv("CUDA_VISIBLE_DEVICES");
	char *list = given ? strdup(given) : NULL;

	if (list) {
		count = read_list(list, count, devices);
		free(list);
		return count;
	}
	for (int i = 0; i < count; i++)
		devices[i] = i;
	return count;
}
