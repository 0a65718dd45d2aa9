/*
 * Job: the part of store.h that is about incidents, rules, webhooks and their outbox.
 * Ownership and threads: as store.h.
 */
#pragma once

#include "base/arena.h"
#include "model/incident.h"
#include "model/metrics/metric.h"
#include "model/query.h"
#include "store/backfills.h"

struct dead_series;
struct query_node;
struct store_reader;
struct store_tx;

/* ---- incidents ---- */
struct incident_said;
struct incident_row {
	int64_t job_id;
	uint32_t incident_id; /* numbered within the job from 1 */
	uint32_t series_id; /* 0: of the job, or of a series that a back-fill took away */
	uint32_t stream_id; /* when read; 0: of the job */
	struct span job; /* when read: the names */
	struct span metric;
	struct span stream;
	struct span detail; /* of the one who says it, for the message: why a job failed. Not stored */
	struct incident incident;
	int64_t known_ms; /* when it was stored here; what is historic, or was imported: when it opened */
	bool is_news; /* when put: known now, though it is historic, by a time that nobody said */
	int64_t acknowledged_ms; /* 0: not */
	const struct incident_said *said; /* store/faults.h; NULL: not asked */
	struct span facts; /* members of a JSON object, as they were when it opened: what it is about beside figures */
	int64_t muted_until_ms;
	uint32_t cause_id; /* the incident of the same job that came first; 0: itself */
	uint32_t fold_id; /* of these, the one that it is shown in; 0: itself */
	uint32_t attempt; /* of the stream when it opened; 0: not known, or none */
	uint32_t life; /* how often the job had gone on after an end */
	/* When a list is read, of those that are shown in it: how many of its metric, and is one of them open. */
	uint64_t folded;
	bool has_open_fold;
	struct span *streams; /* whoever shows it fills them in; NULL: its own alone */
	size_t stream_count;
};
static inline uint32_t incident_group(const struct incident_row *row)
{
	return row->cause_id ? row->cause_id : row->incident_id;
}
/* What a put said that was not known before. */
struct incident_news {
	bool is_new;
	bool is_raised; /* its severity rose */
	bool has_ended; /* it was open and is not any more */
	enum severity before; /* the severity that was known; of a new one: SEVERITY_INFO */
};
/* That the next one of the job gets. */
enum status store_next_incident_id(
	struct store_reader *reader, int64_t job_id, int64_t *id, struct error *err) MUST_CHECK;
/* By its key (job, series, kind, opened_ordinal): inserts, or updates what a detector may change; the id is set. A replay
 * that says the same again is no news and changes nothing. */
enum status store_put_incident(
	struct store_tx *tx, struct incident_row *row, struct incident_news *news, struct error *err) MUST_CHECK;
/* Those that a program put which knows nothing of known_ms, as long as it ran on this database. */
enum status store_mend_known(struct store_tx *tx, struct error *err) MUST_CHECK;
/* By its key, too. */
enum status store_knows_incident(
	struct store_tx *tx, const struct incident_row *row, bool *is_known, struct error *err) MUST_CHECK;
/*
 * What a back-fill found, of a series that takes the place of one of `old`: the incident that it was until now, as `sameness` says,
 * keeps its number, who acknowledged it and whether it is historic, and is as it was found; but what a job's end closed stays so.
 * A stricter sameness is asked of all that was found before a weaker one of any. *is_same: there is one; none: it is written anew.
 * *news: is_new is one that is open again, and that is no historic one.
 */
enum incident_sameness {
	SAME_NAME, /* stream, metric, kind and line (of points that came without one: step) */
	SAME_VALUES, /* stream, kind, line and value: the metric has another name */
	SAME_HARM, /* stream, kind, and metric or role, and both are open: other definitions see it begin elsewhere */
	SAME_AS_NONE,
	SAMENESS_COUNT
};
enum status store_replace_incident(struct store_tx *tx, const struct dead_series *old, enum incident_sameness sameness,
	struct incident_row *row, struct incident_news *news, bool *is_same, struct error *err) MUST_CHECK;
/* Those that are still of these series then were not found: they stay, closed by the definitions. */
enum status store_part_incidents(
	struct store_tx *tx, const struct dead_series *old, int64_t now_ms, struct error *err) MUST_CHECK;
/* Those that came first in the job of late, newest opened first: what a new one may belong to. */
enum status store_read_first_incidents(struct store_reader *reader, struct arena *arena, int64_t job_id, size_t limit,
	struct incident_row **out, size_t *count, struct error *err) MUST_CHECK;
/* A group as one that may join it sees it, without itself. */
struct incident_group {
	bool is_open;
	int64_t first_step, last_step, first_opened_ms, last_opened_ms;
	bool has_same_series; /* of its kind, rule, stream and metric */
	bool has_same; /* of its kind, rule and metric, of any series */
	struct incident same; /* of these: open where one is; the latest last_step, opened_ms, closed_ms */
	uint32_t
		fold_id; /* of that metric and kind, the newest that others are shown in and that has none of its series; 0: none */
};
enum status store_look_in_group(struct store_reader *reader, uint32_t group_id, const struct incident_row *row,
	struct incident_group *out, struct error *err) MUST_CHECK;
/* Of the group and of the row's kind and rule, by another metric: of a line where the row is of no line, or the other way; at the same step, or
 * the value of the same number; or, of a NaN, sent and printed since number_ms. Only those that others are shown in. */
struct incident_twin {
	uint32_t incident_id;
	struct span metric;
	enum role role, row_role; /* of the series, its own and the row's */
};
enum status store_read_twins(struct store_reader *reader, struct arena *arena, uint32_t group_id,
	const struct incident_row *row, struct incident_twin **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_set_cause(struct store_tx *tx, const struct incident_row *row, struct error *err) MUST_CHECK;
/* kinds: bits, 1 << kind; 0: any. */
enum status store_is_group_open(struct store_reader *reader, int64_t job_id, uint32_t group_id, uint64_t kinds,
	bool *is_open, struct error *err) MUST_CHECK;
/* until_ms INT64_MAX: for good. ERR_NOT_FOUND */
enum status store_mute_incident(
	struct store_tx *tx, int64_t job_id, uint32_t incident_id, int64_t until_ms, struct error *err) MUST_CHECK;
/* Until when one of its group, or of the same kind and metric (or signature, or machine) in its job, is muted at that moment; 0: none is. */
enum status store_read_muted_until(struct store_reader *reader, const struct incident_row *row, int64_t now_ms,
	int64_t *until_ms, struct error *err) MUST_CHECK;
/* The streams of those of its metric that are shown in it, its own first, by number. */
enum status store_read_fold_streams(struct store_reader *reader, struct arena *arena, const struct incident_row *row,
	size_t limit, struct span **out, size_t *count, struct error *err) MUST_CHECK;
struct incident_filter {
	bool has_all; /* also those that are shown in others */
	int64_t job_id; /* 0: all jobs */
	int state; /* enum incident_state, -1: any */
	int kind; /* enum incident_kind, -1: any */
	enum severity minimum; /* and worse ones */
	int64_t from_ms, to_ms; /* when it opened, both included; 0: any time */
	bool is_by_known; /* when it became known, and in that order; job_id is 0 */
	const struct query_node *query; /* of which jobs; NULL: of all. ERR_SEMANTIC when it asks of logs */
	struct span cursor;
	size_t limit;
};
/* Newest opened, or known, first. */
enum status store_read_incidents(struct store_reader *reader, struct arena *arena, const struct incident_filter *filter,
	struct incident_row **out, size_t *count, struct span *next_cursor, struct error *err) MUST_CHECK;
enum status store_read_incident(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t incident_id,
	struct incident_row *out, struct error *err) MUST_CHECK;
/* What it is about became known later. */
enum status store_put_incident_facts(
	struct store_tx *tx, int64_t job_id, uint32_t incident_id, struct span facts, struct error *err) MUST_CHECK;
/* It is about another machine than it was opened for: by that one's key, if no other has it. */
enum status store_rename_incident(struct store_tx *tx, int64_t job_id, uint32_t incident_id, uint64_t opened_ordinal,
	struct span facts, struct error *err) MUST_CHECK;
/* Those that are open. */
enum status store_read_rule_incidents(struct store_reader *reader, struct arena *arena, int64_t rule_id,
	struct incident_row **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_acknowledge_incident(
	struct store_tx *tx, int64_t job_id, uint32_t incident_id, int64_t at_ms, struct error *err) MUST_CHECK;
/* As a list of open ones shows them: those that are folded into one are one. */
enum status store_count_open_incidents(
	struct store_reader *reader, int64_t job_id, uint64_t *count, struct error *err) MUST_CHECK;
/* Open ones of jobs that have ended: at most `limit`. That it failed, or that its log will be deleted, is no matter of its running. */
struct left_open {
	int64_t job_id;
	uint32_t incident_id;
};
enum status store_read_left_open(struct store_reader *reader, struct arena *arena, size_t limit, struct left_open **out,
	size_t *count, struct error *err) MUST_CHECK;

/* ---- rules, and what webhooks were told by them ---- */
struct rule_row {
	int64_t rule_id; /* 0: new */
	struct span team, name, document;
	uint64_t since_seq;
	int64_t modified_ms;
};
enum status store_put_rule(
	struct store_tx *tx, struct rule_row *row, struct error *err) MUST_CHECK; /* ERR_CONFLICT: name */
enum status store_read_rules(struct store_reader *reader, struct arena *arena, struct rule_row **out, size_t *count,
	struct error *err) MUST_CHECK; /* by number */
/* Its open incidents are over. ERR_NOT_FOUND */
enum status store_delete_rule(struct store_tx *tx, int64_t rule_id, int64_t now_ms, struct error *err) MUST_CHECK;
enum status store_end_rule_incidents(
	struct store_tx *tx, int64_t rule_id, int64_t now_ms, struct error *err) MUST_CHECK;

enum notice_state {
	NOTICE_WAITING, /* for the time that the rule wants it to last; or, by its standing, for the end of a mute */
	NOTICE_HELD, /* told with others, once it is due */
	NOTICE_TOLD,
	NOTICE_OVER /* and so is the group; or nothing will be told */
};
enum notice_standing {
	NOTICE_UNTOLD, /* no opening; or its end, too */
	NOTICE_STANDS, /* an opening was told whose end was not */
	NOTICE_STANDS_MUTED /* and the end has come, within a mute */
};
struct notice_row {
	int64_t webhook_id, job_id;
	uint32_t group_id; /* the incident that came first */
	enum incident_kind harm; /* alert/rule.h */
	uint32_t incident_id; /* of the group and the harm: what is told */
	int64_t rule_id; /* 0: it was changed or deleted while this waited */
	enum notice_state state;
	enum severity severity; /* the highest */
	int64_t due_ms, told_ms; /* told_ms 0: not yet */
	enum notice_standing standing;
};
/* Replaces what there was. */
enum status store_put_notice(struct store_tx *tx, const struct notice_row *row, struct error *err) MUST_CHECK;
/* In: webhook_id, job_id, group_id, harm. */
enum status store_read_notice(
	struct store_reader *reader, struct notice_row *row, bool *is_there, struct error *err) MUST_CHECK;
/* What the webhook was told of the group, by harm. */
enum status store_read_group_notices(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	int64_t job_id, uint32_t group_id, struct notice_row **out, size_t *count, struct error *err) MUST_CHECK;
/* Waiting and held ones that are due, by webhook. */
enum status store_read_due_notices(struct store_reader *reader, struct arena *arena, int64_t now_ms, size_t limit,
	struct notice_row **out, size_t *count, struct error *err) MUST_CHECK;
/* The same of one group of all jobs. */
enum status store_read_group_due_notices(struct store_reader *reader, struct arena *arena, uint32_t group_id,
	int64_t now_ms, size_t limit, struct notice_row **out, size_t *count, struct error *err) MUST_CHECK;
enum status store_next_notice_ms(
	struct store_reader *reader, int64_t *due_ms, struct error *err) MUST_CHECK; /* INT64_MAX: none */
/* What waits by this rule, which wanted it to last for so long, is to be decided anew: it has no rule (0), and where it was not told
 * yet, due_ms is since when it has waited. */
enum status store_free_notices(
	struct store_tx *tx, int64_t rule_id, int64_t persistence_ms, int64_t now_ms, struct error *err) MUST_CHECK;
/* When the rule last told the webhook of the job; INT64_MIN: never. */
enum status store_last_notice_ms(struct store_reader *reader, int64_t webhook_id, int64_t job_id, int64_t rule_id,
	int64_t *told_ms, struct error *err) MUST_CHECK;
/* Deletes up to `limit` that were settled before that. */
enum status store_delete_notices(struct store_tx *tx, int64_t before_ms, size_t limit, struct error *err) MUST_CHECK;
/* Messages written for the webhook since then. */
enum status store_count_deliveries(struct store_reader *reader, int64_t webhook_id, int64_t since_ms, uint64_t *count,
	struct error *err) MUST_CHECK;

/* ---- webhooks and their outbox ---- */
struct webhook_row {
	int64_t webhook_id; /* 0: new */
	struct span url;
	struct span format; /* "json", "cloudevents", or a template's name (alert/format.h) */
	struct span sealed_secret; /* by base/crypto.h with the server's key */
	enum severity minimum_severity;
	bool is_enabled;
	struct span team; /* "" or the only team whose jobs it hears of */
	int64_t created_ms;
	struct span events; /* "incident", "job_state": names with spaces between */
	int64_t heartbeat_ms; /* a message so often; 0: none */
	int64_t beat_ms; /* when the last one was written */
	int64_t per_minute; /* more messages than that are held, and told in one; 0: no limit */
	struct span report_at, report_tz; /* a time of day as "07:30", "": no reports; a zone's name, "": UTC */
	int64_t report_due_ms; /* when the next one is; 0: there are none */
};
enum status store_put_webhook(struct store_tx *tx, struct webhook_row *row, struct error *err) MUST_CHECK;
enum status store_read_webhooks(struct store_reader *reader, struct arena *arena, struct webhook_row **out,
	size_t *count, struct error *err) MUST_CHECK;
enum status store_read_webhook(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	struct webhook_row *out, struct error *err) MUST_CHECK;
enum status store_delete_webhook(struct store_tx *tx, int64_t webhook_id, struct error *err) MUST_CHECK;

/* Of a heartbeat's delivery, whose job_id is 0. */
#define HEARTBEAT_INCIDENT UINT32_MAX
enum status store_delete_heartbeats(
	struct store_tx *tx, int64_t webhook_id, struct error *err) MUST_CHECK; /* pending */
enum delivery_state { DELIVERY_PENDING, DELIVERY_DONE, DELIVERY_DEAD };
struct delivery_row {
	int64_t delivery_id; /* 0: new */
	int64_t webhook_id;
	int64_t job_id;
	uint32_t incident_id;
	struct span message_id; /* Standard Webhooks' webhook-id: the same in every retry */
	struct span payload;
	enum delivery_state state;
	uint32_t attempts;
	int64_t created_ms;
	int64_t next_ms; /* due */
	int64_t done_ms;
	int32_t last_code; /* HTTP status of the last attempt; 0: none came */
	struct span last_error;
};
enum status store_put_delivery(struct store_tx *tx, struct delivery_row *row, struct error *err) MUST_CHECK;
/* Due at now_ms, oldest first; none whose (webhook, incident) has an older one pending: order holds within these. */
enum status store_read_due_deliveries(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	int64_t now_ms, size_t limit, struct delivery_row **out, size_t *count, struct error *err) MUST_CHECK;
/* When the webhook's next pending one is due; INT64_MAX: none is pending. */
enum status store_next_delivery_ms(
	struct store_reader *reader, int64_t webhook_id, int64_t *next_ms, struct error *err) MUST_CHECK;
/* When the oldest of the done and dead was settled; INT64_MAX: there is none. */
enum status store_oldest_settled_ms(struct store_reader *reader, int64_t *done_ms, struct error *err) MUST_CHECK;
/* Deletes up to `limit` that were settled before that. */
enum status store_delete_settled(struct store_tx *tx, int64_t before_ms, size_t limit, struct error *err) MUST_CHECK;
/* ERR_NOT_FOUND */
enum status store_read_delivery(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	int64_t delivery_id, struct delivery_row *out, struct error *err) MUST_CHECK;
enum status store_read_deliveries(struct store_reader *reader, struct arena *arena, int64_t webhook_id, size_t limit,
	struct delivery_row **out, size_t *count, struct error *err) MUST_CHECK;
/* The webhook's reports; newest first. */
enum status store_read_report_deliveries(struct store_reader *reader, struct arena *arena, int64_t webhook_id,
	size_t limit, struct delivery_row **out, size_t *count, struct error *err) MUST_CHECK;
/* What was told of one incident, to any webhook; newest first. */
enum status store_read_told(struct store_reader *reader, struct arena *arena, int64_t job_id, uint32_t incident_id,
	size_t limit, struct delivery_row **out, size_t *count, struct error *err) MUST_CHECK;
/* The same of all of a job's. */
enum status store_read_job_told(struct store_reader *reader, struct arena *arena, int64_t job_id, size_t limit,
	struct delivery_row **out, size_t *count, struct error *err) MUST_CHECK;
