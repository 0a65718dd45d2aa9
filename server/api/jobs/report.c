/* What happened since somebody last looked: GET /api/v1/report?from_ms=&to_ms=&q=. docs/report.md. */
#include "alert/rule.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/jobs/jobs.h"
#include "api/jobs/jobs_fields.h"
#include "base/json/json_write.h"
#include "base/text/iso8601.h"
#include "query/query.h"
#include "store/alerts.h"
#include "store/goodput.h"

enum { JOBS_DEFAULT = 50, JOBS_MAX = 1000, INCIDENTS_READ = 1000, TERMS_BYTES = 256, HOURS_DEFAULT = 12 };

static const double hour_ms = 3600000;

/* What a row says beside its name, status and why it failed. */
#define ROW_FIELDS "duration,step,reason,loss.last,loss.best,loss.best_step"

struct reporting {
	struct api *api;
	struct api_worker *worker;
	const struct http_request *request;
	struct arena *arena;
	int64_t from_ms, to_ms;
	struct query_node *query; /* of which jobs; NULL: of all */
	size_t limit;
	struct job_fields fields;
};

static enum status read_asked(struct reporting *r, struct error *err)
{
	int64_t now_ms = http_request_arrival_ms(r->request);

	r->to_ms = now_ms;
	TRY(http_query_i64(r->request, "to_ms", 0, INT64_MAX, &r->to_ms, err));
	r->from_ms = r->to_ms - HOURS_DEFAULT * (int64_t)hour_ms;
	TRY(http_query_i64(r->request, "from_ms", 0, INT64_MAX, &r->from_ms, err));
	if (r->from_ms > r->to_ms)
		return error_set_field(err, ERR_INVALID, "from_ms", "from_ms is behind to_ms");
	TRY(api_limit(r->request, JOBS_DEFAULT, JOBS_MAX, &r->limit, err));
	TRY(api_parse_query(r->api, r->request, r->arena, &r->query, err));
	return api_read_fields(SPAN(ROW_FIELDS), r->arena, &r->fields, err);
}

/* ---- jobs ---- */

/* Jobs of the query for which that is so, too. */
static enum status narrow(const struct reporting *r, struct span terms, struct query_node **out, struct error *err)
{
	struct query_node *both = arena_alloc(r->arena, sizeof *both);

	if (!both)
		return error_no_memory(err);
	TRY(query_parse(out, terms, r->to_ms, r->arena, err));
	*both = (struct query_node){.kind = QUERY_AND, .left = r->query, .right = *out};
	if (r->query)
		*out = both;
	return OK;
}

static enum status write_rows(
	const struct reporting *r, const struct job_search_result *found, struct json_writer *w, struct error *err)
{
	json_key(w, "jobs");
	json_array(w);
	for (size_t i = 0; i < found->count; i++)
		TRY(api_write_fields_row(r->worker, r->arena, &found->rows[i], &r->fields, w, err));
	json_array_end(w);
	return OK;
}

static enum status write_jobs(const struct reporting *r, const char *name, struct span terms, struct span sort,
	struct json_writer *w, struct error *err)
{
	struct job_search search = {.sort = sort,
		.cursor = SPAN(""),
		.limit = r->limit,
		.wants_total = true,
		.limit_ms = r->api->options.job_search_ms};
	struct query_node *query;
	struct job_search_result found;
	bool is_partial;

	TRY(narrow(r, terms, &query, err));
	search.query = query;
	TRY(api_search_page(r->worker, r->request, r->arena, &search, &found, &is_partial, err));
	json_key(w, name);
	json_object(w);
	enum status status = write_rows(r, &found, w, err);
	store_reader_end(r->worker->reader);
	TRY(status);
	json_put_i64(w, "total", (int64_t)found.total);
	if (is_partial)
		json_put_bool(w, "partial", true);
	json_object_end(w);
	return OK;
}

/* Both ends of the report's time are in it, as they are of its incidents. */
static enum status write_jobs_of_time(const struct reporting *r, const char *name, const char *time, const char *more,
	struct json_writer *w, struct error *err)
{
	AUTO_DONE(buf) terms = BUF_INIT(TERMS_BYTES);
	AUTO_DONE(buf) sort = BUF_INIT(TERMS_BYTES);
	char from[ISO8601_BYTES], to[ISO8601_BYTES];

	iso8601_format(r->from_ms, from);
	iso8601_format(r->to_ms, to);
	buf_printf(&terms, "%s>=%s %s<=%s %s", time, from, time, to, more);
	buf_printf(&sort, "-%s", time);
	TRY(buf_status(&terms, err));
	TRY(buf_status(&sort, err));
	return write_jobs(r, name, buf_span(&terms), buf_span(&sort), w, err);
}

/* ---- incidents, and what broke off ---- */

static enum status write_incidents(const struct reporting *r, struct json_writer *w, struct error *err)
{
	struct incident_filter filter = {.state = -1,
		.kind = -1,
		.from_ms = r->from_ms,
		.to_ms = r->to_ms,
		.query = r->query,
		.cursor = SPAN(""),
		.limit = INCIDENTS_READ};
	struct incident_row *rows;
	struct span next_cursor;
	size_t count, shown = 0, by_severity[SEVERITY_COUNT] = {0};

	TRY(store_read_incidents(r->worker->reader, r->arena, &filter, &rows, &count, &next_cursor, err));
	json_key(w, "incidents");
	json_object(w);
	for (size_t i = 0; i < count; i++)
		by_severity[rows[i].incident.severity]++;
	json_put_i64(w, "total", (int64_t)count);
	for (int severity = SEVERITY_COUNT - 1; severity >= 0; severity--)
		json_put_i64(w, severity_name((enum severity)severity), (int64_t)by_severity[severity]);
	json_put_bool(w, "more", next_cursor.len > 0);
	json_key(w, "incidents");
	json_array(w);
	for (int severity = SEVERITY_COUNT - 1; severity >= 0; severity--)
		for (size_t i = 0; i < count && shown < r->limit; i++)
			if ((int)rows[i].incident.severity == severity) {
				incident_write_json(&rows[i], w);
				shown++;
			}
	json_array_end(w);
	json_object_end(w);
	return OK;
}

/* Of all jobs that the reader sees: what broke off is not kept by what a query asks of. */
static enum status write_lost(const struct reporting *r, struct json_writer *w, struct error *err)
{
	struct goodput_cause *causes;
	size_t count;
	int64_t lost_ms = 0, breaks = 0;

	TRY(store_read_goodput_causes(r->worker->reader, r->arena, r->from_ms, r->to_ms + 1, &causes, &count, err));
	json_key(w, "lost");
	json_object(w);
	json_key(w, "causes");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		int64_t ms = causes[i].redone_node_ms + causes[i].restart_node_ms;
		json_object(w);
		json_put_span(w, "cause", causes[i].cause.len ? causes[i].cause : SPAN("unknown"));
		json_put_i64(w, "count", (int64_t)causes[i].count);
		api_put_lost_steps(w, causes[i].lost_steps, causes[i].unknown_steps, causes[i].count);
		json_put_double(w, "lost_node_hours", (double)ms / hour_ms);
		json_object_end(w);
		lost_ms += ms;
		breaks += (int64_t)causes[i].count;
	}
	json_array_end(w);
	json_put_i64(w, "breaks", breaks);
	json_put_double(w, "lost_node_hours", (double)lost_ms / hour_ms);
	json_object_end(w);
	return OK;
}

enum status api_report(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct reporting r = {.api = context, .worker = worker, .request = request};
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);

	TRY(api_arena(&arena, err));
	r.arena = arena;
	TRY(read_asked(&r, err));
	json_object(&w);
	json_put_i64(&w, "from_ms", r.from_ms);
	json_put_i64(&w, "to_ms", r.to_ms);
	TRY(write_incidents(&r, &w, err));
	TRY(write_jobs_of_time(&r, "failed", "ended", "status:failed", &w, err));
	TRY(write_jobs_of_time(&r, "ended", "ended", "not status:failed", &w, err));
	TRY(write_jobs_of_time(&r, "started", "started", "", &w, err));
	TRY(write_jobs(&r, "running", SPAN("status:InProgress"), SPAN("-modified"), &w, err));
	TRY(write_lost(&r, &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
