/* SPDX-License-Identifier: MIT */
#include "console/run/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/ancestor.h"
#include "base/foreign_text.h"
#include "console/boxes/kept_boxes.h"
#include "console/client/nats_choice.h"
#include "protocol/message.h"

static const uint64_t second_ns = 1000000000;

void supervisor_open(struct supervisor *supervisor, const char *program, const char *job, const sigset_t *mask,
		     void (*message)(void *argument, const json_t *message), void *argument)
{
	*supervisor = (struct supervisor){
		.program = program,
		.job = job,
		.mask = mask,
		.client = { .fd = -1 },
		.message = message,
		.argument = argument,
		.errors_fd = -1,
		.asked_fd = -1,
		.errors = { .limit = 4096 },
	};
}

/* A session of its own: an interrupt typed at the terminal ends the job, and the collector sees how. */
static void __attribute__((noreturn)) become_collector(const struct supervisor *supervisor, int errors_fd, int asked_fd)
{
	const struct sink_choice *sinks = supervisor->sinks;
	char keep[24], command[16], asked[16];
	const char *arguments[20] = { "rankwatch", "collect", "--job", supervisor->job, "--until-idle", "--quiet" };
	int count = 6, null = open("/dev/null", O_RDWR);

	if (sinks && sinks->save) {
		arguments[count++] = "--save";
		arguments[count++] = sinks->save;
	}
	if (sinks && sinks->save && sinks->save_limit) {
		arguments[count++] = "--save-limit";
		arguments[count++] = sinks->save_limit;
	}
	if (sinks) {
		snprintf(keep, sizeof(keep), "%llu", (unsigned long long)sinks->keep_bytes);
		arguments[count++] = "--keep-boxes";
		arguments[count++] = sinks->keep_bytes == KEPT_BOXES_ALL ? "all" : keep;
	}
	if (supervisor->kernel_log) {
		arguments[count++] = "--kernel-log";
		arguments[count++] = supervisor->kernel_log;
	}
	int command_fd = sinks && sinks->on_finding ? sink_choice_pass_command(sinks->on_finding) : -1;

	if (command_fd >= 0) {
		snprintf(command, sizeof(command), "%d", command_fd);
		arguments[count++] = "--on-finding-fd";
		arguments[count++] = command;
	}
	if (asked_fd >= 0 && !fcntl(asked_fd, F_SETFD, 0)) {
		snprintf(asked, sizeof(asked), "%d", asked_fd);
		arguments[count++] = "--ancestor-fd";
		arguments[count++] = asked;
	}
	/* Not as an argument: an address may hold a password, and only its user can read a process's environment. */
	if (supervisor->nats)
		setenv(NATS_CHOICE_VARIABLE, supervisor->nats, 1);
	else
		unsetenv(NATS_CHOICE_VARIABLE);
	setsid();
	sigprocmask(SIG_SETMASK, supervisor->mask, NULL);
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(errors_fd, STDERR_FILENO);
	if (sinks && sinks->on_finding && command_fd < 0)
		fprintf(stderr, "rankwatch run: --on-finding: %s: no command is run\n", strerror(-command_fd));
	execv(supervisor->program, (char **)arguments);
	foreign_line(stderr, "rankwatch run: %s: %s", supervisor->program, strerror(errno));
	_exit(1);
}

static void close_end(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* Its stderr comes through a pipe: were it ours, whoever reads the job's output would wait for the collector too. */
static void start(struct supervisor *supervisor, uint64_t now_ns)
{
	int errors[2], asked[2];

	if (pipe2(errors, O_CLOEXEC | O_NONBLOCK))
		return;
	if (ancestor_pair(asked)) /* without, it reads what it may read itself */
		asked[0] = asked[1] = -1;
	fflush(NULL);
	supervisor->pid = fork();
	if (supervisor->pid == 0)
		become_collector(supervisor, errors[1], asked[1]);
	close_end(&errors[1]);
	close_end(&asked[1]);
	if (supervisor->pid < 0) {
		supervisor->pid = 0;
		close_end(&errors[0]);
		close_end(&asked[0]);
		return;
	}
	close_end(&supervisor->errors_fd);
	close_end(&supervisor->asked_fd);
	supervisor->errors_fd = errors[0];
	supervisor->asked_fd = asked[0];
	supervisor->started_ns = now_ns;
}

static void on_error_line(void *argument, char *line, size_t length)
{
	struct supervisor *supervisor = argument;
	char *escaped = foreign_text(line);

	(void)length;
	if (escaped && strncmp(escaped, supervisor->said, sizeof(supervisor->said) - 1) != 0)
		fprintf(stderr, "%s\n", escaped);
	snprintf(supervisor->said, sizeof(supervisor->said), "%s", escaped ? escaped : "");
	free(escaped);
}

static void read_errors(struct supervisor *supervisor)
{
	char chunk[1024];
	ssize_t count;

	while (supervisor->errors_fd >= 0) {
		count = read(supervisor->errors_fd, chunk, sizeof(chunk));
		if (count < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (count > 0 && !line_buffer_add(&supervisor->errors, chunk, (size_t)count, on_error_line, supervisor))
			continue;
		close_end(&supervisor->errors_fd);
		line_buffer_free(&supervisor->errors);
	}
}

/* A name on one node is one job with one collector: what the other's ranks do is not to be reported as ours. */
static void say_elsewhere(struct supervisor *supervisor, const json_t *hello)
{
	const char *directory = json_string_value(json_object_get(hello, "directory")), *ours = getenv("RANKWATCH_DIR");

	if (!supervisor->elsewhere_said)
		foreign_line(
		    stderr,
		    "rankwatch run: process %lld collects another job named %s, whose RANKWATCH_DIR is %s and not %s: "
		    "this one is recorded, but not watched before that one ends. --job gives it a name of its own",
		    (long long)json_integer_value(json_object_get(hello, "pid")), supervisor->job,
		    directory && *directory ? directory : "not set", ours ? ours : "unset");
	supervisor->elsewhere_said = true;
}

static void on_message(void *argument, const json_t *message)
{
	struct supervisor *supervisor = argument;
	const json_t *hello = json_object_get(message, "hello");

	if (hello && !message_hello_looks_in(hello, getenv("RANKWATCH_DIR"))) {
		supervisor->elsewhere = true;
		say_elsewhere(supervisor, hello);
	}
	if (supervisor->elsewhere)
		return;
	if (!supervisor->joined) {
		supervisor->joined = true;
		collector_client_send(&supervisor->client, "{\"join\":\"run\"}");
	}
	supervisor->message(supervisor->argument, message);
}

static void say_silence(struct supervisor *supervisor, uint64_t now_ns)
{
	if (supervisor->silence_said || supervisor->elsewhere_said || supervisor->joined ||
	    now_ns - supervisor->silent_since_ns < 10 * second_ns)
		return;
	supervisor->silence_said = true;
	fprintf(stderr, "rankwatch run: no collector answers: the job goes on and is recorded, findings come from "
			"\"rankwatch report\"\n");
}

/* Connected is not joined: another job's collector may have the shared path, which its hello reports, or a stopped one,
 * which says nothing. Then only the path that ours would have counts for a while. */
static bool is_connected(struct supervisor *supervisor, uint64_t now_ns)
{
	enum collector_client_where where = COLLECTOR_CLIENT_ANYWHERE;

	if (supervisor->client.fd >= 0 && !supervisor->joined && now_ns - supervisor->connected_ns > 2 * second_ns) {
		collector_client_close(&supervisor->client);
		supervisor->foreign_ns = now_ns;
	}
	if (supervisor->client.fd >= 0)
		return true;
	supervisor->joined = false;
	supervisor->connected_ns = now_ns;
	if (supervisor->foreign_ns && now_ns - supervisor->foreign_ns < second_ns)
		where = COLLECTOR_CLIENT_OWN_PATH;
	return collector_client_open(&supervisor->client, supervisor->job, where, on_message, supervisor) == 0;
}

void supervisor_seek(struct supervisor *supervisor, uint64_t now_ns)
{
	supervisor->foreign_ns = 0;
	is_connected(supervisor, now_ns);
}

void supervisor_tick(struct supervisor *supervisor, uint64_t now_ns)
{
	if (!supervisor->silent_since_ns || supervisor->joined)
		supervisor->silent_since_ns = now_ns;
	if (!is_connected(supervisor, now_ns) && !supervisor->pid && now_ns >= supervisor->next_start_ns)
		start(supervisor, now_ns);
	say_silence(supervisor, now_ns);
}

bool supervisor_is_settled(const struct supervisor *supervisor)
{
	return supervisor->joined && supervisor->client.fd >= 0;
}

void supervisor_read(struct supervisor *supervisor, uint64_t now_ns)
{
	int err = supervisor->client.fd >= 0 ? collector_client_read(&supervisor->client) : 0;

	read_errors(supervisor);
	if (supervisor->asked_fd >= 0 && !ancestor_answer(supervisor->asked_fd))
		close_end(&supervisor->asked_fd);
	if (supervisor->elsewhere) {
		collector_client_close(&supervisor->client);
		supervisor->elsewhere = false;
		err = -EXDEV;
	}
	if (err)
		supervisor->joined = false;
	if (err == -EXDEV)
		supervisor->foreign_ns = now_ns;
}

/* At once after one that had been running for a while, else more and more slowly. */
static void plan_next(struct supervisor *supervisor, uint64_t now_ns)
{
	uint64_t pause_ns = supervisor->pause_ns * 2;

	if (now_ns - supervisor->started_ns > second_ns)
		pause_ns = 0;
	else if (pause_ns == 0)
		pause_ns = second_ns / 10;
	else if (pause_ns > 10 * second_ns)
		pause_ns = 10 * second_ns;
	supervisor->pause_ns = pause_ns;
	supervisor->next_start_ns = now_ns + pause_ns;
}

bool supervisor_note(struct supervisor *supervisor, pid_t pid, int status, uint64_t now_ns)
{
	if (!supervisor->pid || pid != supervisor->pid || !(WIFEXITED(status) || WIFSIGNALED(status)))
		return false;
	read_errors(supervisor);
	supervisor->pid = 0;
	plan_next(supervisor, now_ns);
	if (WIFSIGNALED(status) && !supervisor->leaving)
		fprintf(stderr,
			"rankwatch run: the collector was ended by signal %d (%s): starting another; "
			"the job is not affected\n",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	return true;
}

void supervisor_close(struct supervisor *supervisor)
{
	read_errors(supervisor);
	collector_client_close(&supervisor->client);
	close_end(&supervisor->errors_fd);
	close_end(&supervisor->asked_fd);
	line_buffer_free(&supervisor->errors);
}
