/* What runs log: read whole before any of it is stored, then stored in chunks, each entry once. */
#include "base/log.h"
#include "base/map.h"
#include "ingest/lines/lines.h"
#include "model/metrics/batch_series.h"
#include "model/metrics/stream_name.h"
#include "pipeline/alert/training_alert.h"
#include "pipeline/commit/ingest_result.h"
#include "pipeline/pipeline.h"
#include "trackio/internal.h"
#include "trackio/points_in.h"

enum posting_kind { POINTS, SYSTEM, ALERTS };

struct posting {
	struct trackio_call *call;
	enum posting_kind kind;
	const char *list;
	size_t at;
	struct arena *scratch; /* of entries and log ids, since the last chunk was stored */
	struct map *runs; /* key -> struct trackio_run, in the call's arena */
	struct map *seen; /* log ids of the chunk */
	struct batch *batch;
	size_t in_chunk;
	struct training_alert *alerts; /* of the chunk, in `scratch` */
	size_t alert_count;
	size_t raised; /* of the request */
	size_t left_out, refused;
	struct span first_job; /* of which something was left out */
};

static void posting_done(struct posting *posting)
{
	map_free(posting->runs);
	map_free(posting->seen);
	arena_free(posting->scratch);
	batch_free(posting->batch);
}
AUTO_DONE_TYPE(posting)

/* ---- chunks ---- */

static enum status begin_chunk(struct posting *p, struct error *err)
{
	map_free(p->seen);
	arena_free(p->scratch);
	p->in_chunk = p->alert_count = 0;
	p->alerts = NULL;
	p->scratch = arena_new();
	p->seen = map_new();
	p->batch = batch_new(p->call->now_ms);
	if (!p->scratch || !p->seen || !p->batch || !(p->batch->team = arena_copy(p->batch->arena, p->call->team)).ptr)
		return error_no_memory(err);
	return OK;
}

/* Behind its line, so that whoever is called finds that. Each is a transaction: a body of thousands may not have the writer to itself. */
static enum status raise_alerts(struct posting *p, struct error *err)
{
	bool is_kept;

	for (size_t i = 0; i < p->alert_count; i++) {
		if (++p->raised > TRAINING_ALERTS_OPEN_MAX) {
			if (p->raised == TRAINING_ALERTS_OPEN_MAX + 1)
				log_line(LOG_WARNING, "alerts_not_raised",
					"job=\"%.*s\" most=%d why=\"of one request; all are lines\"",
					SPAN_ARGS(p->alerts[i].job), TRAINING_ALERTS_OPEN_MAX);
			continue;
		}
		TRY(pipeline_raise_alert(p->call->pipeline, &p->alerts[i], &is_kept, err));
		if (!is_kept)
			log_line(LOG_WARNING, "alert_not_kept", "job=\"%.*s\" open=%d", SPAN_ARGS(p->alerts[i].job),
				TRAINING_ALERTS_OPEN_MAX);
	}
	return OK;
}

static enum status store_chunk(struct posting *p, struct error *err)
{
	struct ingest_result result = {0};

	if (!p->batch->point_count && !p->batch->line_count)
		return OK;
	TRY(pipeline_store(p->call->pipeline, &p->batch, &result, err));
	p->refused += result.refused;
	return raise_alerts(p, err);
}

/* ---- an entry ---- */

static enum status find_run(
	struct posting *p, const struct trackio_entry *entry, struct trackio_run **out, struct error *err)
{
	struct trackio_run *known;
	struct span key;

	TRY(trackio_key(p->call, entry->project, entry->run, entry->run_id, &key, err));
	known = map_get(p->runs, key);
	*out = known;
	if (known && (known->has_config || !entry->config.len))
		return OK;
	if (!known && map_count(p->runs) == TRACKIO_RUNS_MAX)
		return error_set(err, ERR_TOO_LARGE, "a request can be of at most %d runs", TRACKIO_RUNS_MAX);
	*out = arena_alloc(p->call->arena, sizeof **out);
	if (!*out)
		return error_no_memory(err);
	TRY(trackio_have_run(p->call, entry, *out, err));
	return map_put(p->runs, key, *out) ? OK : error_no_memory(err);
}

static enum status add_points(
	struct posting *p, struct trackio_run *run, const struct trackio_entry *entry, struct error *err)
{
	struct points_in in = {.batch = p->batch,
		.job = run->job,
		.begins = p->kind == POINTS && run->begins,
		.stream = p->kind == SYSTEM ? SPAN(TRACKIO_SYSTEM_STREAM) : SPAN(TRACKIO_STREAM),
		.is_system = p->kind == SYSTEM,
		.now_ms = p->call->now_ms,
		.max_series = p->call->options->max_series};

	run->begins = false;
	TRY(points_in_add(&in, entry, err));
	if (in.left_out && !p->left_out)
		p->first_job = run->job;
	p->left_out += in.left_out;
	return OK;
}

static enum severity severity_of(struct span level)
{
	if (span_equal(level, SPAN("error")))
		return SEVERITY_CRITICAL;
	return span_equal(level, SPAN("warn")) ? SEVERITY_WARNING : SEVERITY_INFO;
}

static enum status note_alert(
	struct posting *p, const struct trackio_run *run, const struct trackio_entry *entry, struct error *err)
{
	if (!entry->title.len && !entry->text.len)
		return OK;
	if (!p->alerts && !(p->alerts = arena_alloc(p->scratch, TRACKIO_CHUNK * sizeof *p->alerts)))
		return error_no_memory(err);
	p->alerts[p->alert_count++] = (struct training_alert){.job = run->job,
		.title = entry->title,
		.text = entry->text,
		.severity = severity_of(entry->level),
		.step = entry->step == NO_STEP ? 0 : entry->step,
		.at_ms = entry->ts_ms == NO_TIME ? p->call->now_ms : entry->ts_ms};
	return OK;
}

static enum status add_alert(
	struct posting *p, const struct trackio_run *run, const struct trackio_entry *entry, struct error *err)
{
	const int64_t ts_ms = entry->ts_ms == NO_TIME ? p->call->now_ms : entry->ts_ms;
	AUTO_DONE(buf) words = BUF_INIT(p->call->options->max_body_bytes + 3 * TRACKIO_NAME_MAX_BYTES);

	buf_printf(&words, "%.*s alert: %.*s", SPAN_ARGS(entry->level.len ? span_cut(entry->level, 20) : SPAN("info")),
		SPAN_ARGS(entry->title));
	if (entry->title.len && entry->text.len)
		buf_append_text(&words, ": ");
	buf_append_span(&words, entry->text);
	TRY(buf_status(&words, err));
	if (ingest_count_lines(buf_span(&words)) > ingest_lines_max(words.len))
		return error_set_field(
			err, ERR_SEMANTIC, "text", "%s[%zu].text: it has too many lines", entry->list, entry->at);
	struct batch_part *part = batch_part_more(p->batch, run->job, SPAN(STREAM_OF_ALERTS));
	if (!part || !ingest_add_lines(p->batch, part, buf_span(&words), ts_ms, p->call->options->max_line_bytes))
		return error_no_memory(err);
	points_in_mark(part, entry->log_id);
	return note_alert(p, run, entry, err);
}

static enum status take(void *context, struct json_scan *s, struct error *err)
{
	struct posting *p = context;
	struct trackio_entry entry = {.list = p->list, .at = p->at++};
	struct trackio_run *run;

	TRY(trackio_entry_read(s, p->scratch, &entry, err));
	if (entry.log_id.len && map_get(p->seen, entry.log_id))
		return OK;
	if (entry.log_id.len && !map_put(p->seen, entry.log_id, p))
		return error_no_memory(err);
	TRY(find_run(p, &entry, &run, err));
	TRY(p->kind == ALERTS ? add_alert(p, run, &entry, err) : add_points(p, run, &entry, err));
	if (++p->in_chunk < TRACKIO_CHUNK)
		return OK;
	TRY(store_chunk(p, err));
	batch_free(TAKE(p->batch));
	return begin_chunk(p, err);
}

/* What is wrong with an entry refuses all of the request. */
static enum status check(void *context, struct json_scan *s, struct error *err)
{
	struct posting *p = context;
	struct trackio_entry entry = {.list = p->list, .at = p->at++};
	AUTO(arena) arena = arena_new();

	if (!arena)
		return error_no_memory(err);
	TRY(trackio_entry_read(s, arena, &entry, err));
	if (p->kind != ALERTS && !entry.metrics.len)
		return error_set_field(
			err, ERR_SEMANTIC, "metrics", "%s[%zu].metrics: it must be there", entry.list, entry.at);
	return OK;
}

/* ---- calls ---- */

static enum status post(struct trackio_call *call, enum posting_kind kind, const char *list, struct error *err)
{
	AUTO_DONE(posting) p = {.call = call, .kind = kind, .list = list, .first_job = SPAN("")};

	TRY(trackio_each_entry(call->body, list, check, &p, err));
	p.at = 0;
	if (!(p.runs = map_new()))
		return error_no_memory(err);
	TRY(begin_chunk(&p, err));
	TRY(trackio_each_entry(call->body, list, take, &p, err));
	TRY(store_chunk(&p, err));
	if (p.left_out || p.refused)
		log_line(LOG_WARNING, "trackio_left_out", "job=\"%.*s\" values=%zu points=%zu", SPAN_ARGS(p.first_job),
			p.left_out, p.refused);
	json_null(&call->w);
	return OK;
}

enum status trackio_bulk_log(struct trackio_call *call, struct error *err)
{
	return post(call, POINTS, "logs", err);
}

enum status trackio_bulk_log_system(struct trackio_call *call, struct error *err)
{
	return post(call, SYSTEM, "logs", err);
}

enum status trackio_bulk_alert(struct trackio_call *call, struct error *err)
{
	return post(call, ALERTS, "alerts", err);
}
