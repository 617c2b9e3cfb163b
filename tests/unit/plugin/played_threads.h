/* SPDX-License-Identifier: MIT */
/* Where the threads of a library begin, in a library of its own: what else is linked into a test, a sanitizer's runtime
 * for instance, may be on every thread's stack. Each calls thread->run(thread) and returns NULL. */
#ifndef TESTS_UNIT_PLUGIN_PLAYED_THREADS_H
#define TESTS_UNIT_PLUGIN_PLAYED_THREADS_H

struct played_thread {
	void (*run)(struct played_thread *thread);
	void (*then)(struct played_thread *thread);
};

void *played_async_main(void *thread);
void *played_service_main(void *thread);
/* To be run: another function of the library, which calls `then`. */
void played_work(struct played_thread *thread);

#endif
