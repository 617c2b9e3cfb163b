/* SPDX-License-Identifier: MIT */
#include "collector/nats/complaints.h"

#include <stdio.h>
#include <string.h>

bool complaints_add(struct complaints *complaints, const char *why)
{
	complaints->count++;
	for (unsigned i = 0; i < complaints->kinds; i++)
		if (strncmp(complaints->said[i], why, COMPLAINTS_WHY - 1) == 0)
			return false;
	if (complaints->kinds == COMPLAINTS_KINDS)
		return false;
	snprintf(complaints->said[complaints->kinds++], COMPLAINTS_WHY, "%s", why);
	return true;
}
