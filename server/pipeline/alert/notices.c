#include "pipeline/alert/notices.h"

#include "base/clock.h"
#include "base/crypto.h"
#include "base/log.h"
#include "model/incident.h"
#include "pipeline/alert/rule_match.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/jobs.h"

enum { MESSAGE_MAX_BYTES = 256 * 1024, MINUTE_MS = 60000, DUE_AT_ONCE = 2000, DIGEST_SHOWN = 50, LOST_MAX = 4096 };
enum { AGAIN_MS = 5 * MINUTE_MS }; /* what comes again after it was told is told again when it stays for so long */

/* ---- messages ---- */

enum status notices_put_message(struct store_tx *tx, int64_t webhook_id, int64_t job_id, uint32_t incident_id,
	struct span payload, int64_t now_ms, int64_t *delivery_id, struct error *err)
{
	unsigned char random[16];
	char id[5 + 2 * sizeof random] = "msg_";

	crypto_random(random, sizeof random);
	crypto_hex(random, sizeof random, id + 4);
	struct delivery_row delivery = {.webhook_id = webhook_id,
		.job_id = job_id,
		.incident_id = incident_id,
		.message_id = span_from(id),
		.payload = payload,
		.state = DELIVERY_PENDING,
		.created_ms = now_ms,
		.next_ms = now_ms,
		.last_error = SPAN("")};
	TRY(store_put_delivery(tx, &delivery, err));
	if (delivery_id)
		*delivery_id = delivery.delivery_id;
	return OK;
}

/* Messages of one group are sent in their order. */
static enum status put_incident(struct pipeline *pipeline, struct store_tx *tx, int64_t webhook_id,
	const struct incident_row *row, int64_t now_ms, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);

	rule_write_message(row, pipeline->options.public_url, now_ms, &message);
	TRY(buf_status(&message, err));
	return notices_put_message(
		tx, webhook_id, row->job_id, incident_group(row), buf_span(&message), now_ms, NULL, err);
}

/* ---- what holds a message back ---- */

static enum status is_over_limit(
	struct store_tx *tx, const struct webhook_row *webhook, int64_t now_ms, bool *out, struct error *err)
{
	uint64_t sent = 0;

	if (webhook->per_minute)
		TRY(store_count_deliveries(store_tx_reader(tx), webhook->webhook_id, now_ms - MINUTE_MS, &sent, err));
	*out = webhook->per_minute && sent >= (uint64_t)webhook->per_minute;
	return OK;
}

/* *due_ms: until when it is held; 0: it is told now. */
static enum status hold(struct store_tx *tx, const struct rule *rule, const struct webhook_row *webhook,
	enum severity severity, int64_t now_ms, int64_t *due_ms, struct error *err)
{
	bool is_loud = rule->quiet.is_broken_by_critical && severity == SEVERITY_CRITICAL, is_over;

	*due_ms = is_loud ? 0 : quiet_until_ms(&rule->quiet, now_ms);
	if (*due_ms)
		return OK;
	if (rule->collect_ms) {
		*due_ms = (now_ms / rule->collect_ms + 1) * rule->collect_ms;
		return OK;
	}
	TRY(is_over_limit(tx, webhook, now_ms, &is_over, err));
	*due_ms = is_over ? now_ms + MINUTE_MS - now_ms % MINUTE_MS : 0;
	return OK;
}

/* ---- an incident, for all webhooks ---- */

struct hearing {
	struct pipeline *pipeline;
	struct store_tx *tx;
	const struct incident_row *row;
	const struct incident_news *news;
	struct span team;
	struct rule_set *rules;
	struct webhook_row *webhooks;
	size_t webhook_count;
	signed char *is_of_job; /* by rule: -1: not asked yet */
	int64_t now_ms;
	bool has_deliveries;
};

static enum status is_of_job(struct hearing *h, size_t i, bool *out, struct error *err)
{
	bool is_match = h->is_of_job[i] == 1;

	if (h->is_of_job[i] < 0) {
		TRY(rules_match_job(rule_set_get(h->rules, i), h->tx, h->row->job, &is_match, err));
		h->is_of_job[i] = is_match;
	}
	*out = is_match;
	return OK;
}

/* The one that was made last: a narrower rule is an exception of those before it, for its own webhooks or, when it is exclusive,
 * for all. */
static enum status choose(struct hearing *h, int64_t webhook_id, const struct rule **out, struct error *err)
{
	*out = NULL;
	for (size_t i = rule_set_count(h->rules); i-- > 0;) {
		const struct rule *rule = rule_set_get(h->rules, i);
		bool is_match = false, is_its = rule_serves(rule, webhook_id);
		if (!is_its && !rule_keeps(rule, h->webhooks, h->webhook_count))
			continue;
		if (rule_takes(rule, h->row, h->team))
			TRY(is_of_job(h, i, &is_match, err));
		if (!is_match)
			continue;
		*out = is_its ? rule : NULL;
		return OK;
	}
	return OK;
}

static enum status is_cooling(
	struct hearing *h, const struct rule *rule, int64_t webhook_id, bool *out, struct error *err)
{
	int64_t told_ms = INT64_MIN;

	if (rule->cool_down_ms)
		TRY(store_last_notice_ms(
			store_tx_reader(h->tx), webhook_id, h->row->job_id, rule->rule_id, &told_ms, err));
	*out = told_ms != INT64_MIN && told_ms > h->now_ms - rule->cool_down_ms;
	return OK;
}

/* notice: of the webhook, group and harm; what it was told of them so far goes on. */
static enum status tell(struct hearing *h, const struct rule *rule, const struct webhook_row *webhook,
	struct notice_row *notice, struct error *err)
{
	notice->incident_id = h->row->incident_id;
	notice->rule_id = rule->rule_id;
	notice->severity = h->row->incident.severity;
	notice->state = NOTICE_WAITING;
	if (notice->standing == NOTICE_STANDS_MUTED) /* it is there again */
		notice->standing = NOTICE_STANDS;
	notice->due_ms = h->now_ms + rule->persistence_ms;
	if (!rule->persistence_ms) {
		TRY(hold(h->tx, rule, webhook, notice->severity, h->now_ms, &notice->due_ms, err));
		notice->state = notice->due_ms ? NOTICE_HELD : NOTICE_TOLD;
	}
	if (notice->state == NOTICE_TOLD) {
		TRY(put_incident(h->pipeline, h->tx, webhook->webhook_id, h->row, h->now_ms, err));
		notice->told_ms = h->now_ms;
		notice->standing = NOTICE_STANDS;
		h->has_deliveries = true;
	}
	return store_put_notice(h->tx, notice, err);
}

/* What was held for the night alone may be grown to what breaks it. */
static enum status grow(struct hearing *h, struct notice_row *known, struct error *err)
{
	const struct rule *rule = rule_set_find(h->rules, known->rule_id);
	enum severity severity = h->row->incident.severity;

	if (known->severity >= severity)
		return OK;
	known->severity = severity;
	known->incident_id = h->row->incident_id;
	if (known->state == NOTICE_HELD && severity == SEVERITY_CRITICAL && rule && rule->quiet.is_broken_by_critical &&
		quiet_until_ms(&rule->quiet, h->now_ms) && known->due_ms > h->now_ms)
		known->due_ms = h->now_ms;
	return store_put_notice(h->tx, known, err);
}

/* It was told and is over, and is there again: silently, unless it stays. */
static enum status wait_again(struct hearing *h, struct notice_row *known, struct error *err)
{
	known->state = NOTICE_WAITING;
	known->incident_id = h->row->incident_id;
	known->due_ms = h->now_ms + AGAIN_MS;
	return store_put_notice(h->tx, known, err);
}

/* Opened, or grown to a severity that this webhook wants to hear of. */
static enum status hear_opening(struct hearing *h, const struct webhook_row *webhook, struct error *err)
{
	struct notice_row notice = {.webhook_id = webhook->webhook_id,
		.job_id = h->row->job_id,
		.group_id = incident_group(h->row),
		.harm = incident_kind_harm(h->row->incident.kind)};
	const struct rule *rule;
	int64_t muted_until_ms;
	bool is_known, is_quiet;

	TRY(store_read_notice(store_tx_reader(h->tx), &notice, &is_known, err));
	bool is_pending = is_known && (notice.state == NOTICE_HELD || notice.state == NOTICE_WAITING);
	bool was_told = is_known && notice.told_ms, is_worse = h->row->incident.severity > notice.severity;
	if (is_pending && !(was_told && is_worse && notice.state == NOTICE_WAITING))
		return grow(h, &notice, err);
	if (was_told && !is_worse)
		return notice.state == NOTICE_OVER ? wait_again(h, &notice, err) : OK;
	TRY(choose(h, webhook->webhook_id, &rule, err));
	if (!rule || !rule->tells)
		return OK;
	TRY(store_read_muted_until(store_tx_reader(h->tx), h->row, h->now_ms, &muted_until_ms, err));
	TRY(is_cooling(h, rule, webhook->webhook_id, &is_quiet, err));
	return muted_until_ms || is_quiet ? OK : tell(h, rule, webhook, &notice, err);
}

/* About what was told, not about the one that ended last. */
static enum status put_recovery(
	struct hearing *h, struct arena *arena, const struct notice_row *notice, struct error *err)
{
	struct incident_row row = *h->row;

	if (notice->incident_id != h->row->incident_id)
		TRY(store_read_incident(store_tx_reader(h->tx), arena, notice->job_id, notice->incident_id, &row, err));
	row.incident.state = INCIDENT_RECOVERED;
	row.incident.severity = notice->severity;
	h->has_deliveries = true;
	return put_incident(h->pipeline, h->tx, notice->webhook_id, &row, h->now_ms, err);
}

/* until_ms: of a mute, which the end of what was told outlasts; 0: it is told, or never will be. */
static void end_group_notice(struct notice_row *notice, int64_t until_ms)
{
	if (until_ms && notice->standing) {
		notice->state = NOTICE_WAITING;
		notice->standing = NOTICE_STANDS_MUTED;
		notice->due_ms = until_ms;
		return;
	}
	notice->standing = NOTICE_UNTOLD;
	if (notice->state != NOTICE_HELD) /* of that one the message will say how it stands */
		notice->state = NOTICE_OVER;
}

/* All of the group are closed: one recovery, of the worst that was told. */
static enum status hear_end(
	struct hearing *h, struct arena *arena, const struct webhook_row *webhook, struct error *err)
{
	const struct notice_row *worst = NULL;
	struct notice_row *notices;
	int64_t muted_until_ms;
	size_t count;

	TRY(store_read_group_notices(store_tx_reader(h->tx), arena, webhook->webhook_id, h->row->job_id,
		incident_group(h->row), &notices, &count, err));
	for (size_t i = 0; i < count; i++) {
		const struct rule *rule = rule_set_find(h->rules, notices[i].rule_id);
		bool is_wanted = notices[i].standing && (!rule || rule->tells_recovery);
		if (is_wanted && (!worst || notices[i].severity > worst->severity))
			worst = &notices[i];
	}
	TRY(store_read_muted_until(store_tx_reader(h->tx), h->row, h->now_ms, &muted_until_ms, err));
	if (worst && !muted_until_ms)
		TRY(put_recovery(h, arena, worst, err));
	bool is_kept = worst && muted_until_ms < INT64_MAX;
	for (size_t i = 0; i < count; i++) {
		end_group_notice(&notices[i], is_kept ? muted_until_ms : 0);
		TRY(store_put_notice(h->tx, &notices[i], err));
	}
	return OK;
}

static enum status hear_all(struct hearing *h, struct arena *arena, struct error *err)
{
	bool is_open = false;

	TRY(store_read_webhooks(store_tx_reader(h->tx), arena, &h->webhooks, &h->webhook_count, err));
	if (h->news->has_ended)
		TRY(store_is_group_open(
			store_tx_reader(h->tx), h->row->job_id, incident_group(h->row), 0, &is_open, err));
	for (size_t i = 0; i < h->webhook_count; i++) {
		const struct webhook_row *webhook = &h->webhooks[i];
		bool is_opening = (h->news->is_new || h->news->is_raised) && h->row->incident.state == INCIDENT_OPEN;
		if (is_opening && span_find(webhook->events, SPAN("incident")) >= 0 &&
			webhook_wants(webhook, h->row, h->team))
			TRY(hear_opening(h, webhook, err));
		if (h->news->has_ended && !is_open) /* also of one that is off: its messages wait */
			TRY(hear_end(h, arena, webhook, err));
	}
	return OK;
}

enum status notices_enqueue(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct incident_row *row, const struct incident_news *news, struct span team, bool *has_deliveries,
	struct error *err)
{
	struct hearing h = {.pipeline = pipeline, .tx = tx, .row = row, .news = news, .team = team};

	h.now_ms = clock_wall_ms();
	h.rules = pipeline_rules(pipeline);
	size_t count = rule_set_count(h.rules);
	h.is_of_job = arena_alloc(arena, count + 1);
	if (h.is_of_job)
		memset(h.is_of_job, -1, count + 1);
	enum status status = h.is_of_job ? hear_all(&h, arena, err) : error_no_memory(err);
	rule_set_unref(h.rules);
	*has_deliveries = h.has_deliveries;
	return status;
}

/* ---- what a back-fill ended ---- */

enum status notices_read_open(struct store_tx *tx, struct arena *arena, int64_t job_id, struct incident_row **rows,
	size_t *count, struct error *err)
{
	struct incident_filter filter = {.has_all = true,
		.job_id = job_id,
		.state = INCIDENT_OPEN,
		.kind = -1,
		.cursor = SPAN(""),
		.limit = LOST_MAX};
	struct span next;

	return store_read_incidents(store_tx_reader(tx), arena, &filter, rows, count, &next, err);
}

enum status notices_hear_ends(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct incident_row *rows, size_t count, struct span team, bool *has_deliveries, struct error *err)
{
	static const struct incident_news ended = {.has_ended = true};

	for (size_t i = count; i-- > 0;) { /* the oldest first: it stands for its group */
		struct incident_row row;
		bool has_own = false;
		TRY(store_read_incident(store_tx_reader(tx), arena, rows[i].job_id, rows[i].incident_id, &row, err));
		if (row.incident.is_historic || row.incident.state == INCIDENT_OPEN)
			continue;
		TRY(notices_enqueue(pipeline, tx, arena, &row, &ended, team, &has_own, err));
		*has_deliveries |= has_own;
	}
	return OK;
}

/* ---- what has waited ---- */

struct due {
	struct pipeline *pipeline;
	struct rule_set *rules;
	int64_t now_ms;
	bool has_deliveries;
	/* of the webhook at hand */
	struct webhook_row webhook;
	struct incident_row *held;
	struct notice_row *notices;
	size_t held_count;
};

static enum status end_notice(struct store_tx *tx, struct notice_row *notice, struct error *err)
{
	notice->state = NOTICE_OVER;
	return store_put_notice(tx, notice, err);
}

/* What was told of it goes on to be so. */
static enum status stand_on(struct store_tx *tx, struct notice_row *notice, struct error *err)
{
	notice->state = NOTICE_TOLD;
	notice->standing = NOTICE_STANDS;
	return store_put_notice(tx, notice, err);
}

static enum status is_harm_open(struct store_tx *tx, const struct notice_row *notice, bool *is_open, struct error *err)
{
	return store_is_group_open(
		store_tx_reader(tx), notice->job_id, notice->group_id, incident_harm_kinds(notice->harm), is_open, err);
}

/* By the rules that there are now; *rule is NULL when none tells it. */
static enum status choose_again(struct due *due, struct store_tx *tx, const struct notice_row *notice,
	const struct incident_row *row, const struct rule **rule, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct hearing h = {
		.pipeline = due->pipeline, .tx = tx, .row = row, .rules = due->rules, .now_ms = due->now_ms};
	struct job_row job;
	bool is_quiet = false;

	if (!arena || !(h.is_of_job = arena_alloc(arena, rule_set_count(h.rules) + 1)))
		return error_no_memory(err);
	memset(h.is_of_job, -1, rule_set_count(h.rules) + 1);
	TRY(store_read_job_by_id(store_tx_reader(tx), arena, notice->job_id, &job, err));
	h.team = job.team;
	TRY(store_read_webhooks(store_tx_reader(tx), arena, &h.webhooks, &h.webhook_count, err));
	TRY(choose(&h, notice->webhook_id, rule, err));
	if (*rule && (*rule)->tells)
		TRY(is_cooling(&h, *rule, notice->webhook_id, &is_quiet, err));
	if (*rule && (!(*rule)->tells || is_quiet))
		*rule = NULL;
	return OK;
}

/* Its rule was changed or deleted: what was told before has waited as long as it must, the rest as its new rule says. */
static enum status adopt(struct due *due, struct store_tx *tx, struct notice_row *notice,
	const struct incident_row *row, const struct rule **rule, struct error *err)
{
	TRY(choose_again(due, tx, notice, row, rule, err));
	notice->rule_id = *rule ? (*rule)->rule_id : 0;
	if (*rule && !notice->told_ms)
		notice->due_ms += (*rule)->persistence_ms;
	return OK;
}

/* It has lasted, or it has not. */
static enum status end_waiting(struct due *due, struct store_tx *tx, struct notice_row *notice,
	const struct incident_row *row, struct error *err)
{
	const struct rule *rule = rule_set_find(due->rules, notice->rule_id);
	bool is_open;

	TRY(is_harm_open(tx, notice, &is_open, err));
	if (is_open && !rule)
		TRY(adopt(due, tx, notice, row, &rule, err));
	if (!is_open || !rule || !rule->is_enabled || !rule->tells)
		return end_notice(tx, notice, err);
	if (notice->due_ms > due->now_ms)
		return store_put_notice(tx, notice, err);
	TRY(hold(tx, rule, &due->webhook, notice->severity, due->now_ms, &notice->due_ms, err));
	notice->state = notice->due_ms ? NOTICE_HELD : NOTICE_TOLD;
	if (notice->state == NOTICE_TOLD) {
		TRY(put_incident(due->pipeline, tx, notice->webhook_id, row, due->now_ms, err));
		notice->told_ms = due->now_ms;
		notice->standing = NOTICE_STANDS;
		due->has_deliveries = true;
	}
	return store_put_notice(tx, notice, err);
}

/* The mute is over, or goes on: an end that waited for it, of all that was told of the group. */
static enum status end_muted(struct due *due, struct store_tx *tx, struct arena *arena, struct notice_row *notice,
	const struct incident_row *row, struct error *err)
{
	struct hearing h = {
		.pipeline = due->pipeline, .tx = tx, .row = row, .rules = due->rules, .now_ms = due->now_ms};
	bool is_there, is_open;

	TRY(store_read_notice(store_tx_reader(tx), notice, &is_there, err));
	if (!is_there || !notice->standing)
		return OK; /* told with another harm of the group */
	TRY(store_is_group_open(store_tx_reader(tx), notice->job_id, notice->group_id, 0, &is_open, err));
	if (!is_open) {
		TRY(hear_end(&h, arena, &due->webhook, err));
		due->has_deliveries |= h.has_deliveries;
		return OK;
	}
	return stand_on(tx, notice, err); /* it is there again, and its end was never told */
}

static enum status look_at(
	struct due *due, struct store_tx *tx, struct arena *arena, struct notice_row *notice, struct error *err)
{
	struct incident_row row = {0};

	if (notice->group_id == JOB_RESTART_GROUP)
		return OK; /* notices_run_restarts */
	enum status status =
		store_read_incident(store_tx_reader(tx), arena, notice->job_id, notice->incident_id, &row, err);

	/* the second: of a program that did not write yet which of the two it waits for */
	bool is_end =
		notice->state == NOTICE_WAITING &&
		(notice->standing == NOTICE_STANDS_MUTED || (notice->standing && row.incident.state != INCIDENT_OPEN));
	if (status == OK && is_end)
		return end_muted(due, tx, arena, notice, &row, err);
	if (status == ERR_NOT_FOUND || (status == OK && !due->webhook.is_enabled))
		return end_notice(tx, notice, err);
	TRY(status);
	int64_t muted_until_ms;
	bool is_open;
	TRY(store_read_muted_until(store_tx_reader(tx), &row, due->now_ms, &muted_until_ms, err));
	if (muted_until_ms) /* since it opened, or grew */
		return (notice->standing ? stand_on : end_notice)(tx, notice, err);
	row.incident.severity = notice->severity;
	if (notice->state == NOTICE_WAITING)
		return end_waiting(due, tx, notice, &row, err);
	TRY(is_harm_open(tx, notice, &is_open, err));
	row.incident.state = is_open ? INCIDENT_OPEN : INCIDENT_RECOVERED;
	due->held[due->held_count] = row;
	due->notices[due->held_count++] = *notice;
	return OK;
}

/* Of so many that the message is not too large: one that cannot be written would keep all others back. */
static enum status put_digest(struct due *due, struct store_tx *tx, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);

	for (size_t shown = DIGEST_SHOWN;; shown /= 2) {
		buf_reset(&message);
		rule_write_digest(
			due->held, due->held_count, shown, due->pipeline->options.public_url, due->now_ms, &message);
		if (message.failure != ERR_TOO_LARGE || !shown)
			break;
	}
	TRY(buf_status(&message, err));
	return notices_put_message(tx, due->webhook.webhook_id, 0, 0, buf_span(&message), due->now_ms, NULL, err);
}

/* Of a receiver that keeps what it was told open until it is told the end, by the group's key: one message of many has no such key. */
static enum status put_each(struct due *due, struct store_tx *tx, struct error *err)
{
	for (size_t i = 0; i < due->held_count; i++)
		if (due->held[i].incident.state == INCIDENT_OPEN)
			TRY(put_incident(due->pipeline, tx, due->webhook.webhook_id, &due->held[i], due->now_ms, err));
	return OK;
}

static enum status tell_held(struct due *due, struct store_tx *tx, struct error *err)
{
	if (!due->held_count)
		return OK;
	if (due->held_count == 1 && due->held[0].incident.state == INCIDENT_OPEN)
		TRY(put_each(due, tx, err));
	else
		TRY((span_equal(due->webhook.format, SPAN("pagerduty")) ? put_each : put_digest)(due, tx, err));
	due->has_deliveries = true;
	for (size_t i = 0; i < due->held_count; i++) {
		struct notice_row *notice = &due->notices[i];
		bool is_open = due->held[i].incident.state == INCIDENT_OPEN;
		notice->state = is_open ? NOTICE_TOLD : NOTICE_OVER;
		if (is_open)
			notice->standing = NOTICE_STANDS;
		notice->told_ms = due->now_ms;
		TRY(store_put_notice(tx, notice, err));
	}
	return OK;
}

static enum status open_webhook(
	struct due *due, struct store_tx *tx, struct arena *arena, int64_t webhook_id, struct error *err)
{
	due->held_count = 0;
	due->webhook = (struct webhook_row){.webhook_id = webhook_id};
	enum status status = store_read_webhook(store_tx_reader(tx), arena, webhook_id, &due->webhook, err);
	return status == ERR_NOT_FOUND ? OK : status; /* not enabled: what waits for it is over */
}

static enum status write_due_with(struct due *due, struct store_tx *tx, struct arena *arena, struct error *err)
{
	struct notice_row *rows;
	size_t count;

	TRY(store_read_due_notices(store_tx_reader(tx), arena, due->now_ms, DUE_AT_ONCE, &rows, &count, err));
	due->held = arena_alloc(arena, (count + 1) * sizeof *due->held);
	due->notices = arena_alloc(arena, (count + 1) * sizeof *due->notices);
	if (!due->held || !due->notices)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		if (i == 0 || rows[i].webhook_id != rows[i - 1].webhook_id) {
			TRY(tell_held(due, tx, err));
			TRY(open_webhook(due, tx, arena, rows[i].webhook_id, err));
		}
		TRY(look_at(due, tx, arena, &rows[i], err));
	}
	return tell_held(due, tx, err);
}

static enum status write_due(void *context, struct store_tx *tx, struct error *err)
{
	struct due *due = context;
	AUTO(arena) arena = arena_new();

	due->has_deliveries = false;
	due->held_count = 0;
	return arena ? write_due_with(due, tx, arena, err) : error_no_memory(err);
}

static enum status run_due(struct pipeline *pipeline, struct store_reader *reader, struct error *err)
{
	struct due due = {.pipeline = pipeline, .now_ms = clock_wall_ms()};
	int64_t next_ms;

	TRY(store_next_notice_ms(reader, &next_ms, err));
	if (next_ms > due.now_ms)
		return OK;
	due.rules = pipeline_rules(pipeline);
	enum status status = writer_execute(pipeline, write_due, &due, err);
	rule_set_unref(due.rules);
	if (status == OK && due.has_deliveries && pipeline->options.deliveries_due)
		pipeline->options.deliveries_due(pipeline->options.context);
	return status;
}

/* Heartbeats and the reports of days. */
static enum status run_by_clock(struct pipeline *pipeline, struct store_reader *reader, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct webhook_row *webhooks;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_webhooks(reader, arena, &webhooks, &count, err));
	TRY(notices_run_heartbeats(pipeline, webhooks, count, err));
	notices_run_reports(pipeline, webhooks, count);
	return OK;
}

void notices_run(struct pipeline *pipeline, struct store_reader *reader)
{
	struct error err;
	enum status status = notices_run_restarts(pipeline, reader, &err);

	if (status == OK)
		status = run_due(pipeline, reader, &err);
	if (status == OK)
		status = run_by_clock(pipeline, reader, &err);
	if (status != OK && status != ERR_UNAVAILABLE)
		log_line(LOG_WARNING, "notices_failed", "error=\"%s\"", err.text);
}
