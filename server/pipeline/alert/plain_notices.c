/*
 * Messages that are about no job: a webhook is tried out, or hears each so many minutes that the server is there.
 */
#include "alert/rule.h"
#include "base/clock.h"
#include "pipeline/alert/notices.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"

enum { MESSAGE_MAX_BYTES = 256 * 1024 };

/* ---- a message that is none ---- */

struct testing {
	struct pipeline *pipeline;
	int64_t webhook_id, delivery_id;
};

static enum status write_test(void *context, struct store_tx *tx, struct error *err)
{
	struct testing *testing = context;
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);
	struct webhook_row webhook;
	int64_t now_ms = clock_wall_ms();

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_webhook(store_tx_reader(tx), arena, testing->webhook_id, &webhook, err));
	rule_write_plain("webhook.test", "this is a test: the webhook is set up well",
		testing->pipeline->options.public_url, now_ms, &message);
	TRY(buf_status(&message, err));
	return notices_put_message(
		tx, testing->webhook_id, 0, 0, buf_span(&message), now_ms, &testing->delivery_id, err);
}

enum status pipeline_test_webhook(
	struct pipeline *pipeline, int64_t webhook_id, int64_t *delivery_id, struct error *err)
{
	struct testing testing = {.pipeline = pipeline, .webhook_id = webhook_id};

	TRY(writer_execute(pipeline, write_test, &testing, err));
	*delivery_id = testing.delivery_id;
	if (pipeline->options.deliveries_due)
		pipeline->options.deliveries_due(pipeline->options.context);
	return OK;
}

/* ---- heartbeats ---- */

static enum status beat(
	struct pipeline *pipeline, struct store_tx *tx, struct webhook_row *webhook, int64_t now_ms, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);

	rule_write_plain("server.heartbeat", "the server is well", pipeline->options.public_url, now_ms, &message);
	TRY(buf_status(&message, err));
	TRY(store_delete_heartbeats(tx, webhook->webhook_id, err)); /* one that did not get out is of no use any more */
	TRY(notices_put_message(tx, webhook->webhook_id, 0, HEARTBEAT_INCIDENT, buf_span(&message), now_ms, NULL, err));
	webhook->beat_ms = now_ms;
	return store_put_webhook(tx, webhook, err);
}

static bool is_beat_due(const struct webhook_row *webhook, int64_t now_ms)
{
	return webhook->is_enabled && webhook->heartbeat_ms &&
	       (now_ms >= webhook->beat_ms + webhook->heartbeat_ms || now_ms < webhook->beat_ms);
}

static enum status write_beats(void *context, struct store_tx *tx, struct error *err)
{
	struct pipeline *pipeline = context;
	AUTO(arena) arena = arena_new();
	int64_t now_ms = clock_wall_ms();
	struct webhook_row *webhooks;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_read_webhooks(store_tx_reader(tx), arena, &webhooks, &count, err));
	for (size_t i = 0; i < count; i++)
		if (is_beat_due(&webhooks[i], now_ms))
			TRY(beat(pipeline, tx, &webhooks[i], now_ms, err));
	return OK;
}

enum status notices_run_heartbeats(
	struct pipeline *pipeline, const struct webhook_row *webhooks, size_t count, struct error *err)
{
	int64_t now_ms = clock_wall_ms();
	bool is_due = false;

	for (size_t i = 0; i < count; i++)
		is_due = is_due || is_beat_due(&webhooks[i], now_ms);
	if (!is_due)
		return OK;
	TRY(writer_execute(pipeline, write_beats, pipeline, err));
	if (pipeline->options.deliveries_due)
		pipeline->options.deliveries_due(pipeline->options.context);
	return OK;
}
