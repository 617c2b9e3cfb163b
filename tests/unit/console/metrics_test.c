/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "console/metrics/exposition.h"
#include "console/metrics/server.h"

static char *exposed(enum exposition_format format, const struct exposition_job *jobs, size_t count)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	exposition_write(out, format, jobs, count);
	fclose(out);
	return text;
}

static json_t *parsed(const char *text)
{
	json_error_t error;
	json_t *value = json_loads(text, 0, &error);

	cr_assert(value, "%s: %s", text, error.text);
	return value;
}

/* A job with one finding that names two ranks, and one rank in an operation. */
static struct exposition_job job_with(const char *findings, const char *snapshot)
{
	return (struct exposition_job){ .hello = parsed("{\"job\":\"llama\",\"pid\":7,\"level\":\"proc\"}"),
					.findings = parsed(findings),
					.snapshot = snapshot ? parsed(snapshot) : NULL,
					.cpu_seconds = -1 };
}

static void forget(const struct exposition_job *job)
{
	json_decref((json_t *)job->hello);
	json_decref((json_t *)job->findings);
	json_decref((json_t *)job->snapshot);
}

static void expect_line(const char *text, const char *line)
{
	char whole[512];

	snprintf(whole, sizeof(whole), "\n%s\n", line);
	cr_expect(strstr(text, whole), "no line \"%s\" in:\n%s", line, text);
}

Test(metrics, a_collector_that_does_not_answer_is_down_and_has_nothing_else)
{
	const struct exposition_job job = job_with("[]", NULL);
	char *text = exposed(EXPOSITION_TEXT, &job, 1);

	expect_line(text, "rankwatch_collector_up{job_id=\"llama\"} 0");
	expect_line(text, "rankwatch_collector_info{job_id=\"llama\",level=\"proc\"} 1");
	cr_expect_not(strstr(text, "\nrankwatch_job_"));
	cr_expect_not(strstr(text, "\nrankwatch_rank_"));
	cr_expect_not(strstr(text, "\nrankwatch_collector_cpu"));
	free(text);
	forget(&job);
}

Test(metrics, findings_that_look_alike_are_counted_and_not_written_twice)
{
	const struct exposition_job job = job_with(
	    "[{\"kind\":\"nan\",\"severity\":\"critical\",\"confidence\":\"certain\",\"scope\":\"rank\",\"ranks\":[3],"
	    "\"cause\":{}},"
	    "{\"kind\":\"nan\",\"severity\":\"critical\",\"confidence\":\"certain\",\"scope\":\"rank\",\"ranks\":[3,4],"
	    "\"cause\":{}},"
	    "{\"kind\":\"slowdown\",\"severity\":\"warning\",\"confidence\":\"likely\",\"scope\":\"job\",\"ranks\":[],"
	    "\"cause\":{\"class\":\"network\",\"path\":\"/secret\"}}]",
	    "{\"unix_ms\":1000}");
	char *text = exposed(EXPOSITION_TEXT, &job, 1);
	const char *nan = "rankwatch_findings_open{job_id=\"llama\",kind=\"nan\",severity=\"critical\",confidence=\"certain\","
			  "scope=\"rank\",cause=\"\",rank=\"%d\"} %d";
	char line[256];

	snprintf(line, sizeof(line), nan, 3, 2);
	expect_line(text, line);
	snprintf(line, sizeof(line), nan, 4, 1);
	expect_line(text, line);
	expect_line(
	    text,
	    "rankwatch_findings_open{job_id=\"llama\",kind=\"slowdown\",severity=\"warning\",confidence=\"likely\","
	    "scope=\"job\",cause=\"network\",rank=\"\"} 1");
	cr_expect_not(strstr(text, "secret"));
	free(text);
	forget(&job);
}

Test(metrics, of_an_incident_one_sample_by_what_it_began_with_and_its_worst)
{
	const struct exposition_job job =
	    job_with("[{\"id\":\"b\",\"kind\":\"gone\",\"severity\":\"critical\",\"confidence\":\"certain\",\"scope\":"
		     "\"rank\",\"ranks\":[3],"
		     "\"cause\":{\"class\":\"gone\"},\"incident\":{\"id\":\"a\",\"chain\":[{\"finding\":\"a\"},{"
		     "\"finding\":\"b\"}]}},"
		     "{\"id\":\"a\",\"kind\":\"nan\",\"severity\":\"warning\",\"confidence\":\"likely\",\"scope\":"
		     "\"rank\",\"ranks\":[3],"
		     "\"cause\":{},\"incident\":{\"id\":\"a\",\"chain\":[{\"finding\":\"a\"},{\"finding\":\"b\"}]}},"
		     "{\"id\":\"c\",\"kind\":\"gpu\",\"severity\":\"warning\",\"confidence\":\"certain\",\"scope\":"
		     "\"rank\",\"ranks\":[1],"
		     "\"cause\":{\"class\":\"gpu\"}}]",
		     "{\"unix_ms\":1000,\"findings_so_far\":{\"nan\":2,\"gone\":1}}");
	char *text = exposed(EXPOSITION_TEXT, &job, 1);
	size_t samples = 0;

	for (const char *at = text; (at = strstr(at, "\nrankwatch_incidents_open{")); at++)
		samples++;
	cr_expect_eq(samples, 2);
	expect_line(text, "rankwatch_incidents_open{job_id=\"llama\",kind=\"nan\",severity=\"critical\",confidence=\"likely\","
			  "scope=\"rank\",cause=\"\",rank=\"3\"} 1");
	expect_line(text, "rankwatch_incidents_open{job_id=\"llama\",kind=\"gpu\",severity=\"warning\",confidence=\"certain\","
			  "scope=\"rank\",cause=\"gpu\",rank=\"1\"} 1");
	expect_line(text, "rankwatch_findings_total{job_id=\"llama\",kind=\"nan\"} 2");
	free(text);
	forget(&job);
}

Test(metrics, a_rank_has_the_age_of_what_it_stands_in_and_its_own_gpu)
{
	const struct exposition_job job = job_with(
	    "[]",
	    "{\"unix_ms\":5000.5,\"watchdog\":{\"timeout_ms\":100000,\"deadline_unix_ms\":7000.5},"
	    "\"ranks\":[{\"rank\":-1,\"operations\":1},"
	    "{\"rank\":2,\"host\":\"h1\",\"doing\":\"waits\",\"since_unix_ms\":2000.5,\"lost_ms\":0.0,\"step\":null},"
	    "{\"rank\":5,\"host\":\"h1\",\"doing\":\"works\",\"since_unix_ms\":2000.5,\"lost_ms\":1500.0,\"callback_"
	    "ms\":2500.0,\"step\":7}],"
	    "\"gpus\":[{\"rank\":5,\"index\":1,\"uuid\":\"GPU-5\",\"pci\":\"0000:3b:00.0\",\"xid\":79}]}");
	char *text = exposed(EXPOSITION_OPENMETRICS, &job, 1);

	expect_line(text, "rankwatch_watchdog_remaining_seconds{job_id=\"llama\"} 2");
	expect_line(text, "rankwatch_inflight_age_seconds{job_id=\"llama\",rank=\"2\"} 3");
	expect_line(text, "rankwatch_inflight_age_seconds{job_id=\"llama\",rank=\"5\"} 0");
	expect_line(text, "rankwatch_lost_seconds_total{job_id=\"llama\",rank=\"5\"} 1.5");
	expect_line(text, "rankwatch_rank_step{job_id=\"llama\",rank=\"5\"} 7");
	cr_expect_not(strstr(text, "rankwatch_rank_step{job_id=\"llama\",rank=\"2\"}"));
	cr_expect_not(strstr(text, "rank=\"-1\""));
	expect_line(text, "rankwatch_rank_info{job_id=\"llama\",rank=\"2\",hostname=\"h1\",gpu=\"\",UUID=\"\",pci=\"\"} 1");
	expect_line(text, "rankwatch_rank_info{job_id=\"llama\",rank=\"5\",hostname=\"h1\",gpu=\"1\",UUID=\"GPU-5\","
			  "pci=\"0000:3b:00.0\"} 1");
	expect_line(text, "rankwatch_rank_callback_seconds_total{job_id=\"llama\",rank=\"5\"} 2.5");
	cr_expect_not(strstr(text, "rankwatch_rank_callback_seconds_total{job_id=\"llama\",rank=\"2\"}"));
	expect_line(text, "rankwatch_rank_last_xid{job_id=\"llama\",rank=\"5\"} 79");
	cr_expect_not(strstr(text, "rankwatch_rank_last_xid{job_id=\"llama\",rank=\"2\"}"));
	cr_expect_str_eq(text + strlen(text) - strlen("# EOF\n"), "# EOF\n");
	free(text);
	forget(&job);
}

/* Keys that messages between hosts do not carry are missing or null: no sample stands for them. */
Test(metrics, of_all_nodes_hosts_are_counted_and_what_is_not_known_has_no_sample)
{
	struct exposition_job job = job_with("[{\"kind\":\"hang\",\"severity\":\"critical\",\"confidence\":\"certain\","
					     "\"scope\":\"rank\",\"ranks\":[9],\"cause\":{\"class\":\"io\"}}]",
					     "{\"unix_ms\":5000.5,\"job\":{\"id\":\"llama\",\"all_nodes\":true,"
					     "\"processes\":16,\"ranks_total\":16},\"watchdog\":null,\"sight\":null,"
					     "\"ranks\":[{\"rank\":9,\"host\":\"h2\",\"doing\":\"missing\",\"since_"
					     "unix_ms\":2000.5,\"own_ms\":1000.0,\"inside_ms\":250.0,"
					     "\"unseen_ms\":0.0,\"lost_ms\":null,\"compared\":null,\"operations\":4}],"
					     "\"hosts\":[{\"host\":\"h1\",\"state\":\"heard\"},{\"host\":\"h2\","
					     "\"state\":\"silent\"},{\"host\":\"h3\",\"state\":\"heard\"}]}");

	json_object_set_new((json_t *)job.hello, "all_nodes", json_true());
	char *text = exposed(EXPOSITION_TEXT, &job, 1);

	expect_line(text, "rankwatch_collector_info{job_id=\"llama\",level=\"all-nodes\"} 1");
	expect_line(text, "rankwatch_job_hosts{job_id=\"llama\",state=\"heard\"} 2");
	expect_line(text, "rankwatch_job_hosts{job_id=\"llama\",state=\"silent\"} 1");
	expect_line(text, "rankwatch_job_hosts{job_id=\"llama\",state=\"ended\"} 0");
	expect_line(text, "rankwatch_rank_inside_seconds_total{job_id=\"llama\",rank=\"9\"} 0.25");
	expect_line(
	    text, "rankwatch_findings_open{job_id=\"llama\",kind=\"hang\",severity=\"critical\",confidence=\"certain\","
		  "scope=\"rank\",cause=\"io\",rank=\"9\"} 1");
	cr_expect_not(strstr(text, "\nrankwatch_lost_seconds_total{"));
	cr_expect_not(strstr(text, "\nrankwatch_rank_wait_seconds_total{"));
	cr_expect_not(strstr(text, "\nrankwatch_job_steps_total{"));
	cr_expect_not(strstr(text, "\nrankwatch_watchdog_"));
	free(text);
	forget(&job);
}

Test(metrics, the_format_is_what_the_client_asks_for)
{
	cr_expect_eq(exposition_accepted(NULL), EXPOSITION_TEXT);
	cr_expect_eq(exposition_accepted("text/html, */*"), EXPOSITION_TEXT);
	cr_expect_eq(exposition_accepted("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"),
		     EXPOSITION_OPENMETRICS);
}

static const struct {
	const char *text, *host, *port;
} addresses[] = {
	{ "9982", "127.0.0.1", "9982" }, { ":9982", "", "9982" },   { "10.0.0.1:80", "10.0.0.1", "80" },
	{ "[::1]:9982", "::1", "9982" }, { "[::]:1", "::", "1" },   { "::1:9982", NULL, NULL },
	{ "localhost:", NULL, NULL },	 { "", NULL, NULL },	    { "0", NULL, NULL },
	{ "65536", NULL, NULL },	 { "80x", NULL, NULL },	    { "1.2.3.4:-5", NULL, NULL },
	{ "1.2.3.4: 5", NULL, NULL },
};

Test(metrics, addresses_are_a_port_or_a_host_and_a_port)
{
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		struct server_address address;
		int err = server_address_parse(addresses[i].text, &address);

		cr_expect_eq(err == 0, addresses[i].host != NULL, "\"%s\": %d", addresses[i].text, err);
		if (err || !addresses[i].host)
			continue;
		cr_expect_str_eq(address.host, addresses[i].host);
		cr_expect_str_eq(address.port, addresses[i].port);
	}
}
