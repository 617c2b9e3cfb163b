/* SPDX-License-Identifier: MIT */
/*
 * The collectors of a large job as a NATS server hears them: job_letters PORT RANKS publishes the messages and signs of
 * life of hosts with eight ranks each, of the job "bench", in real time until it is ended. For `tests/bench/run
 * all-nodes`.
 */
#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "job_messages.h"

enum { ROW_S = 2, LIFE_S = 2, HALVES_A_S = 2 };

static FILE *connect_to(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		perror("job_letters");
		exit(1);
	}
	return fdopen(fd, "w");
}

/* A server hangs up on a client that never answers its PING. */
static void answer_pings(FILE *server)
{
	char heard[4096];

	while (recv(fileno(server), heard, sizeof(heard), MSG_DONTWAIT) > 0)
		fputs("PONG\r\n", server);
}

static void publish_life(FILE *server, int host, int number)
{
	char life[256];
	int length = snprintf(life, sizeof(life),
			      "{\"version\":1,\"host\":\"node-%05d\",\"started\":1,\"number\":%d,\"every_ms\":%d,\"ranks\":%d,"
			      "\"level\":\"ebpf\",\"open\":[],\"open_count\":0,\"lost\":0,\"last\":false}",
			      host, number, LIFE_S * 1000, JOB_PER_HOST);

	fprintf(server, "PUB rankwatch.v1.bench.hosts.node-%05d %d\r\n%s\r\n", host, length, life);
}

static void publish_batch(FILE *server, struct job_messages *job, int host, int half_s)
{
	job_begin_batch(job);
	for (int rank = host * JOB_PER_HOST; rank < (host + 1) * JOB_PER_HOST; rank++) {
		if (half_s == 0)
			job_introduce(job, rank);
		if (half_s % (ROW_S * HALVES_A_S))
			continue;
		job->own_us[rank] += ROW_S * 700000;
		job->inside_us[rank] += ROW_S * 300000;
		job_row(job, rank, (uint64_t)(half_s / HALVES_A_S / ROW_S + 1));
	}
	size_t length = job_seal(job, host, (uint64_t)half_s);

	fprintf(server, "PUB rankwatch.v1.bench.messages.node-%05d %zu\r\n", host, length);
	fwrite(&job->batch, 1, length, server);
	fputs("\r\n", server);
}

static void publish(FILE *server, struct job_messages *job, int half_s)
{
	for (int host = 0; host < job->hosts; host++) {
		publish_batch(server, job, host, half_s);
		if (half_s % (LIFE_S * HALVES_A_S) == 0)
			publish_life(server, host, half_s);
	}
}

int main(int count, char **arguments)
{
	int port = count == 3 ? atoi(arguments[1]) : 0, ranks = count == 3 ? atoi(arguments[2]) : 0;
	struct timespec next;
	struct job_messages job;

	if (port < 1 || port > 65535 || ranks < JOB_PER_HOST || ranks % JOB_PER_HOST) {
		fprintf(stderr, "usage: job_letters PORT RANKS, a multiple of %d\n", JOB_PER_HOST);
		return 2;
	}
	FILE *server = connect_to(port);

	if (!server)
		return 1;
	fputs("CONNECT {\"verbose\":false,\"pedantic\":false}\r\n", server);
	job_messages_init(&job, ranks);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int half_s = 0; !ferror(server); half_s++) {
		publish(server, &job, half_s);
		answer_pings(server);
		fflush(server);
		next.tv_nsec += 1000000000 / HALVES_A_S;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	perror("job_letters: the server");
	job_messages_free(&job);
	return 1;
}
