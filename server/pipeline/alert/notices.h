/*
 * Job: who is told of an incident, and when: by the rule that takes it, each harm of a group once; what quiet hours, a rule or too
 *      many messages hold back is told in one message later. Heartbeats of webhooks.
 * Ownership: the caller's. Threads: said at each verb.
 */
#pragma once

#include "store/alerts.h"
#include "store/jobs.h"
#include "store/store.h"

struct pipeline;

/* Writer, in the incident's transaction, once its group is known. *has_deliveries is set when there is something to send. */
enum status notices_enqueue(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct incident_row *row, const struct incident_news *news, struct span team, bool *has_deliveries,
	struct error *err) MUST_CHECK;

/* Writer: all that is open of a job. */
enum status notices_read_open(struct store_tx *tx, struct arena *arena, int64_t job_id, struct incident_row **rows,
	size_t *count, struct error *err) MUST_CHECK;
/* Writer, in the transaction that took some of them away or closed them: whoever was told of one is told that it is over. */
enum status notices_hear_ends(struct pipeline *pipeline, struct store_tx *tx, struct arena *arena,
	const struct incident_row *rows, size_t count, struct span team, bool *has_deliveries,
	struct error *err) MUST_CHECK;

/* Maintenance thread, every few seconds: what has waited long enough. */
void notices_run(struct pipeline *pipeline, struct store_reader *reader);

/* Writer: a message of a webhook, into the outbox. incident_id 0: about none. *delivery_id may be NULL. */
enum status notices_put_message(struct store_tx *tx, int64_t webhook_id, int64_t job_id, uint32_t incident_id,
	struct span payload, int64_t now_ms, int64_t *delivery_id, struct error *err) MUST_CHECK;

/* As the number of an incident, of messages about a job's state: they are sent in their order. */
#define JOB_STATE_GROUP (UINT32_MAX - 1)
/* Of messages with what a restart needs (job_restart_notices.c). */
#define JOB_RESTART_GROUP (UINT32_MAX - 2)
/* Writer, in the transaction that gives the job this state, for a webhook that wants to hear of restarts: a notice that waits until
 * all lines of the failed job are extracted. is_old: it was over long before anybody told. */
enum status notices_enqueue_restart(
	struct store_tx *tx, int64_t webhook_id, const struct job_row *job, bool is_old, struct error *err) MUST_CHECK;
/* Maintenance thread: the messages of those that have waited. */
enum status notices_run_restarts(struct pipeline *pipeline, struct store_reader *reader, struct error *err) MUST_CHECK;

/* Writer, in the transaction that gives the job this state, once its history is written. */
enum status notices_enqueue_job_state(const struct pipeline *pipeline, struct store_tx *tx, const struct job_row *job,
	bool *has_deliveries, struct error *err) MUST_CHECK;

/* Maintenance thread: of those webhooks whose heartbeat is due. */
enum status notices_run_heartbeats(
	struct pipeline *pipeline, const struct webhook_row *webhooks, size_t count, struct error *err) MUST_CHECK;

/* Maintenance thread: a report of a day that is due; of several the next one at the next tick. */
void notices_run_reports(struct pipeline *pipeline, const struct webhook_row *webhooks, size_t count);
/* The report of the last 24 hours, now, beside those that are due; any thread that may wait. */
enum status pipeline_report_to_webhook(struct pipeline *pipeline, const struct webhook_row *webhook,
	int64_t *delivery_id, struct error *err) MUST_CHECK;

/* A message that says no more than that it is one. *delivery_id: of the webhook's log. */
enum status pipeline_test_webhook(
	struct pipeline *pipeline, int64_t webhook_id, int64_t *delivery_id, struct error *err) MUST_CHECK;
