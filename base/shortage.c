/* SPDX-License-Identifier: MIT */
#include "base/shortage.h"

#include <errno.h>

bool shortage_is(int err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}
