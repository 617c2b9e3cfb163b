/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/changed_findings.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 4096 };

static const char kept[] =
    "{\"schema\":1,\"id\":\"9f-3\",\"state\":\"open\",\"revision\":4,\"severity\":\"warning\",\"confidence\":"
    "\"likely\","
    "\"kind\":\"straggler\",\"ranks\":[0],\"scope\":\"rank\",\"level\":\"ebpf\",\"arrival\":\"gpu\",\"detect_ms\":1870,"
    "\"time\":\"2025-11-20T19:03:08.100Z\",\"first_seen\":\"2025-11-20T19:03:07.900Z\","
    "\"job\":{\"id\":\"a\",\"generation\":0,\"ranks_seen\":8,\"ranks_total\":8},"
    "\"where\":[{\"rank\":0,\"host\":\"a\",\"pid\":7,\"gpu\":\"GPU-6f\",\"pci\":\"0:3b:0\",\"rank_from\":\"RANK\"}],"
    "\"operation\":{\"comm\":\"0x5\",\"comm_name\":\"~fsdp\",\"comm_size\":8,\"function\":\"AllGather\",\"sequence\":"
    "118,"
    "\"replay\":null,\"step\":11,\"dtype\":\"bfloat16\",\"count\":4194304,\"phase\":\"launched\"},"
    "\"late\":{\"kind\":\"host\",\"by_ms\":1300.4,\"lost_share\":0.64,\"since_step\":9,\"waiting\":[1,2,3]},"
    "\"cause\":{\"class\":\"io\",\"share\":0.93,\"text\":\"fsync(2)\",\"syscall\":\"fsync\",\"fd\":3,\"path\":\"/mnt/a/"
    "b\","
    "\"fs\":\"ext4\",\"device\":\"loop3\",\"tid\":7,\"thread\":\"main\",\"chain\":[{\"tid\":7,\"thread\":\"main\","
    "\"waits_for\":\"thread tb-writer\"}],\"stack\":[\"ext4_sync_file\"]},"
    "\"watchdog\":{\"timeout_ms\":100000,\"from\":\"RANKWATCH_TIMEOUT\",\"left_ms\":98600,\"longest_wait_ms\":1400},"
    "\"values\":{\"side\":\"input\",\"nan\":12,\"inf\":0,\"first_bad\":4711,\"absmax_before\":0.03125,\"saturated\":"
    "null,"
    "\"origin\":\"born\",\"digest\":\"0x0000000000001234\",\"not_scanned\":0},"
    "\"victims\":[1,2],\"evidence\":[{\"source\":\"bpf\",\"ms\":1209,\"what\":\"fsync\"}],\"missing\":[\"values\"],"
    "\"text\":\"rank 0 makes every step 1.31 s longer\",\"advice\":\"write the log elsewhere\"}";

json_t *changed_findings_kept(void)
{
	return json_loads(kept, 0, NULL);
}

static void set(json_t *at, const char *key, json_t *value)
{
	if (json_is_array(at))
		json_array_set_new(at, strtoul(key, NULL, 10), value);
	else if (json_is_object(at))
		json_object_set_new(at, key, value);
	else
		json_decref(value);
}

static void change(json_t *finding, char *path, const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL), *at = finding;
	char *key = strsep(&path, ".");

	if (!value)
		value = json_string(text);
	while (path && at) {
		at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10)) : json_object_get(at, key);
		key = strsep(&path, ".");
	}
	set(at, key, value ? value : json_null());
}

static void put_finding(FILE *lines, const json_t *finding)
{
	char *line = json_dumps(finding, JSON_COMPACT);

	fprintf(lines, "%s\n", line ? line : "");
	free(line);
}

/* A line longer than LINE is two. */
void changed_findings_write(FILE *lines, const uint8_t *data, size_t size)
{
	FILE *input = fmemopen((void *)(uintptr_t)data, size, "r");
	json_t *finding = NULL;
	char line[LINE];

	while (fgets(line, sizeof(line), input)) {
		char *value = *line == '{' ? NULL : strchr(line, '=');

		line[strcspn(line, "\n")] = '\0';
		if (!value) {
			fprintf(lines, "%s\n", line);
			continue;
		}
		*value++ = '\0';
		finding = finding ? finding : changed_findings_kept();
		if (*line)
			change(finding, line, value);
		else
			put_finding(lines, finding);
	}
	if (finding)
		put_finding(lines, finding);
	json_decref(finding);
	fclose(input);
}

void changed_findings_check_text(const char *text)
{
	for (; *text; text++)
		if (((unsigned char)*text < 0x20 && *text != '\n') || *text == 0x7f)
			abort();
}
