/* SPDX-License-Identifier: MIT */
/* Each field that somebody else fills holds an escape sequence, what is no UTF-8, and a mark that reverses the text:
 * none of it reaches the output of any command. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "base/foreign_text.h"
#include "protocol/address.h"
#include "finding/jsonl.h"
#include "crafted_box.h"

/* Behind the field's name, so that it can be seen that the field was printed: up to 16 bytes in all. */
#define HOSTILE      "\033[2J\xff\xe2\x80\xae"
#define HOSTILE_JSON "\\u001b[2J\\u202e\\u009b"
#define ESCAPED      "\\x1b[2J"

enum { WORDS = 12, TEXT = 1 << 20 };

static char base[256], boxes_directory[512];

static void set_up(void)
{
	snprintf(base, sizeof(base), "%s", crafted_directory());
	snprintf(boxes_directory, sizeof(boxes_directory), "%s/DIR" HOSTILE, base);
	cr_assert_eq(mkdir(boxes_directory, 0700), 0);
}

TestSuite(foreign, .init = set_up, .timeout = 120);

/* What `rankwatch` prints on both standard files. Ended by NULL. */
static const char *awaited; /* whoever has printed this is asked to end; NULL: ends by itself */

static const char *output_of(const char *first, ...)
{
	static char text[TEXT];
	const char *arguments[WORDS] = { "rankwatch", first };
	size_t count = 2, length = 0;
	va_list more;
	ssize_t got;
	int ends[2];

	va_start(more, first);
	while (count < WORDS - 1 && (arguments[count] = va_arg(more, const char *)))
		count++;
	va_end(more);
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	pid_t child = fork();

	if (child == 0) {
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execv(getenv("TEST_RANKWATCH"), (char *const *)arguments);
		_exit(127);
	}
	close(ends[1]);
	while ((got = read(ends[0], text + length, TEXT - 1 - length)) > 0) {
		length += (size_t)got;
		text[length] = '\0';
		if (awaited && strstr(text, awaited)) {
			awaited = NULL;
			kill(child, SIGTERM);
		}
	}
	text[length] = '\0';
	close(ends[0]);
	waitpid(child, NULL, 0);
	return text;
}

/* Every line is what it would be, were it foreign text as a whole. */
static void expect_clean(const char *who, const char *output)
{
	char *lines = strdup(output), *rest = NULL;

	cr_expect_not(*lines == '\0', "%s prints something", who);
	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char *escaped = foreign_text(line);

		cr_expect_str_eq(escaped, line, "%s prints raw: %s", who, escaped);
		free(escaped);
	}
	free(lines);
}

static void expect_fields(const char *who, const char *output, const char *const *fields)
{
	for (; *fields; fields++) {
		char part[64];

		snprintf(part, sizeof(part), "%s" ESCAPED, *fields);
		cr_expect(strstr(output, part), "%s prints the field %s: %s", who, *fields, output);
	}
}

static void expect_json(const char *who, const char *output)
{
	char *lines = strdup(output), *rest = NULL;

	cr_expect_not(*lines == '\0', "%s prints something", who);
	for (char *line = strtok_r(lines, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		json_error_t error;
		json_t *json = json_loads(line, 0, &error);

		cr_expect(json, "%s: %s: %s", who, error.text, line);
		cr_expect_null(strchr(line, '\033'), "%s: %s", who, line);
		json_decref(json);
	}
	free(lines);
}

#define FILL(field, name) snprintf(field, sizeof(field), "%s", name HOSTILE)

static void add_sample(struct box_writer *writer, uint8_t kind, const char *text)
{
	struct rw_host_sample sample = {
		.kind = kind,
		.state = kind == RW_SAMPLE_FILE ? 0 : 'S',
		.tid = 4711,
		.fd = 3,
		.monotonic_ns = 2000,
	};

	snprintf(sample.text, sizeof(sample.text), "%s", text);
	box_writer_sample(writer, &sample);
}

static void make_rank(int32_t rank, uint64_t operations)
{
	struct box_writer writer;
	char named[1024];

	crafted_box(&writer, boxes_directory, "JOB" HOSTILE, rank, 0x5eed);
	FILL(writer.header->host, "HOST");
	FILL(writer.header->rank_from, "RANKFROM");
	memcpy(writer.header->process_name, "PROC" HOSTILE, sizeof("PROC" HOSTILE));
	FILL(writer.header->watchdog_from, "WATCHDOG");
	writer.header->watchdog_ms = 100000;
	FILL(writer.header->gpu_progress_state, "GPU");
	FILL(writer.header->scan_state, "SCAN");
	FILL(writer.header->environment, "ENV");
	FILL(writer.communicators[0].name, "COMM");
	writer.header->nccl_version = 22809;
	for (uint64_t sequence = 0; sequence < operations; sequence++)
		crafted_operation(&writer, sequence, RW_KNOWN_IDENT | RW_KNOWN_API);
	add_sample(&writer, RW_SAMPLE_THREAD, "THREAD" HOSTILE);
	add_sample(&writer, RW_SAMPLE_FILE, "/PATH" HOSTILE);
	add_sample(&writer, RW_SAMPLE_STATE, "CHANNEL" HOSTILE);
	snprintf(named, sizeof(named), "%s/rank%d" HOSTILE RW_BOX_SUFFIX, boxes_directory, rank);
	cr_assert_eq(rename(writer.path, named), 0);
	box_writer_close(&writer);
}

static void make_boxes(void)
{
	char path[1024];

	make_rank(0, 1);
	make_rank(1, 0);
	make_rank(2, 1);
	snprintf(path, sizeof(path), "%s/rank7NOBOX" HOSTILE RW_BOX_SUFFIX, boxes_directory);
	FILE *file = fopen(path, "w");
	fputs("no box", file);
	fclose(file);
}

Test(foreign, what_boxes_hold_is_escaped_by_those_who_read_them)
{
	static const char *const in_report[] = { "JOB", "HOST", "COMM", "GPU", "SCAN", "THREAD", "NOBOX", NULL };
	static const char *const in_save[] = { "DIR", NULL };
	char to[512], log[512];

	make_boxes();
	const char *text = output_of("report", boxes_directory, NULL);
	expect_clean("report", text);
	expect_fields("report", text, in_report);
	snprintf(log, sizeof(log), "%s/LOG" HOSTILE, base);
	expect_clean("report --kernel-log", output_of("report", "--kernel-log", log, boxes_directory, NULL));
	expect_clean("report --all --notices", output_of("report", "--all", "--notices", boxes_directory, NULL));
	expect_clean("report of nothing", output_of("report", "--job", "NONE" HOSTILE, boxes_directory, NULL));

	snprintf(to, sizeof(to), "%s/DIR" HOSTILE "saved", base);
	text = output_of("save", "--to", to, boxes_directory, NULL);
	expect_clean("save", text);
	expect_fields("save", text, in_save);
	expect_clean("save to nowhere", output_of("save", "--to", "/proc/DIR" HOSTILE, boxes_directory, NULL));
	expect_clean("ls", output_of("ls", boxes_directory, NULL));
	text = output_of("clean", "--dry-run", boxes_directory, NULL);
	expect_clean("clean", text);
	expect_fields("clean", text, in_save);
}

Test(foreign, what_boxes_hold_is_json_for_those_who_ask_for_json)
{
	make_boxes();
	/* Each complaint about the file that is no box is a line of its own, on standard error. */
	char path[1024];
	snprintf(path, sizeof(path), "%s/rank7NOBOX" HOSTILE RW_BOX_SUFFIX, boxes_directory);
	cr_assert_eq(unlink(path), 0);
	expect_json("report --json", output_of("report", "--json", boxes_directory, NULL));
	expect_json("ls --json", output_of("ls", "--json", boxes_directory, NULL));
	expect_json("dump", output_of("dump", boxes_directory, NULL));
	expect_clean("dump", output_of("dump", boxes_directory, NULL));
}

Test(foreign, what_the_environment_holds_is_escaped_by_doctor_and_env)
{
	static const char *const in_doctor[] = { "PLUGIN", "DIR", NULL };
	char library[1024];

	setenv("NCCL_PROFILER_PLUGIN", "PLUGIN" HOSTILE, 1);
	setenv("RANKWATCH_DIR", "/proc/RDIR" HOSTILE, 1);
	setenv("RANKWATCH_JOB", "JOB" HOSTILE, 1);
	setenv("XDG_RUNTIME_DIR", boxes_directory, 1);
	setenv("LD_LIBRARY_PATH", boxes_directory, 1);
	setenv("HOME", boxes_directory, 1);
	setenv("PATH", boxes_directory, 1);
	snprintf(library, sizeof(library), "%s/libnccl.so.2", boxes_directory);
	FILE *file = fopen(library, "w");
	fputs("no library", file);
	fclose(file);
	const char *text = output_of("doctor", "--", "COMMAND" HOSTILE, NULL);
	expect_clean("doctor", text);
	expect_fields("doctor", text, in_doctor);
	expect_json("doctor --json", output_of("doctor", "--json", NULL));
	unsetenv("LD_LIBRARY_PATH");
	text = output_of("env", NULL);
	cr_expect(strstr(text, "NCCL_PROFILER_PLUGIN is PLUGIN" ESCAPED), "%s", text);
}

Test(foreign, what_a_collector_is_told_is_escaped)
{
	char findings[1024], job[64];

	snprintf(findings, sizeof(findings), "%s/NOWHERE" HOSTILE "/findings", base);
	/* Of its own: another build may play this test at the same time. */
	snprintf(job, sizeof(job), "JOB" HOSTILE "%d", (int)getpid());
	const char *text = output_of("collect", "--job", job, "--findings", findings, NULL);
	expect_clean("collect --findings", text);
	cr_expect(strstr(text, "NOWHERE" ESCAPED), "%s", text);
	make_boxes();
	text = output_of("collect", "--job", job, "--dir", boxes_directory, "--until-idle", "--kernel-log",
			 findings, NULL);
	expect_clean("collect", text);
	cr_expect(strstr(text, "job JOB" ESCAPED), "%s", text);
	cr_expect(strstr(text, "NOBOX" ESCAPED), "%s", text);
}

static const char finding_line[] =
    "{\"schema\":1,\"id\":\"f-1\",\"kind\":\"KIND" HOSTILE_JSON "\",\"severity\":\"critical\",\"state\":\"open\","
    "\"scope\":\"rank\",\"confidence\":\"SURE" HOSTILE_JSON "\",\"level\":\"ebpf\",\"ranks\":[1],"
    "\"where\":[{\"rank\":1,\"host\":\"HOST" HOSTILE_JSON "\",\"pid\":1}],\"text\":\"rank 1 TEXT" HOSTILE_JSON "\","
    "\"operation\":{\"function\":\"FUNC" HOSTILE_JSON "\",\"sequence\":1,\"comm_name\":\"COMM" HOSTILE_JSON "\"},"
    "\"late\":{\"by_ms\":5000,\"waiting\":[0]},\"watchdog\":{\"timeout_ms\":100000,\"left_ms\":50000,"
    "\"from\":\"WATCHDOG" HOSTILE_JSON "\"},\"cause\":{\"class\":\"io\",\"thread\":\"THREAD" HOSTILE_JSON "\","
    "\"syscall\":\"CALL" HOSTILE_JSON "\",\"text\":\"CAUSE" HOSTILE_JSON "\",\"path\":\"/PATH" HOSTILE_JSON "\","
    "\"fs\":\"FS" HOSTILE_JSON "\",\"device\":\"DEVICE" HOSTILE_JSON "\"},\"advice\":\"ADVICE" HOSTILE_JSON "\"}\n";

static const char summary_line[] =
    "{\"summary\":{\"job\":\"J\",\"level\":\"LEVEL" HOSTILE_JSON "\",\"below\":\"x\",\"why\":\"WHY" HOSTILE_JSON
    "\",\"processes\":1,\"directory\":\"/DIR" HOSTILE_JSON "\",\"saved\":null,\"no_room\":null,\"ranks_seen\":1,"
    "\"communicators\":1,\"operations\":1,\"findings\":{\"critical\":1,\"warning\":0,\"notice\":0},\"last\":true}}\n";

static void send_line(int fd, const char *line)
{
	if (send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		_exit(0);
}

/* Plays a collector that says what it likes: greets, tells one finding, and sums up when it is asked to. */
static void __attribute__((noreturn)) be_a_collector(int listener, const char *job, const char *directory)
{
	char hello[1024], heard[1024];

	alarm(60);
	snprintf(hello, sizeof(hello),
		 "{\"hello\":{\"job\":\"%s\",\"pid\":1,\"level\":\"ebpf\",\"why\":\"WHY" HOSTILE_JSON
		 "\",\"open\":1,\"save\":null,\"on_finding\":true,\"directory\":\"%s\"}}\n",
		 job, directory);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		ssize_t length;

		if (fd < 0)
			_exit(1);
		send_line(fd, hello);
		send_line(fd, finding_line);
		while ((length = recv(fd, heard, sizeof(heard) - 1, 0)) > 0) {
			heard[length] = '\0';
			if (strstr(heard, "leave"))
				send_line(fd, summary_line);
		}
		close(fd);
	}
}

static pid_t start_collector(char job[64], const char *directory)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	struct address address;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(job, 64, "foreign-test-%d", (int)getpid());
	cr_assert_eq(address_fill(&address, getenv("XDG_RUNTIME_DIR"), geteuid(), job), 0);
	mkdir(address.directory, 0700);
	memcpy(name.sun_path, address.own, sizeof(address.own));
	unlink(address.own);
	cr_assert_eq(bind(listener, (struct sockaddr *)&name, sizeof(name)), 0, "%s", address.own);
	cr_assert_eq(listen(listener, 4), 0);
	pid_t pid = fork();

	if (pid == 0)
		be_a_collector(listener, job, directory);
	close(listener);
	return pid;
}

static void end_collector(pid_t pid, const char *job)
{
	struct address address;

	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	address_fill(&address, getenv("XDG_RUNTIME_DIR"), geteuid(), job);
	unlink(address.own);
}

/* Of a job that lives until rankwatch has said what is awaited. A plugin with sanitizers cannot be loaded into it: it
 * would die at once. */
static const char *output_of_run(const char *job, const char *until)
{
	awaited = until;
	return output_of("run", "--no-preload", "--job", job, "--", "/bin/sleep", "600", NULL);
}

Test(foreign, what_the_other_end_of_the_socket_says_is_escaped)
{
	static const char *const in_finding[] = { "HOST",   "TEXT", "THREAD", "CAUSE",    "/PATH",  "FS",
						  "DEVICE", "FUNC", "COMM",   "WATCHDOG", "ADVICE", NULL };
	char job[64];

	unsetenv("RANKWATCH_DIR");
	pid_t collector = start_collector(job, "");
	const char *text = output_of("findings", "--job", job, NULL);
	expect_clean("findings", text);
	expect_fields("findings", text, in_finding);
	expect_json("findings --json", output_of("findings", "--json", "--job", job, NULL));
	text = output_of_run(job, "ADVICE");
	expect_clean("run", text);
	expect_fields("run", text, in_finding);
	cr_expect(strstr(text, "look again rankwatch report /DIR" ESCAPED), "%s", text);
	expect_clean("findings of nobody", output_of("findings", "--job", "NOJOB" HOSTILE, NULL));
	end_collector(collector, job);
}

Test(foreign, where_another_job_of_the_name_looks_is_escaped)
{
	char job[64];

	unsetenv("RANKWATCH_DIR");
	pid_t collector = start_collector(job, "/DIR" HOSTILE_JSON);
	const char *text = output_of_run(job, "whose RANKWATCH_DIR is");

	expect_clean("run beside another", text);
	cr_expect(strstr(text, "whose RANKWATCH_DIR is /DIR" ESCAPED), "%s", text);
	end_collector(collector, job);
}

Test(foreign, files_of_findings_are_their_owners_whatever_the_mask)
{
	char path[512];
	struct stat status;

	snprintf(path, sizeof(path), "%s/findings.jsonl", base);
	umask(0);
	int fd = jsonl_open(path);

	cr_assert(fd >= 0);
	cr_assert_eq(fstat(fd, &status), 0);
	cr_expect_eq(status.st_mode & 07777, 0600);
	jsonl_close(fd);
}
