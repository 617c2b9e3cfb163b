/* SPDX-License-Identifier: MIT */
/* ncclConfig_t as programs of all releases give it. */
#include <criterion/criterion.h>

#include "sim/nccl/comm/config.h"

static ncclConfig_t fresh(void)
{
	return (ncclConfig_t)NCCL_CONFIG_INITIALIZER;
}

Test(config, nothing_given_is_all_defaults)
{
	ncclConfig_t config;

	cr_assert_eq(config_read(&config, NULL), ncclSuccess);
	cr_expect_eq(config.blocking, 1);
	cr_expect_eq(config.minCTAs, 1);
	cr_expect_eq(config.splitShare, 0);
	cr_expect_eq(config.CTAPolicy, NCCL_CTA_POLICY_DEFAULT);
	cr_expect_eq(config.trafficClass, NCCL_CONFIG_UNDEF_INT);
	cr_expect_null(config.commName);
}

Test(config, what_was_given_is_kept)
{
	ncclConfig_t given = fresh(), config;

	given.blocking = 0;
	given.CTAPolicy = NCCL_CTA_POLICY_ZERO;
	given.shrinkShare = 1;
	given.commName = "tp";
	cr_assert_eq(config_read(&config, &given), ncclSuccess);
	cr_expect_eq(config.blocking, 0);
	cr_expect_eq(config.CTAPolicy, NCCL_CTA_POLICY_ZERO);
	cr_expect_eq(config.shrinkShare, 1);
	cr_expect_str_eq(config.commName, "tp");
}

/* A program of 2.18 has a struct that ends behind splitShare. */
Test(config, a_shorter_struct_of_an_older_release_is_accepted)
{
	ncclConfig_t given = fresh(), config;

	given.size = offsetof(ncclConfig_t, trafficClass);
	given.version = 21801;
	given.blocking = 0;
	given.CTAPolicy = 12345;
	given.commName = (const char *)1;
	cr_assert_eq(config_read(&config, &given), ncclSuccess);
	cr_expect_eq(config.blocking, 0);
	cr_expect_eq(config.CTAPolicy, NCCL_CTA_POLICY_DEFAULT);
	cr_expect_null(config.commName);
}

Test(config, a_longer_struct_of_a_newer_release_is_accepted)
{
	struct {
		ncclConfig_t known;
		int more[4];
	} given = { fresh(), { 0 } };
	ncclConfig_t config;

	given.known.size = sizeof(given);
	given.known.version = 23007;
	given.known.blocking = 0;
	cr_assert_eq(config_read(&config, &given.known), ncclSuccess);
	cr_expect_eq(config.blocking, 0);
}

Test(config, fields_that_the_program_s_release_did_not_know_mean_nothing)
{
	ncclConfig_t given = fresh(), config;

	given.version = 21300;
	given.blocking = 7;
	given.nvlinkCentricSched = 9;
	cr_assert_eq(config_read(&config, &given), ncclSuccess);
	cr_expect_eq(config.blocking, 1);
	cr_expect_eq(config.nvlinkCentricSched, 0);
}

Test(config, a_struct_without_the_initializer_is_refused)
{
	ncclConfig_t given = { .size = sizeof(given) }, empty = fresh(), config;

	cr_expect_eq(config_read(&config, &given), ncclInvalidArgument);
	empty.size = 4;
	cr_expect_eq(config_read(&config, &empty), ncclInvalidArgument);
}

Test(config, values_out_of_range_are_refused)
{
	static const struct {
		size_t offset;
		int value;
	} bad[] = {
		{ offsetof(ncclConfig_t, blocking), 2 },      { offsetof(ncclConfig_t, cgaClusterSize), -1 },
		{ offsetof(ncclConfig_t, maxCTAs), 0 },       { offsetof(ncclConfig_t, splitShare), 2 },
		{ offsetof(ncclConfig_t, collnetEnable), 3 }, { offsetof(ncclConfig_t, CTAPolicy), 3 },
		{ offsetof(ncclConfig_t, shrinkShare), -1 },  { offsetof(ncclConfig_t, nvlsCTAs), 0 },
		{ offsetof(ncclConfig_t, minCTAs), 4 }, /* without maxCTAs, as in NCCL */
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ncclConfig_t given = fresh(), config;
		*(int *)((char *)&given + bad[i].offset) = bad[i].value;
		cr_expect_eq(config_read(&config, &given), ncclInvalidArgument, "case %zu", i);
	}
}
