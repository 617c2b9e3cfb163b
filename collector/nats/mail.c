/* SPDX-License-Identifier: MIT */
#include "collector/nats/mail.h"

#include <string.h>

#include "base/foreign_text.h"
#include "collector/nats/judges.h"
#include "collector/nats/subject.h"

static const uint64_t say_every_ns = 1000000000;

static void complain(struct mail *mail, const char *what, const char *host, const char *why)
{
	char sentence[COMPLAINTS_WHY];

	snprintf(sentence, sizeof(sentence), "%s %s", what, why);
	if (complaints_add(&mail->complaints, sentence))
		foreign_line(mail->trouble, "%s: %s%s%s: it is not taken (said once; all are counted)", mail->who,
			     sentence, *host ? ", from host " : "", host);
}

static json_t *parse(const struct letter *letter, size_t most)
{
	return letter->length <= most ? json_loadb(letter->bytes, letter->length, 0, NULL) : NULL;
}

static void take_finding(struct mail *mail, const char *host, const struct letter *letter, uint64_t now_ns)
{
	char why[FINDING_HEAD_WHY];
	json_t *finding = parse(letter, MAIL_FINDING_MOST);

	if (finding && !echoes_pass(&mail->echoes, host, finding, now_ns))
		hosts_touch(&mail->hosts, host, now_ns);
	else if (merged_take(&mail->merged, host, finding, why))
		complain(mail, "a finding", host, why);
	else
		hosts_touch(&mail->hosts, host, now_ns);
	json_decref(finding);
}

static void note_news(struct mail *mail, enum host_news news, const struct heard_host *host)
{
	if (news == HOST_NOTHING)
		return;
	roll_add(&mail->rolls[news], host->name);
}

/* Where all are listed, what is not is over there: its end may have been lost on the way. */
static void settle(struct mail *mail, const char *host, const json_t *life)
{
	const json_t *ids = json_object_get(life, "open");

	if (json_is_array(ids) &&
	    (json_int_t)json_array_size(ids) == json_integer_value(json_object_get(life, "open_count")))
		merged_keep_only(&mail->merged, host, ids);
}

static void take_life(struct mail *mail, const char *host, const struct letter *letter, uint64_t now_ns)
{
	const struct heard_host *heard;
	enum host_news news;
	char why[HOSTS_WHY];
	json_t *life = parse(letter, MAIL_LIFE_MOST);
	int err = hosts_hear(&mail->hosts, host, life, now_ns, &news, &heard, why);

	if (err) {
		complain(mail, "a sign of life", host, why);
	} else {
		note_news(mail, news, heard);
		/* What it had open when its job ended stays as it is. */
		if (heard->state == HOST_HEARD && heard->heard_ns == now_ns)
			settle(mail, host, life);
	}
	json_decref(life);
}

static void take_batch(struct mail *mail, const char *host, const struct letter *letter, uint64_t now_ns)
{
	const char *why = "cannot be read";

	mail->batches++;
	mail->batch_bytes += letter->length;
	if (mail->batch && mail->batch(mail->argument, host, letter->bytes, letter->length, now_ns, &why))
		complain(mail, "a batch of messages", host, why ? why : "cannot be read");
	else
		hosts_touch(&mail->hosts, host, now_ns);
}

static void take_judge(struct mail *mail, const char *name, const struct letter *letter, uint64_t now_ns)
{
	const char *why = "cannot be read";
	json_t *life = parse(letter, MAIL_LIFE_MOST);

	if (mail->judge && mail->judge(mail->argument, name, life, now_ns, &why))
		complain(mail, "a sign of life of a \"collect --all-nodes\"", name, why);
	json_decref(life);
}

static void take_told(struct mail *mail, const char *name, const struct letter *letter)
{
	char why[FINDING_HEAD_WHY] = "comes from a host";
	struct rw_finding head;
	json_t *finding = parse(letter, MAIL_FINDING_MOST);

	if (!strstr(name, JUDGES_MARK) || finding_head_read(finding, &head, why))
		complain(mail, "what a \"collect --all-nodes\" has told", name, why);
	else if (mail->told)
		mail->told(mail->argument, name, finding);
	json_decref(finding);
}

void mail_take(struct mail *mail, const struct letter *letter, uint64_t now_ns)
{
	enum subject_topic topic;
	char host[SUBJECT_NAME];

	if (subject_read(letter->subject, &topic, host)) {
		complain(mail, "something", "", "has a subject that is none of ours");
		return;
	}
	switch (topic) {
	case SUBJECT_FINDINGS:
		take_finding(mail, host, letter, now_ns);
		return;
	case SUBJECT_HOSTS:
		take_life(mail, host, letter, now_ns);
		return;
	case SUBJECT_MESSAGES:
		take_batch(mail, host, letter, now_ns);
		return;
	case SUBJECT_JUDGES:
		take_judge(mail, host, letter, now_ns);
		return;
	case SUBJECT_TOLD:
		take_told(mail, host, letter);
		return;
	case SUBJECT_ASKS: /* ours, or another reader's */
	case SUBJECT_DOCTOR:
	case SUBJECT_TOPICS:
		return;
	}
}

static void say(const struct mail *mail, FILE *out, const char *before, const char *names, const char *after)
{
	if (out && names)
		foreign_line(out, "%s: %s%s%s", mail->who, before, names, after);
}

/* New hosts, and how many ranks there are once they have all come. */
static void say_who_is_heard(struct mail *mail)
{
	unsigned ranks = hosts_ranks(&mail->hosts);
	bool settled = ranks == mail->ranks && ranks != mail->ranks_said;
	const char *names = roll_take(&mail->rolls[HOST_NEW]);
	size_t count = mail->hosts.count;

	mail->ranks = ranks;
	if (!mail->reports || (!names && !settled))
		return;
	mail->ranks_said = ranks;
	foreign_line(mail->reports, "%s: hears %zu host%s with %u ranks%s%s", mail->who, count, count == 1 ? "" : "s",
		     ranks, names ? ", new: " : "", names ? names : "");
}

static void say_rolls(struct mail *mail)
{
	FILE *reports = mail->reports;
	size_t count;

	say_who_is_heard(mail);
	say(mail, reports, "heard again: ", roll_take(&mail->rolls[HOST_BACK]), "");
	say(mail, reports, "a collector was started anew on ", roll_take(&mail->rolls[HOST_RESTARTED]), "");
	say(mail, reports, "the collector has ended in order on ", roll_take(&mail->rolls[HOST_TAKES_LEAVE]), "");
	count = mail->rolls[HOST_GOES_SILENT].count;
	say(mail, mail->trouble, count == 1 ? "host " : "hosts ", roll_take(&mail->rolls[HOST_GOES_SILENT]),
	    count == 1 ? " is silent: its collector, the host itself or the way from it is gone"
		       : " are silent: their collectors, the hosts themselves or the way from them is gone");
}

/* What nodes of receivers have said, where none has said who it was; and what they said too early. */
static void settle_echoes(struct mail *mail, uint64_t now_ns)
{
	char host[SUBJECT_NAME], id[24], why[FINDING_HEAD_WHY];

	for (json_t *finding; (finding = echoes_due(&mail->echoes, host, now_ns)); json_decref(finding))
		if (merged_take(&mail->merged, host, finding, why))
			complain(mail, "a finding", host, why);
	while (echoes_refuted(&mail->echoes, host, id))
		merged_end(&mail->merged, host, id);
	merged_tick(&mail->merged, now_ns);
}

void mail_deaf(struct mail *mail, uint64_t now_ns)
{
	hosts_excuse(&mail->hosts, now_ns);
}

void mail_tick(struct mail *mail, uint64_t now_ns)
{
	settle_echoes(mail, now_ns);
	for (const struct heard_host *host; (host = hosts_next_silent(&mail->hosts, now_ns));)
		note_news(mail, HOST_GOES_SILENT, host);
	if (now_ns < mail->next_say_ns)
		return;
	say_rolls(mail);
	mail->next_say_ns = now_ns + say_every_ns;
}

void mail_free(struct mail *mail)
{
	say_rolls(mail);
	merged_free(&mail->merged);
	echoes_free(&mail->echoes);
	hosts_free(&mail->hosts);
}
