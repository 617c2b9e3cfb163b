/* SPDX-License-Identifier: MIT */
#include "plugin/cost/sampling.h"

#include "base/numbers/splitmix.h"

uint64_t sampling_number(const struct sampling_name *name)
{
	uint64_t hash = splitmix_mix(name->communicator + SPLITMIX_STEP * name->function);

	hash = splitmix_mix(hash ^ name->ranks);
	return splitmix_mix(hash + name->sequence);
}
