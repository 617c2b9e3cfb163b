/* SPDX-License-Identifier: MIT */
/*
 * Small jobs on several hosts, drawn message by message: what their collectors could send, with batches that are lost,
 * late or of a collector that started anew, and with times that are exactly the limits of the job half. Shares no code
 * with what sends messages.
 */
#ifndef TESTS_UNIT_ANALYSIS_JOBS_LOOSE_MESSAGES_H
#define TESTS_UNIT_ANALYSIS_JOBS_LOOSE_MESSAGES_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/analysis.h"
#include "analysis/job/job_half.h"
#include "analysis/job/job_view.h"

/* In the jobs from this number on hosts send at paces of their own or pause, ranks leave communicators, some
 * communicators carry Send, and hosts answer which calls their ranks have made. */
enum { LOOSE_VARIED = 1000 };

/* What the caller is shown of a job while it is played. Each may be called often; strings are valid during the call. */
struct loose_messages_hooks {
	analysis_emit *finding; /* its argument is `argument` */
	void (*asked)(void *argument, const char *host, const void *bytes, size_t length);
	void (*viewed)(void *argument, const struct job_view *view,
		       const struct job_half_summary *summary); /* now and then, and at the end */
	void (*ended)(void *argument); /* after it each open finding is told once more, as a new reader is */
	void *argument;
};

/* Plays the job of this number. */
void loose_messages_play(unsigned int number, const struct loose_messages_hooks *hooks);
/* The bytes stand for the numbers by which a job is drawn, so that a fuzzer can draw by what the job half does with
 * them; they can also say that another fault takes the place of the first. What is drawn while it is played goes by the
 * job's number. words: what the job is; or NULL. */
void loose_messages_play_bytes(const uint8_t *bytes, size_t size, const struct loose_messages_hooks *hooks,
			       FILE *words);

#endif
