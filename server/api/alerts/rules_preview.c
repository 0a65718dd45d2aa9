/* What a rule would have told: its expression over stored points, or the incidents that it takes. Bounded in time. */
#include "alert/rule.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "model/query.h"
#include "query/query.h"
#include "read/charts/chart_query.h"
#include "read/charts/main_series.h"
#include "read/charts/points_walk.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "store/alerts.h"
#include "store/jobs.h"
#include "store/search.h"

enum { WEEK_MS = 7 * 86400000, FIRES_MAX = 1000, JOBS_AT_ONCE = 100, INCIDENTS_AT_ONCE = 500, LOOK_EVERY = 1024 };

struct preview {
	struct pipeline *pipeline;
	struct store_reader *reader;
	struct rule *rule;
	struct json_writer *w;
	int64_t from_ms, to_ms, now_ms, until_mono_ms;
	uint64_t fires, points, jobs;
	bool is_partial;
	/* of the series at hand */
	struct span job, stream, metric;
	uint32_t series_id, stream_id;
	struct watch *watch;
	uint64_t ordinal;
};

static bool must_end(struct preview *p)
{
	p->is_partial = p->is_partial || p->fires >= FIRES_MAX || clock_mono_ms() >= p->until_mono_ms;
	return p->is_partial;
}

static void write_fire(struct preview *p, const struct incident *incident)
{
	json_object(p->w);
	json_put_span(p->w, "job", p->job);
	json_put_span(p->w, "stream", p->stream);
	json_put_span(p->w, "metric", p->metric);
	json_put_text(p->w, "kind", incident_kind_name(incident->kind));
	json_put_i64(p->w, "step", incident->opened_step);
	json_put_i64(p->w, "ts_ms", incident->opened_ms);
	json_put_double(p->w, "value", incident->value);
	json_put_double(p->w, "expected", incident->expected);
	json_object_end(p->w);
	p->fires++;
}

static void take_report(void *context, enum incident_change change, const struct incident *incident)
{
	struct preview *p = context;

	if (change == INCIDENT_OPENED && p->fires < FIRES_MAX)
		write_fire(p, incident);
}

static enum status take_point(void *context, const struct stream_view *stream, const struct series_view *series,
	const struct point *point, int64_t x, struct error *err)
{
	struct preview *p = context;

	(void)x;
	if (!p->watch || p->series_id != series->series_id || p->stream_id != stream->stream_id) {
		watch_free(p->watch);
		if (!(p->watch = watch_new(p->rule->expression)))
			return error_no_memory(err);
		p->series_id = series->series_id;
		p->stream_id = stream->stream_id;
		p->ordinal = 0;
	}
	p->stream = stream->name;
	p->metric = series->metric;
	watch_feed(p->watch, p->rule->expression, p->ordinal++, point, take_report, p);
	if (++p->points % LOOK_EVERY == 0 && must_end(p))
		return error_set(err, ERR_UNAVAILABLE, "enough");
	return OK;
}

static enum status try_job(struct preview *p, struct span job, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_view view;
	struct chart_query query = {.metric = condition_metric(p->rule->expression),
		.stream = SPAN(""),
		.axis = AXIS_TIME,
		.from = p->from_ms,
		.to = p->to_ms,
		.attempts = ATTEMPTS_ALL};

	TRY(api_arena(&arena, err));
	enum status status = view_read_job(
		p->pipeline, p->reader, arena, job, query.stream, query.metric, VIEW_SERIES | VIEW_TAILS, &view, err);
	if (status == OK)
		status = main_series_resolve(p->reader, arena, &view, &query, &query.metric, err);
	if (status == ERR_NOT_FOUND)
		return OK; /* it has no such metric, or was deleted meanwhile */
	TRY(status);
	p->job = job;
	p->jobs++;
	status = points_walk_all(p->reader, arena, &view, &query, take_point, p, err);
	watch_free(p->watch);
	p->watch = NULL;
	return status == ERR_UNAVAILABLE && p->is_partial ? OK : status;
}

static enum status try_condition(struct preview *p, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_search search = {.sort = SPAN("-created"), .cursor = SPAN(""), .limit = JOBS_AT_ONCE};
	struct query_node *query = NULL;
	struct job_search_result found;

	TRY(api_arena(&arena, err));
	TRY(query_parse(&query, p->rule->query, p->now_ms, arena, err));
	search.query = query;
	do {
		TRY(store_search_jobs(p->reader, arena, &search, &found, err));
		for (size_t i = 0; i < found.count && !must_end(p); i++)
			if (!p->rule->team.len || span_equal(p->rule->team, found.rows[i].team))
				TRY(try_job(p, found.rows[i].name, err));
		search.cursor = found.next_cursor;
	} while (found.next_cursor.len && !must_end(p));
	return OK;
}

static enum status try_incident(struct preview *p, const struct incident_row *row, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct job_row job;
	bool is_match;

	TRY(api_arena(&arena, err));
	TRY(store_read_job_by_id(p->reader, arena, row->job_id, &job, err));
	if (row->cause_id || !rule_takes(p->rule, row, job.team))
		return OK;
	TRY(rule_matches_job(p->rule, p->reader, row->job, p->now_ms, &is_match, err));
	p->job = row->job;
	p->stream = row->stream;
	p->metric = row->metric;
	if (is_match)
		write_fire(p, &row->incident);
	return OK;
}

static enum status try_incidents(struct preview *p, struct error *err)
{
	struct incident_filter filter = {.state = -1, .kind = -1, .cursor = SPAN(""), .limit = INCIDENTS_AT_ONCE};
	AUTO(arena) arena = NULL;
	struct incident_row *rows;
	int64_t oldest_ms = INT64_MAX;
	size_t count;

	TRY(api_arena(&arena, err));
	do {
		TRY(store_read_incidents(p->reader, arena, &filter, &rows, &count, &filter.cursor, err));
		for (size_t i = 0; i < count && !must_end(p); i++) {
			oldest_ms = rows[i].incident.opened_ms;
			if (oldest_ms >= p->from_ms && oldest_ms <= p->to_ms)
				TRY(try_incident(p, &rows[i], err));
		}
	} while (filter.cursor.len && oldest_ms >= p->from_ms && !must_end(p));
	return OK;
}

static enum status read_window(struct preview *p, struct json *body, struct error *err)
{
	p->to_ms = p->now_ms;
	p->from_ms = p->now_ms - WEEK_MS;
	TRY(json_want_i64(body, "to_ms", &p->to_ms, err));
	TRY(json_want_i64(body, "from_ms", &p->from_ms, err));
	if (p->from_ms > p->to_ms)
		return error_set_field(err, ERR_SEMANTIC, "from_ms", "from_ms %lld is behind to_ms %lld",
			(long long)p->from_ms, (long long)p->to_ms);
	json_remove(body, "from_ms");
	json_remove(body, "to_ms");
	if (!json_get(body, "name") && !json_set_string(body, "name", SPAN("preview")))
		return error_no_memory(err);
	return OK;
}

enum status api_rules_preview(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;
	AUTO_DONE(rule) rule = {0};
	struct json_writer w = api_reply(response);
	struct preview p = {.pipeline = api->options.pipeline,
		.reader = ((struct api_worker *)worker)->reader,
		.rule = &rule,
		.w = &w,
		.now_ms = http_request_arrival_ms(request),
		.until_mono_ms = clock_mono_ms() + api->options.rule_preview_ms};

	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &body, err));
	TRY(read_window(&p, body, err));
	TRY(rule_parse(&rule, body, arena, err));
	TRY(api_own_team(request, &rule.team, err));
	json_object(&w);
	json_key(&w, "fires");
	json_array(&w);
	TRY(rule.expression ? try_condition(&p, err) : try_incidents(&p, err));
	json_array_end(&w);
	json_put_i64(&w, "count", (int64_t)p.fires);
	json_put_i64(&w, "jobs", (int64_t)p.jobs);
	json_put_i64(&w, "points", (int64_t)p.points);
	json_put_i64(&w, "from_ms", p.from_ms);
	json_put_i64(&w, "to_ms", p.to_ms);
	json_put_bool(&w, "partial", p.is_partial);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
