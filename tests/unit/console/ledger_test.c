/* SPDX-License-Identifier: MIT */
/* Who is named oftener than by lot. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "console/report/ledger.h"

enum { HOSTS = 10 };

/* A job on hosts 0 to count - 1, in which those of `named` (bits) were late. */
static void add(struct ledger *ledger, unsigned count, unsigned named)
{
	struct ledger_part parts[HOSTS];
	static char names[HOSTS][16];

	for (unsigned i = 0; i < count; i++) {
		snprintf(names[i], sizeof(names[i]), "node-%u", i);
		parts[i] = (struct ledger_part){ names[i], names[i], named >> i & 1 ? 1u << LEDGER_LATE : 0 };
	}
	cr_assert_eq(ledger_add_parts(ledger, LEDGER_HOST, parts, count), 0);
}

static const struct ledger_entry *find(const struct ledger *ledger, const char *name)
{
	for (size_t i = 0; i < ledger->counts[LEDGER_HOST]; i++)
		if (!strcmp(ledger->entries[LEDGER_HOST][i].name, name))
			return &ledger->entries[LEDGER_HOST][i];
	return NULL;
}

Test(ledger, the_chance_is_that_of_the_binomial_where_jobs_are_alike)
{
	struct ledger ledger = { 0 };

	for (int job = 0; job < 4; job++)
		add(&ledger, 2, job < 3 ? 1 : 2); /* node-0 in three of four, of two hosts */
	cr_assert_eq(ledger_judge(&ledger), 0);
	const struct ledger_entry *first = find(&ledger, "node-0"), *second = find(&ledger, "node-1");
	/* (4 + 1) / 16, for the better of two: twice that */
	cr_expect_float_eq(first->chance, 0.625, 1e-9);
	cr_expect_float_eq(first->expected, 2, 1e-9);
	cr_expect_eq(first->named_in, 3);
	cr_expect_float_eq(second->chance, 15.0 / 16, 1e-9);
	ledger_free(&ledger);
}

Test(ledger, a_host_that_is_named_wherever_it_is_stands_out_and_no_other)
{
	struct ledger ledger = { 0 };

	for (int job = 0; job < 6; job++)
		add(&ledger, HOSTS, 1u << 7);
	add(&ledger, HOSTS, 1u << 2);
	add(&ledger, HOSTS, 0);
	cr_assert_eq(ledger_judge(&ledger), 0);
	for (size_t i = 0; i < ledger.counts[LEDGER_HOST]; i++) {
		const struct ledger_entry *entry = &ledger.entries[LEDGER_HOST][i];
		cr_expect_eq(entry->chance < LEDGER_CHANCE, !strcmp(entry->name, "node-7"), "%s: %g", entry->name, entry->chance);
	}
	cr_expect_str_eq(ledger.entries[LEDGER_HOST][0].name, "node-7", "first in the list");
	cr_expect_eq(find(&ledger, "node-7")->named[LEDGER_LATE], 6);
	ledger_free(&ledger);
}

Test(ledger, a_job_of_one_host_says_nothing_about_it)
{
	struct ledger ledger = { 0 };

	for (int job = 0; job < 20; job++)
		add(&ledger, 1, 1);
	cr_assert_eq(ledger_judge(&ledger), 0);
	cr_expect_eq(find(&ledger, "node-0")->chance, 1);
	ledger_free(&ledger);
}

/* Each job names one of its hosts by lot: how often is any of them said to stand out? */
Test(ledger, by_lot_hardly_anybody_stands_out)
{
	unsigned long long state = 11;
	int alarms = 0;

	for (int round = 0; round < 500; round++) {
		struct ledger ledger = { 0 };

		for (int job = 0; job < 30; job++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			unsigned count = 2 + (unsigned)(state >> 33) % (HOSTS - 1);
			state = state * 6364136223846793005u + 1442695040888963407u;
			add(&ledger, count, 1u << ((unsigned)(state >> 33) % count));
		}
		cr_assert_eq(ledger_judge(&ledger), 0);
		alarms += ledger.entries[LEDGER_HOST][0].chance < LEDGER_CHANCE;
		ledger_free(&ledger);
	}
	cr_expect_leq(alarms, 10, "%d of 500, 5 are expected at most", alarms);
}
