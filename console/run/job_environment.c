/* SPDX-License-Identifier: MIT */
#include "console/run/job_environment.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/in_time.h"
#include "identity/identity.h"

enum { CONFIGURATION_MS = 500 /* the job waits for it */ };

static const char *from_environment(void *argument, const char *name)
{
	(void)argument;
	return getenv(name);
}

static char *prepend(const char *first, const char *rest)
{
	char *joined = NULL;

	if (asprintf(&joined, "%s%s%s", first, rest && *rest ? ":" : "", rest ? rest : "") < 0)
		return NULL;
	return joined;
}

/* A name that no other run on this node has: black boxes of one run do not mix with those of the next. */
static void name_job(char job[64], const char *host)
{
	snprintf(job, 64, "run-%.24s-%d-%lld", host, (int)getpid(), (long long)time(NULL));
}

static void choose_job(struct job_environment *environment, const char *job)
{
	struct identity identity;

	identity_read(&identity, from_environment, NULL, 0, NULL, 0);
	environment->names_job = job || !*identity.job_from;
	if (job)
		snprintf(environment->job, sizeof(environment->job), "%s", job);
	else if (environment->names_job)
		name_job(environment->job, identity.host);
	else
		snprintf(environment->job, sizeof(environment->job), "%s", identity.job);
}

struct other_plugin {
	bool chains;
	struct nccl_plugin plugin;
};

static_assert(sizeof(struct other_plugin) <= IN_TIME_RESULT, "comes from another process");

static void find_other(const void *argument, void *result)
{
	struct other_plugin *other = result;

	(void)argument;
	other->chains = nccl_plugin_find_other(&other->plugin);
}

/* ~/.nccl.conf may lie on a server that does not answer. */
static void find_chained(struct job_environment *environment)
{
	struct other_plugin other;

	environment->configuration_silent =
	    in_time_call(find_other, NULL, &other, sizeof(other), CONFIGURATION_MS) == -ETIMEDOUT;
	environment->chains = other.chains;
	environment->other = other.plugin;
}

int job_environment_fill(struct job_environment *environment, const struct install *install, const char *job,
			 bool preload)
{
	*environment = (struct job_environment){ 0 };
	choose_job(environment, job);
	find_chained(environment);
	environment->library_path = prepend(install->plugin_directory, getenv("LD_LIBRARY_PATH"));
	if (preload)
		environment->preload = prepend(install->plugin, getenv("LD_PRELOAD"));
	return environment->library_path && (environment->preload || !preload) ? 0 : -ENOMEM;
}

static bool set(const char *name, const char *value)
{
	return !value || setenv(name, value, 1) == 0;
}

int job_environment_apply(const struct job_environment *environment)
{
	return set("RANKWATCH_CHAIN", environment->chains ? environment->other.value : NULL) &&
		       set("NCCL_PROFILER_PLUGIN", INSTALL_PLUGIN_NAME) &&
		       set("RANKWATCH_JOB", environment->names_job ? environment->job : NULL) &&
		       set("LD_LIBRARY_PATH", environment->library_path) && set("LD_PRELOAD", environment->preload)
		   ? 0
		   : -ENOMEM;
}

void job_environment_clear(struct job_environment *environment)
{
	free(environment->library_path);
	free(environment->preload);
	*environment = (struct job_environment){ 0 };
}
