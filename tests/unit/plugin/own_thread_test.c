/* SPDX-License-Identifier: MIT */
/* What a thread of ours takes over from the thread that makes it. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <string.h>

#include "plugin/guest/own_thread.h"

static _Thread_local volatile char of_each_thread[240 * 1024]; /* of the program's, which glibc puts on every stack */

static struct {
	int policy;
	struct sched_param parameters;
	cpu_set_t processors;
	sem_t seen;
} own;

static void *see(void *unused)
{
	(void)unused;
	pthread_getschedparam(pthread_self(), &own.policy, &own.parameters);
	pthread_getaffinity_np(pthread_self(), sizeof(own.processors), &own.processors);
	sem_post(&own.seen);
	return NULL;
}

static void start(void)
{
	static const struct own_thread thread = { see, NULL };

	sem_init(&own.seen, 0, 0);
	cr_assert_eq(own_thread_start(&thread), 0);
	cr_assert_eq(sem_wait(&own.seen), 0);
}

/* All that the control group gives. */
static cpu_set_t given(void)
{
	cpu_set_t processors;

	memset(&processors, 0xff, sizeof(processors));
	cr_assert_eq(sched_setaffinity(0, sizeof(processors), &processors), 0);
	cr_assert_eq(sched_getaffinity(0, sizeof(processors), &processors), 0);
	return processors;
}

/* The first `count` of them, for the calling thread. */
static cpu_set_t pin(const cpu_set_t *all, int count)
{
	cpu_set_t some;

	CPU_ZERO(&some);
	for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&some) < count; i++)
		if (CPU_ISSET(i, all))
			CPU_SET(i, &some);
	cr_assert_eq(sched_setaffinity(0, sizeof(some), &some), 0);
	return some;
}

Test(own_thread, does_not_share_the_one_processor_of_the_thread_that_makes_it)
{
	cpu_set_t all = given();

	pin(&all, 1);
	start();
	cr_expect(CPU_EQUAL(&own.processors, &all));
}

Test(own_thread, stays_where_several_processors_were_given)
{
	cpu_set_t all = given();

	if (CPU_COUNT(&all) < 2)
		cr_skip_test("one processor only");
	cpu_set_t some = pin(&all, CPU_COUNT(&all) > 2 ? CPU_COUNT(&all) - 1 : 2);
	start();
	cr_expect(CPU_EQUAL(&own.processors, &some));
}

Test(own_thread, has_the_ordinary_class)
{
	const int policies[] = { SCHED_BATCH, SCHED_FIFO, SCHED_RR };

	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		const struct sched_param parameters = { .sched_priority = policies[i] == SCHED_BATCH ? 0 : 1 };

		if (pthread_setschedparam(pthread_self(), policies[i], &parameters))
			continue; /* real time needs a privilege */
		start();
		cr_expect_eq(own.policy, SCHED_OTHER, "of %d", policies[i]);
		cr_expect_eq(own.parameters.sched_priority, 0);
	}
}

static void *use_stack(void *unused)
{
	volatile char used[192 * 1024];

	(void)unused;
	for (size_t i = 0; i < sizeof(used); i += 1024)
		used[i] = of_each_thread[i] = 1;
	sem_post(&own.seen);
	return NULL;
}

Test(own_thread, has_a_stack_of_its_own_size_whatever_the_program_keeps_for_each_thread)
{
	static const struct own_thread thread = { use_stack, NULL };

	sem_init(&own.seen, 0, 0);
	cr_assert_eq(own_thread_start(&thread), 0);
	cr_expect_eq(sem_wait(&own.seen), 0);
}
