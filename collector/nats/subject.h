/* SPDX-License-Identifier: MIT */
/*
 * The NATS subjects that nodes publish to: rankwatch.v1.JOB.TOPIC.HOST. A job's or host's name may hold what separates
 * the parts of a subject (.), is a wildcard in it (* and >) or may not stand there: every byte but letters, digits, _
 * and - is written as %XX, and no name at all as %.
 */
#ifndef COLLECTOR_NATS_SUBJECT_H
#define COLLECTOR_NATS_SUBJECT_H

#include <stddef.h>

enum { SUBJECT_SIZE = 512, SUBJECT_NAME = 64 };

enum subject_topic {
	SUBJECT_MESSAGES, /* batches of messages (docs/messages.md) */
	SUBJECT_FINDINGS, /* a finding as one JSON object (docs/findings.md) */
	SUBJECT_HOSTS,    /* that the node's collector lives, and what is open there */
	SUBJECT_ASKS,     /* to the host: a batch of messages that ask why a rank of it is late */
	SUBJECT_DOCTOR,   /* `rankwatch doctor` tries whether it may; nobody else reads it */
	SUBJECT_JUDGES,   /* that a judge of the job lives; the host is its name */
	SUBJECT_TOLD,     /* what a judge tells: a finding as one JSON object; the host is the judge's name */
	SUBJECT_TOPICS,
};

/* host NULL: of all hosts. Names are cut at SUBJECT_NAME - 1 bytes. */
void subject_write(char subject[SUBJECT_SIZE], enum subject_topic topic, const char *job, const char *host);
/* What subscribes to all topics of all hosts of a job. */
void subject_write_all(char subject[SUBJECT_SIZE], const char *job);
/* Takes topic and host from a subject that such a subscription delivers. 0; -EPROTO: not one of ours. */
int subject_read(const char *subject, enum subject_topic *topic, char host[SUBJECT_NAME]);

#endif
