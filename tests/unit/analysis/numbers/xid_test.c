/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "analysis/numbers/xid.h"

Test(xid, the_programs_own_errors_are_no_faults_of_the_gpu)
{
	static const uint32_t programs[] = { 13, 31, 43, 45, 137 }, gpus[] = { 48, 64, 74, 79, 94, 95, 119, 120, 140 };

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		struct xid xid = xid_find(programs[i], "");

		cr_expect_not(xid_is_gpu(&xid), "%u", programs[i]);
	}
	for (size_t i = 0; i < sizeof(gpus) / sizeof(*gpus); i++) {
		struct xid xid = xid_find(gpus[i], "");

		cr_expect(xid_is_gpu(&xid), "%u", gpus[i]);
		cr_expect_eq(xid.number, gpus[i]);
	}
}

Test(xid, recorded_is_a_notice_failed_and_uncorrectable_are_critical)
{
	cr_expect_eq(xid_find(63, "").severity, RW_NOTICE);
	cr_expect_eq(xid_find(92, "").severity, RW_NOTICE);
	cr_expect_eq(xid_find(64, "").severity, RW_CRITICAL);
	cr_expect_eq(xid_find(94, "").severity, RW_CRITICAL);
}

Test(xid, of_154_the_drivers_words_decide)
{
	cr_expect_eq(xid_find(154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)").severity,
		     RW_NOTICE);
	cr_expect_eq(
	    xid_find(154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)").severity,
	    RW_CRITICAL);
	cr_expect(
	    strstr(xid_find(154, "changed from 0x0 (None) to 0x2 (Node Reboot Required)").action, "restart the node"));
}

Test(xid, a_number_that_is_not_known_is_a_warning_and_named)
{
	struct xid xid = xid_find(777, "");

	cr_expect_eq(xid.number, 777);
	cr_expect_eq(xid.severity, RW_WARNING);
	cr_expect_not(xid_is_gpu(&xid));
}
