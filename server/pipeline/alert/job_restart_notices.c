/*
 * What the restart of a failed job needs, for webhooks that want it: read once all lines are extracted, as a newer checkpoint may be in the
 * last ones; so the notice waits, and the maintenance thread reads, not the writer. docs/restarts.md.
 */
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/alert/notices.h"
#include "read/restarts/restart_read.h"
#include "read/view.h"
#include "state/execute.h"
#include "state/pipeline_state.h"
#include "store/alerts.h"
#include "store/jobs.h"

enum {
	MESSAGE_MAX_BYTES = 1 << 20,
	AT_ONCE = 100,
	AGAIN_MS = 1000,
	LONGEST_WAIT_MS = 5 * 60 * 1000 /* then it is told without the last lines, and says so */
};

/* As the rule of its notice, which no rule has: the failure is known. */
static const int64_t FAILED = -1;

/* A failure is told once: until the job was in another state. */
enum status notices_enqueue_restart(
	struct store_tx *tx, int64_t webhook_id, const struct job_row *job, bool is_old, struct error *err)
{
	int64_t now_ms = clock_wall_ms();
	struct notice_row notice = {.webhook_id = webhook_id, .job_id = job->job_id, .group_id = JOB_RESTART_GROUP};
	bool has_failed = span_equal(job->status, SPAN("Failed")), is_there;

	TRY(store_read_notice(store_tx_reader(tx), &notice, &is_there, err));
	bool is_known = is_there && notice.rule_id == FAILED;
	if (has_failed == is_known || (!is_there && is_old))
		return OK;
	notice.rule_id = has_failed ? FAILED : 0;
	notice.state = has_failed ? NOTICE_WAITING : NOTICE_OVER;
	notice.due_ms = notice.told_ms = now_ms;
	return store_put_notice(tx, &notice, err);
}

/* ---- the message ---- */

struct telling {
	struct pipeline *pipeline;
	struct notice_row notice;
	struct buf *message; /* NULL: nothing is told */
	bool is_over; /* it does not wait any more */
};

static enum status put(void *context, struct store_tx *tx, struct error *err)
{
	const struct telling *telling = context;
	struct notice_row notice = telling->notice;
	int64_t now_ms = clock_wall_ms();
	bool is_there;

	TRY(store_read_notice(store_tx_reader(tx), &notice, &is_there, err));
	if (!is_there || notice.state != NOTICE_WAITING)
		return OK; /* the job was deleted, or goes on */
	if (telling->message)
		TRY(notices_put_message(tx, notice.webhook_id, notice.job_id, JOB_RESTART_GROUP,
			buf_span(telling->message), now_ms, NULL, err));
	notice.state = telling->is_over ? NOTICE_OVER : NOTICE_WAITING;
	notice.due_ms = now_ms + AGAIN_MS;
	notice.told_ms = telling->is_over ? now_ms : notice.told_ms;
	return store_put_notice(tx, &notice, err);
}

/* is_over and no message: somebody went on with it already, or nobody is to be told any more. */
static enum status make(struct telling *telling, struct store_reader *reader, struct arena *arena,
	const struct webhook_row *webhook, struct buf *message, struct error *err)
{
	struct restart r = {.pipeline = telling->pipeline,
		.reader = reader,
		.arena = arena,
		.now_ms = clock_wall_ms(),
		.team = webhook->team};
	struct job_row job;

	telling->is_over = span_find(webhook->events, SPAN("restart")) < 0;
	if (telling->is_over)
		return OK;
	TRY(store_read_job_by_id(reader, arena, telling->notice.job_id, &job, err));
	TRY(view_read_job(telling->pipeline, reader, arena, job.name, SPAN(""), SPAN(""), 0, &r.view, err));
	bool is_late = r.now_ms > telling->notice.told_ms + LONGEST_WAIT_MS;
	if (!restart_is_extracted(&r.view) && !is_late)
		return OK;
	TRY(restart_read(&r, err));
	telling->is_over = true;
	if (!restart_is_due(&r))
		return OK;
	TRY(restart_write_message(&r, telling->pipeline->options.public_url, message, err));
	telling->message = message;
	return OK;
}

static enum status tell(struct pipeline *pipeline, struct store_reader *reader, const struct notice_row *notice,
	bool *has_deliveries, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);
	struct telling telling = {.pipeline = pipeline, .notice = *notice};
	struct webhook_row webhook = {.events = SPAN("")};
	struct error why = {0};

	if (!arena)
		return error_no_memory(err);
	enum status status = store_read_webhook(reader, arena, notice->webhook_id, &webhook, &why);
	if (status == OK)
		status = make(&telling, reader, arena, &webhook, &message, &why);
	if (status == ERR_UNAVAILABLE || status == ERR_MEMORY)
		return error_set(err, status, "%s", why.text);
	if (status != OK) { /* it would be the same the next time, and keep others from being told */
		if (status != ERR_NOT_FOUND)
			log_line(LOG_WARNING, "restart_not_told", "webhook=%lld error=\"%s\"",
				(long long)notice->webhook_id, why.text);
		telling.is_over = true;
	}
	TRY(writer_execute(pipeline, put, &telling, err));
	*has_deliveries = *has_deliveries || telling.message;
	return OK;
}

enum status notices_run_restarts(struct pipeline *pipeline, struct store_reader *reader, struct error *err)
{
	AUTO(arena) arena = arena_new();
	int64_t now_ms = clock_wall_ms(), next_ms;
	struct notice_row *rows;
	bool has_deliveries = false;
	size_t count;

	if (!arena)
		return error_no_memory(err);
	TRY(store_next_notice_ms(reader, &next_ms, err));
	if (next_ms > now_ms)
		return OK;
	TRY(store_read_group_due_notices(reader, arena, JOB_RESTART_GROUP, now_ms, AT_ONCE, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		TRY(tell(pipeline, reader, &rows[i], &has_deliveries, err));
	if (has_deliveries && pipeline->options.deliveries_due)
		pipeline->options.deliveries_due(pipeline->options.context);
	return OK;
}
