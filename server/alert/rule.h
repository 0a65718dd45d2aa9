/*
 * Job: which incidents are told to which webhooks, when, and in which words. Pure.
 * Ownership: rule sets are counted; buffers are the caller's. Threads: a rule set is immutable, any; else values.
 */
#pragma once

#include "base/buf.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "base/text/zone.h"
#include "detect/condition.h"
#include "model/incident.h"
#include "model/metrics/point.h"
#include "store/alerts.h"
#include "store/jobs.h"
#include "store/store.h"
#include "store/transitions.h"

enum { RULE_NAME_MAX_BYTES = 128, RULE_QUERY_MAX_BYTES = 8192, RULE_WEBHOOKS_MAX = 64 };

/* Local times of day in minutes; from = to: the whole day. */
struct quiet_hours {
	bool is_set;
	unsigned from_min, to_min;
	unsigned days; /* on which they begin: 1 << 0 is Sunday */
	bool is_broken_by_critical;
	struct span tz;
	struct zone *zone;
};

struct rule {
	int64_t rule_id;
	uint64_t since_seq;
	int64_t modified_ms;
	struct span name, team;
	bool is_enabled;
	bool tells; /* false: what it takes is told to nobody */
	bool tells_recovery;
	struct span query; /* of the job; "": all */
	uint64_t kinds; /* bits: 1 << kind; 0: all that detectors say */
	enum severity minimum_severity;
	struct span expression_text; /* "": none; else the rule opens incidents of its own, and takes these alone */
	struct condition *expression;
	enum severity severity; /* of those */
	int64_t persistence_ms; /* it must be open for so long */
	int64_t cool_down_ms; /* after a message about a job no other about it */
	int64_t collect_ms; /* what comes within it is told in one message, at its end */
	struct quiet_hours quiet; /* what comes then is told in one message after them */
	bool has_all_webhooks;
	int64_t webhooks[RULE_WEBHOOKS_MAX]; /* else these */
	size_t webhook_count;
	bool is_exclusive; /* what it takes is not for the rules behind it: for none of the webhooks */
	struct span command; /* "", or of "checkpoint" and "stop", with a comma between */
};

/* From a body of the API or what is stored; spans point into an own copy in the arena; rule_done frees the rest. ERR_SEMANTIC with
 * the field. */
enum status rule_parse(
	struct rule *out, const struct json *document, struct arena *arena, struct error *err) MUST_CHECK;
void rule_done(struct rule *rule);
AUTO_DONE_TYPE(rule)
/* The fields that rule_parse reads, into an object that is open. */
void rule_write_fields(const struct rule *rule, struct json_writer *w);

struct rule_set;
struct rule_set *rule_set_ref(struct rule_set *set);
void rule_set_unref(struct rule_set *set);
/* A row that this program cannot read is left out, and told in the log. version: tells one set from another.
 * rows: in the order of their ids, as they are read. */
enum status rule_set_new(struct rule_set **out, const struct rule_row *rows, size_t count, uint64_t version,
	struct error *err) MUST_CHECK;
uint64_t rule_set_version(const struct rule_set *set);
bool rule_set_has_conditions(const struct rule_set *set); /* of rules with an expression */
size_t rule_set_count(const struct rule_set *set);
const struct rule *rule_set_get(const struct rule_set *set, size_t i); /* by number */
const struct rule *rule_set_find(const struct rule_set *set, int64_t rule_id); /* NULL: there is none */

/* Not yet asked: whether the job is of the rule's query. */
bool rule_takes(const struct rule *rule, const struct incident_row *incident, struct span job_team);
bool rule_serves(const struct rule *rule, int64_t webhook_id);
/* Is what it takes lost for the rules behind it? Not where all that it names are off or gone: it must not be lost for everybody. */
bool rule_keeps(const struct rule *rule, const struct webhook_row *webhooks, size_t count);
bool webhook_wants(const struct webhook_row *webhook, const struct incident_row *incident, struct span job_team);
/* ERR_SEMANTIC with field "query". *is_match: the job is of the rule's query; what reads the store. */
enum status rule_matches_job(const struct rule *rule, struct store_reader *reader, struct span job, int64_t now_ms,
	bool *is_match, struct error *err) MUST_CHECK;
/* When the quiet hours that it is in are over; 0: it is in none. */
int64_t quiet_until_ms(const struct quiet_hours *quiet, int64_t now_ms);

/* ---- reports of a day (report_time.c) ---- */

/* "07:30", up to "24:00", which is the next day's 00:00. */
bool time_of_day_parse(struct span text, unsigned *minutes);
/* The first such time of the zone's days after this moment, and the last one until it. */
int64_t report_next_ms(const struct zone *zone, unsigned at_min, int64_t after_ms);
int64_t report_last_ms(const struct zone *zone, unsigned at_min, int64_t until_ms);
/* Is something to be done about it: to be told, or, after a clock that was wrong, to be reckoned anew? */
bool report_is_due(const struct webhook_row *webhook, int64_t now_ms);
struct report_plan {
	bool is_told; /* now; else it was the clock */
	int64_t from_ms, to_ms; /* of which time: since the last one was due, seven days at most, until this one is */
	int64_t next_ms;
};
/* Of one that is told: from where the last one that was told ended (its to_ms; 0: none is known), however time or zone were changed since. */
void report_plan_after(struct report_plan *plan, int64_t told_to_ms);
/* ERR_SEMANTIC with field "report_at" or "report_tz". Of a webhook that is not due: as if it were. */
enum status report_plan(
	const struct webhook_row *webhook, int64_t now_ms, struct report_plan *out, struct error *err) MUST_CHECK;

/* May this be of the cause of `head`, which came first in the same job? What decides then is where and when the group is. */
bool incident_may_join(const struct incident_row *head, const struct incident_row *row);
bool incident_joins(const struct incident_group *group, const struct incident *i);
/* All kinds that do this harm (incident_kind_harm), as bits: of a cause a harm is told once. */
uint64_t incident_harm_kinds(enum incident_kind harm);

/*
 * The message: {"type":"incident.opened"|"incident.recovered","timestamp":ISO 8601,"data":{the incident as in the API,
 * "summary": one sentence for a phone, "url": the page}}. public_url: origin for links, without a slash at the end.
 * Source: Standard Webhooks specification, "payload structure".
 */
void rule_write_message(const struct incident_row *incident, struct span public_url, int64_t now_ms, struct buf *out);

/* Of many at once: {"type":"incidents.digest",…,"data":{"count","open","jobs","kinds":{kind: count},"severity": the highest,
 * "incidents":[the first `shown`],"summary","url"}}. */
void rule_write_digest(const struct incident_row *rows, size_t count, size_t shown, struct span public_url,
	int64_t now_ms, struct buf *out);

/* Its sentence, its page, and a picture of its metric's curve. */
void rule_append_summary(struct buf *out, const struct incident_row *incident);
void rule_append_url(struct buf *out, const struct incident_row *incident, struct span public_url);
void rule_append_chart_url(struct buf *out, struct span job, struct span metric, struct span public_url);
/* The incident as the REST API shows it, with "summary" and "url" beside. */
void rule_write_told(const struct incident_row *incident, struct span public_url, struct json_writer *w);

/* {"type","timestamp","data":{"summary","url"}}: about no incident. */
void rule_write_plain(const char *type, const char *summary, struct span public_url, int64_t now_ms, struct buf *out);

/* EventBridge's "SageMaker Training Job State Change"; rows: the job's history; place: of a job that has no ARN of its own. */
struct rule_place {
	struct span region, account;
};
enum status rule_write_state_change(const struct job_row *job, const struct transition_row *rows, size_t count,
	const struct rule_place *place, const char *id, int64_t now_ms, struct buf *out, struct error *err) MUST_CHECK;

/* "whsec_" + base64 -> key bytes. */
bool webhook_secret_parse(struct span text, struct buf *key);

/* The incident as the REST API shows it; used by api/ as well. */
void incident_write_json(const struct incident_row *row, struct json_writer *w);
void incident_put(const struct incident_row *row, struct json_writer *w); /* into an object that is open */

/* What a webhook's body can look like (alert/format.h). */
struct webhook_formats;
void webhook_formats_free(struct webhook_formats *formats);
AUTO_TYPE(webhook_formats)
bool webhook_format_is_known(const struct webhook_formats *formats, struct span name);
/* Whose address it is, by its host and the beginning of its path; "": nobody's that is known. */
struct span webhook_format_of_address(const struct webhook_formats *formats, struct span url);
/* Its host is an address that no message goes to, whatever the options say (net/address.h). */
bool webhook_is_nowhere(struct span url);
void webhook_format_names(const struct webhook_formats *formats, struct buf *out); /* "json, cloudevents, slack" … */
enum webhook_secret {
	WEBHOOK_SECRET_MADE, /* "whsec_…", which signs; made where none is given */
	WEBHOOK_SECRET_NONE, /* may be given, and signs */
	WEBHOOK_SECRET_TEXT, /* any text of the receiver's, or none */
	WEBHOOK_SECRET_REQUIRED /* the receiver's: a routing key */
};
enum webhook_secret webhook_format_secret(const struct webhook_formats *formats, struct span name);
