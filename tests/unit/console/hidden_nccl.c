/* SPDX-License-Identifier: MIT */
/* A library with a NCCL inside that exports none of its functions. Compiled with hidden visibility. */
extern const char *const looked_up_in_plugins;
extern int ncclGetVersion(int *version);

const char *const looked_up_in_plugins = "ncclProfiler_v5";

int ncclGetVersion(int *version)
{
	*version = 22809;
	return 0;
}
