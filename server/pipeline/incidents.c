/* What detectors said goes to the writer: the incident and its outbox rows in one transaction. */
#include "pipeline/internal.h"

#include "alert/rule.h"
#include "base/crypto.h"
#include "base/log.h"
#include "pipeline/emergency.h"
#include "store/faults.h"

#include <stdio.h>

enum { MESSAGE_MAX_BYTES = 64 * 1024, WEBHOOKS_MAX = 1000 };

struct said {
	struct control control;
	struct pipeline *pipeline;
	struct stream_state *stream; /* its job is counted */
	struct incident_row row; /* names live in the arena */
	struct series_row series;
	struct arena *arena;
	struct incident_told told;
};

static enum status add_delivery(const struct pipeline *pipeline, const struct incident_row *row,
	const struct webhook_row *webhook, struct store_tx *tx, struct error *err)
{
	AUTO_DONE(buf) message = BUF_INIT(MESSAGE_MAX_BYTES);
	unsigned char random[16];
	char id[5 + 2 * sizeof random] = "msg_";
	int64_t now_ms = clock_wall_ms();

	crypto_random(random, sizeof random);
	crypto_hex(random, sizeof random, id + 4);
	rule_write_message(row, pipeline->options.public_url, now_ms, &message);
	TRY(buf_status(&message, err));
	struct delivery_row delivery = {.webhook_id = webhook->webhook_id,
		.job_id = row->job_id,
		.incident_id = row->incident_id,
		.message_id = span_from(id),
		.payload = buf_span(&message),
		.state = DELIVERY_PENDING,
		.created_ms = now_ms,
		.next_ms = now_ms,
		.last_error = SPAN("")};
	return store_put_delivery(tx, &delivery, err);
}

/* From where a run that goes wrong can go on. What a failed commit had here is found anew. */
static enum status add_checkpoint(struct store_tx *tx, struct arena *arena, struct incident_row *row,
	struct incident_told *told, struct error *err)
{
	enum incident_kind kind = row->incident.kind;
	struct checkpoint_row *last;
	size_t count;

	if (row->facts.len ||
		(kind != INCIDENT_LOSS_SPIKE && kind != INCIDENT_DIVERGENCE && kind != INCIDENT_NON_FINITE))
		return OK;
	TRY(store_read_checkpoints(
		store_tx_reader(tx), arena, row->job_id, row->incident.opened_ms, 1, &last, &count, err));
	if (!count)
		return OK;
	snprintf(told->facts, sizeof told->facts,
		"\"last_checkpoint\":{\"step\":%lld,\"attempt\":%u,\"ts_ms\":%lld},\"action\":\"resume from the checkpoint of "
		"step %lld, and skip some batches\"",
		(long long)last->step, (unsigned)last->attempt, (long long)last->ts_ms, (long long)last->step);
	row->facts = span_from(told->facts);
	return OK;
}

enum status incidents_write(struct pipeline *pipeline, struct store_tx *tx, struct incident_row *row, struct span team,
	struct incident_told *told, struct error *err)
{
	AUTO(arena) arena = arena_new(); /* its own: a full disk has this run again and again */
	struct webhook_row *webhooks;
	struct incident_news news;
	size_t count;

	if (row->facts.ptr == told->facts)
		row->facts = SPAN("");
	*told = (struct incident_told){0};
	if (!arena)
		return error_set(err, ERR_MEMORY, "out of memory");
	TRY(add_checkpoint(tx, arena, row, told, err));
	TRY(store_put_incident(tx, row, &news, err));
	told->has_news = news.is_new || news.has_ended || news.is_raised;
	if (!told->has_news)
		return OK;
	if (news.is_new || news.is_raised)
		TRY(emergency_look(pipeline, tx, arena, row, told, err));
	TRY(store_read_webhooks(store_tx_reader(tx), arena, &webhooks, &count, err));
	for (size_t i = 0; i < count; i++) {
		if (!rule_wants(&webhooks[i], row, &news, team))
			continue;
		TRY(add_delivery(pipeline, row, &webhooks[i], tx, err));
		told->has_deliveries = true;
	}
	return OK;
}

void incidents_say(struct pipeline *pipeline, const struct incident_row *row, const struct incident_told *told)
{
	if (told->has_news) {
		atomic_fetch_add(&pipeline->figures.incidents, 1);
		publish_incident(pipeline, row);
	}
	if (told->command.command_id && pipeline->options.command_given)
		pipeline->options.command_given(pipeline->options.context, &told->command);
	if (told->has_deliveries && pipeline->options.deliveries_due)
		pipeline->options.deliveries_due(pipeline->options.context);
}

static enum status write_said(void *context, struct store_tx *tx, struct error *err)
{
	struct said *said = context;
	bool is_gone;

	said->told = (struct incident_told){0};
	TRY(is_job_gone(said->pipeline, tx, said->stream->job, &is_gone, err));
	/* of a series whose place a back-fill took since; only this thread puts it there */
	bool is_old = (said->series.series_id & SERIES_HALF) != said->stream->series_base;
	if (is_gone || is_old)
		return OK;
	TRY(store_put_series(tx, &said->series, err));
	return incidents_write(said->pipeline, tx, &said->row, span_from(said->stream->job->team), &said->told, err);
}

static void said_free(struct said *said)
{
	job_unref(said->stream->job);
	arena_free(said->arena);
	mem_free(said);
}

static void said_done(void *context, enum status status, const struct error *err)
{
	struct said *said = context;
	struct pipeline *pipeline = said->pipeline;

	if (status != OK)
		log_line(LOG_ERROR, "incident_failed", "job=\"%s\" error=\"%s\"", said->stream->job->name, err->text);
	pthread_mutex_lock(&said->stream->mutex);
	/* else we are stopping: the stream is not sealed past it, the next start says it again */
	if (status != ERR_UNAVAILABLE && status != ERR_IO && status != ERR_MEMORY)
		said->stream->pending_incidents--;
	pthread_mutex_unlock(&said->stream->mutex);
	if (status == OK && said->told.has_news) {
		atomic_store(&said->stream->job->is_row_dirty, true);
		directory_mark_dirty(pipeline->directory, said->stream);
	}
	if (status == OK)
		incidents_say(pipeline, &said->row, &said->told);
	said_free(said);
}

static bool fill(struct said *said, const struct stream_state *stream, const struct series_state *series)
{
	struct span names[] = {span_from(stream->job->name), span_from(series->metric), span_from(stream->name),
		span_from(series->unit)};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!(names[i] = arena_copy(said->arena, names[i])).ptr)
			return false;
	said->row.job_id = stream->job->job_id;
	said->row.series_id = series->series_id;
	said->row.job = names[0];
	said->row.metric = names[1];
	said->row.stream = names[2];
	said->series = (struct series_row){.job_id = stream->job->job_id,
		.series_id = series->series_id,
		.stream_id = stream->stream_id,
		.metric = names[1],
		.labels = SPAN(""),
		.unit = names[3],
		.role = series->role};
	return true;
}

enum status incidents_hand_over(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct incident *incident, struct error *err)
{
	struct said *said = mem_zeroed(sizeof *said);

	if (!said)
		return error_set(err, ERR_MEMORY, "out of memory");
	said->pipeline = pipeline;
	said->stream = stream;
	said->row.incident = *incident;
	job_ref(stream->job);
	said->control = (struct control){.work = write_said, .done = said_done, .context = said, .is_kept = true};
	if (!(said->arena = arena_new()) || !fill(said, stream, series)) {
		said_free(said);
		return error_set(err, ERR_MEMORY, "out of memory");
	}
	stream->pending_incidents++;
	enum status status = pipeline_push_control(pipeline, &said->control, err);
	if (status != OK)
		said_free(said); /* pending for ever: the stream is not sealed any more; the next start says it again */
	return status;
}
