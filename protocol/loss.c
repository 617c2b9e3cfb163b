/* SPDX-License-Identifier: MIT */
#include "protocol/loss.h"

static const char *const names[LOSS_PARTS] = {
	[LOSS_RING] = "ring",
	[LOSS_STORAGE] = "storage",
	[LOSS_RECURSION] = "recursion",
	[LOSS_LOOKS] = "looks",
};

uint64_t loss_total(const struct loss *loss)
{
	uint64_t total = 0;

	for (int part = 0; part < LOSS_PARTS; part++)
		total += loss->parts[part];
	return total;
}

json_t *loss_json(const struct loss *loss)
{
	json_t *object = json_object();

	for (int part = 0; part < LOSS_PARTS; part++)
		json_object_set_new(object, names[part], json_integer((json_int_t)loss->parts[part]));
	return object;
}
