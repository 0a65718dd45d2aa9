/*
 * The report of a day, for the webhooks that want it: when it is due the maintenance thread gathers it, and the writer puts it into the outbox
 * together with the time of the next one. So it is told once, whatever is started again or taken over in between. docs/report.md.
 */
#include "alert/rule.h"
#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/log.h"
#include "pipeline/alert/notices.h"
#include "pipeline/alert/report_message.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"

enum {
	MESSAGE_MAX_BYTES = 1 << 20,
	AGAIN_MS = 3600 * 1000,
	PUT_OFF_MS = 60 * 1000,
	SPAN_MS = 24 * 3600 * 1000,
	TOLD_READ = 32
};

struct telling {
	struct pipeline *pipeline;
	const struct webhook_row *webhook; /* as it was when the report was made */
	struct span message; /* "": nothing is told */
	bool moves_on; /* the next one is due then; else the webhook stays as it is */
	int64_t next_ms;
	int64_t delivery_id; /* 0: nothing was put */
};

static enum status put(void *context, struct store_tx *tx, struct error *err)
{
	struct telling *telling = context;
	const struct webhook_row *known = telling->webhook;
	AUTO(arena) arena = arena_new();
	struct webhook_row now;

	telling->delivery_id = 0;
	if (!arena)
		return error_no_memory(err);
	TRY(store_read_webhook(store_tx_reader(tx), arena, known->webhook_id, &now, err));
	bool is_same = now.report_due_ms == known->report_due_ms && now.is_enabled == known->is_enabled &&
		       span_equal(now.team, known->team);
	if (telling->moves_on && !is_same)
		return OK; /* it was changed meanwhile: the next look is at what it is now */
	if (telling->message.len)
		TRY(notices_put_message(
			tx, now.webhook_id, 0, 0, telling->message, clock_wall_ms(), &telling->delivery_id, err));
	if (!telling->moves_on)
		return OK;
	now.report_due_ms = telling->next_ms;
	return store_put_webhook(tx, &now, err);
}

static enum status tell(struct telling *telling, struct error *err)
{
	struct pipeline *pipeline = telling->pipeline;

	TRY(writer_execute(pipeline, put, telling, err));
	if (telling->delivery_id && pipeline->options.deliveries_due)
		pipeline->options.deliveries_due(pipeline->options.context);
	return OK;
}

/* How far the last one that was due told, as its message says; 0: none is kept. Those that were asked for are beside these. */
static enum status find_told(const struct telling *telling, int64_t *told_to_ms, struct error *err)
{
	AUTO(store_reader) reader = NULL;
	AUTO(arena) arena = arena_new();
	struct delivery_row *rows;
	size_t count;

	*told_to_ms = 0;
	if (!arena)
		return error_no_memory(err);
	TRY(store_reader_new(&reader, telling->pipeline->options.store, err));
	TRY(store_read_report_deliveries(reader, arena, telling->webhook->webhook_id, TOLD_READ, &rows, &count, err));
	for (size_t i = 0; i < count && !*told_to_ms; i++) {
		AUTO(json) message = NULL;
		TRY(json_parse(&message, rows[i].payload, err));
		TRY(json_want_i64(json_get(message, "data"), "due_ms", told_to_ms, err));
	}
	return OK;
}

static enum status write_due(
	const struct telling *telling, struct report_plan *plan, struct buf *message, struct error *err)
{
	int64_t told_to_ms;

	TRY(find_told(telling, &told_to_ms, err));
	report_plan_after(plan, told_to_ms);
	return report_write_message(telling->pipeline, telling->webhook, plan, message, err);
}

/* Nothing in the message: the clock was wrong, and only the next one is reckoned anew. */
static enum status make(struct telling *telling, int64_t now_ms, struct buf *message, struct error *err)
{
	struct report_plan plan;

	telling->next_ms = now_ms + AGAIN_MS; /* of what cannot be made */
	TRY(report_plan(telling->webhook, now_ms, &plan, err));
	if (plan.is_told)
		TRY(write_due(telling, &plan, message, err));
	telling->next_ms = plan.next_ms;
	return OK;
}

static struct report_wait *find_wait(struct pipeline *pipeline, const struct webhook_row *webhook)
{
	for (size_t i = 0; i < REPORT_WAITS_MAX; i++) {
		struct report_wait *wait = &pipeline->report_waits[i];
		if (wait->webhook_id == webhook->webhook_id && wait->due_ms == webhook->report_due_ms)
			return wait;
	}
	return NULL;
}

/* It stays due, of the same time: what failed passes. If more wait than there are places, the first of them are tried sooner. */
static void put_off(struct pipeline *pipeline, const struct webhook_row *webhook, const struct error *why)
{
	struct report_wait *wait = find_wait(pipeline, webhook);

	if (!wait) {
		wait = &pipeline->report_waits[pipeline->report_waits_used++ % REPORT_WAITS_MAX];
		*wait = (struct report_wait){.webhook_id = webhook->webhook_id, .due_ms = webhook->report_due_ms};
		log_line(LOG_WARNING, "report_put_off", "webhook=%lld error=\"%s\"", (long long)webhook->webhook_id,
			why->text);
	}
	wait->until_ms = clock_mono_ms() + PUT_OFF_MS;
}

static bool is_put_off(struct pipeline *pipeline, const struct webhook_row *webhook)
{
	const struct report_wait *wait = find_wait(pipeline, webhook);

	return wait && clock_mono_ms() < wait->until_ms;
}

static void look_at(struct pipeline *pipeline, const struct webhook_row *webhook, int64_t now_ms)
{
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);
	struct telling telling = {.pipeline = pipeline, .webhook = webhook, .moves_on = true, .message = SPAN("")};
	struct error why = {0};
	enum status status = make(&telling, now_ms, &message, &why);

	if (status == ERR_UNAVAILABLE || status == ERR_BUSY || status == ERR_MEMORY) {
		put_off(pipeline, webhook, &why);
		return;
	}
	if (status == OK)
		telling.message = buf_span(&message);
	else /* it would be the same the next time, and keep others from being told */
		log_line(LOG_WARNING, "report_not_told", "webhook=%lld error=\"%s\"", (long long)webhook->webhook_id,
			why.text);
	status = tell(&telling, &why);
	if (status != OK && status != ERR_NOT_FOUND) /* deleted meanwhile */
		put_off(pipeline, webhook, &why);
}

void notices_run_reports(struct pipeline *pipeline, const struct webhook_row *webhooks, size_t count)
{
	int64_t now_ms = writer_settled_ms(pipeline); /* it waits for what the writer was at when its time was over */

	for (size_t i = 0; i < count; i++)
		if (report_is_due(&webhooks[i], now_ms) && !is_put_off(pipeline, &webhooks[i])) {
			look_at(pipeline, &webhooks[i], now_ms);
			return; /* one may take seconds, and this thread has more to do: the next one has the next tick */
		}
}

enum status pipeline_report_to_webhook(
	struct pipeline *pipeline, const struct webhook_row *webhook, int64_t *delivery_id, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);
	struct telling telling = {.pipeline = pipeline, .webhook = webhook};
	int64_t to_ms = writer_settled_ms(pipeline);

	TRY(report_write_message(
		pipeline, webhook, &(struct report_plan){.from_ms = to_ms - SPAN_MS, .to_ms = to_ms}, &message, err));
	telling.message = buf_span(&message);
	TRY(tell(&telling, err));
	*delivery_id = telling.delivery_id;
	return OK;
}
