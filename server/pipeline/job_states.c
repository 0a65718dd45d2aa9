/* Changes of a job's state, for the webhooks that want them. */
#include "pipeline/notices.h"

#include "base/crypto.h"

#include <stdio.h>

enum { MESSAGE_MAX_BYTES = 1 << 20 };

/* Told once: the same state, told by another, is no change. */
static enum status is_new_state(
	struct store_tx *tx, int64_t webhook_id, const struct job_row *job, bool *out, struct error *err)
{
	struct notice_row notice = {.webhook_id = webhook_id,
		.job_id = job->job_id,
		.group_id = JOB_STATE_GROUP,
		.rule_id = (int64_t)((span_hash(job->secondary) ^ span_hash(job->status) * 31) >> 1),
		.state = NOTICE_OVER,
		.told_ms = clock_wall_ms()};
	struct notice_row known;
	bool is_there;

	TRY(store_read_notice(store_tx_reader(tx), webhook_id, job->job_id, JOB_STATE_GROUP, &known, &is_there, err));
	*out = !is_there || known.rule_id != notice.rule_id;
	return *out ? store_put_notice(tx, &notice, err) : OK;
}

static enum status tell(
	struct store_tx *tx, struct arena *arena, int64_t webhook_id, const struct job_row *job, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);
	struct transition_row *rows;
	int64_t now_ms = clock_wall_ms();
	char id[UUID_BYTES + 1];
	size_t count;

	crypto_uuid(id);
	TRY(store_read_transitions(store_tx_reader(tx), arena, job->job_id, &rows, &count, err));
	TRY(rule_write_state_change(job, rows, count, id, now_ms, &message, err));
	return notices_put_message(tx, webhook_id, job->job_id, JOB_STATE_GROUP, buf_span(&message), now_ms, NULL, err);
}

enum status job_states_hear(struct store_tx *tx, const struct job_row *job, bool *has_deliveries, struct error *err)
{
	AUTO(arena) arena = arena_new();
	struct webhook_row *webhooks;
	size_t count;

	if (!arena)
		return error_set(err, ERR_MEMORY, "out of memory");
	if (job->ended_ms && job->ended_ms < job->modified_ms - HISTORIC_MS)
		return OK;
	TRY(store_read_webhooks(store_tx_reader(tx), arena, &webhooks, &count, err));
	for (size_t i = 0; i < count; i++) {
		bool is_its_team = !webhooks[i].team.len || span_equal(webhooks[i].team, job->team), is_new;
		if (!webhooks[i].is_enabled || !is_its_team || span_find(webhooks[i].events, SPAN("job_state")) < 0)
			continue;
		TRY(is_new_state(tx, webhooks[i].webhook_id, job, &is_new, err));
		if (!is_new)
			continue;
		TRY(tell(tx, arena, webhooks[i].webhook_id, job, err));
		*has_deliveries = true;
	}
	return OK;
}
