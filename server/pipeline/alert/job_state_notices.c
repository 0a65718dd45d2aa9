/* Changes of a job's state, for the webhooks that want them. */
#include "base/clock.h"
#include "base/crypto.h"
#include "pipeline/alert/notices.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/jobs.h"
#include "store/transitions.h"

#include <stdio.h>

enum { MESSAGE_MAX_BYTES = 1 << 20 };

/* When the job came into its state. */
static int64_t state_ms(const struct job_row *job, const struct transition_row *rows, size_t count)
{
	return job->ended_ms ? job->ended_ms : count ? rows[count - 1].start_ms : job->created_ms;
}

/* Told once: the same state, told by another, is no change. What is over for long is no news, unless what came before it was told:
 * who heard that a job began hears how it ends. */
static enum status is_new_state(
	struct store_tx *tx, int64_t webhook_id, const struct job_row *job, bool is_old, bool *out, struct error *err)
{
	struct notice_row notice = {.webhook_id = webhook_id,
		.job_id = job->job_id,
		.group_id = JOB_STATE_GROUP,
		.rule_id = (int64_t)((span_hash(job->secondary) ^ span_hash(job->status) * 31) >> 1),
		.state = NOTICE_OVER,
		.told_ms = clock_wall_ms()};
	struct notice_row known = notice;
	bool is_there;

	TRY(store_read_notice(store_tx_reader(tx), &known, &is_there, err));
	*out = is_there ? known.rule_id != notice.rule_id : !is_old;
	return *out ? store_put_notice(tx, &notice, err) : OK;
}

static enum status tell(const struct pipeline *pipeline, struct store_tx *tx, int64_t webhook_id,
	const struct job_row *job, const struct transition_row *rows, size_t count, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);
	struct rule_place place = {pipeline->options.aws_region, pipeline->options.aws_account};
	int64_t now_ms = clock_wall_ms();
	char id[UUID_BYTES + 1];

	crypto_uuid(id);
	TRY(rule_write_state_change(job, rows, count, &place, id, now_ms, &message, err));
	return notices_put_message(tx, webhook_id, job->job_id, JOB_STATE_GROUP, buf_span(&message), now_ms, NULL, err);
}

enum status notices_enqueue_job_state(const struct pipeline *pipeline, struct store_tx *tx, const struct job_row *job,
	bool *has_deliveries, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct transition_row *rows;
	struct webhook_row *webhooks;
	size_t count, row_count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_webhooks(store_tx_reader(tx), arena, &webhooks, &count, err));
	if (!count)
		return OK;
	TRY(store_read_transitions(store_tx_reader(tx), arena, job->job_id, &rows, &row_count, err));
	bool is_old = state_ms(job, rows, row_count) < job->modified_ms - HISTORIC_MS;
	for (size_t i = 0; i < count; i++) {
		bool is_its_team = !webhooks[i].team.len || span_equal(webhooks[i].team, job->team), is_new;
		if (!webhooks[i].is_enabled || !is_its_team)
			continue;
		if (span_find(webhooks[i].events, SPAN("restart")) >= 0)
			TRY(notices_enqueue_restart(tx, webhooks[i].webhook_id, job, is_old, err));
		if (span_find(webhooks[i].events, SPAN("job_state")) < 0)
			continue;
		TRY(is_new_state(tx, webhooks[i].webhook_id, job, is_old, &is_new, err));
		if (!is_new)
			continue;
		TRY(tell(pipeline, tx, webhooks[i].webhook_id, job, rows, row_count, err));
		*has_deliveries = true;
	}
	return OK;
}
