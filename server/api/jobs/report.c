/* What happened since somebody last looked: GET /api/v1/report?from_ms=&to_ms=&q=. docs/report.md. */
#include "read/report.h"

#include "alert/rule.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/jobs/jobs.h"
#include "api/jobs/jobs_fields.h"
#include "base/clock.h"
#include "base/json/json_write.h"
#include "query/query.h"
#include "state/execute.h"

enum { JOBS_DEFAULT = 50, JOBS_MAX = 1000, HOURS_DEFAULT = 12 };

static const double hour_ms = 3600000;

/* What a row says beside its name, status and why it failed. */
#define ROW_FIELDS "duration,step,reason,loss.last,loss.best,loss.best_step"

struct reporting {
	struct api *api;
	struct api_worker *worker;
	const struct http_request *request;
	struct arena *arena;
	struct report_span of;
	size_t limit;
	struct job_fields fields;
};

/* Up to now is up to where all is settled: what the writer is at is the next report's, which begins right behind this one's end. */
static void settle(struct report_span *of, int64_t settled_ms)
{
	if (of->to_ms <= settled_ms)
		return;
	of->to_ms = of->from_ms <= settled_ms ? settled_ms : of->from_ms - 1;
}

static enum status read_asked(struct reporting *r, struct error *err)
{
	struct report_span *of = &r->of;
	int64_t settled_ms = writer_settled_ms(r->api->options.pipeline);

	of->to_ms = clock_wall_ms();
	TRY(http_query_i64(
		r->request, "to_ms", 1, INT64_MAX, &of->to_ms, err)); /* 0 is no end to a filter of incidents */
	of->from_ms = (of->to_ms < settled_ms ? of->to_ms : settled_ms) - HOURS_DEFAULT * (int64_t)hour_ms;
	TRY(http_query_i64(r->request, "from_ms", 0, INT64_MAX, &of->from_ms, err));
	if (of->from_ms > of->to_ms)
		return error_set_field(err, ERR_INVALID, "from_ms", "from_ms is behind to_ms");
	settle(of, settled_ms);
	TRY(api_limit(r->request, JOBS_DEFAULT, JOBS_MAX, &r->limit, err));
	TRY(api_parse_query(r->api, r->request, r->arena, &of->query, err));
	return api_read_fields(SPAN(ROW_FIELDS), r->arena, &r->fields, err);
}

static void put_late(struct json_writer *w, int64_t known_ms)
{
	json_put_bool(w, "late", true);
	json_put_i64(w, "known_ms", known_ms);
}

static enum status write_rows(const struct reporting *r, enum report_jobs which, const struct job_search_result *found,
	struct json_writer *w, struct error *err)
{
	int64_t known_ms;

	json_key(w, "jobs");
	json_array(w);
	for (size_t i = 0; i < found->count; i++) {
		json_object(w);
		TRY(api_put_fields_row(r->worker, r->arena, &found->rows[i], &r->fields, w, err));
		if (report_job_is_late(&r->of, which, &found->rows[i], &known_ms))
			put_late(w, known_ms);
		json_object_end(w);
	}
	json_array_end(w);
	return OK;
}

static enum status write_jobs(
	const struct reporting *r, enum report_jobs which, struct json_writer *w, struct error *err)
{
	struct job_search search;
	struct job_search_result found;
	bool is_partial;

	TRY(report_search(&r->of, which, r->arena, &search, err));
	search.limit = r->limit;
	search.limit_ms = r->api->options.job_search_ms;
	TRY(api_search_page(r->worker, r->request, r->arena, &search, &found, &is_partial, err));
	json_key(w, report_jobs_name(which));
	json_object(w);
	enum status status = write_rows(r, which, &found, w, err);
	store_reader_end(r->worker->reader);
	TRY(status);
	json_put_i64(w, "total", (int64_t)found.total);
	if (is_partial)
		json_put_bool(w, "partial", true);
	json_object_end(w);
	return OK;
}

static enum status write_incidents(const struct reporting *r, struct json_writer *w, struct error *err)
{
	struct report_incidents found;

	TRY(report_read_incidents(r->worker->reader, r->arena, &r->of, &found, err));
	json_key(w, "incidents");
	json_object(w);
	json_put_i64(w, "total", (int64_t)found.count);
	for (int severity = SEVERITY_COUNT - 1; severity >= 0; severity--)
		json_put_i64(w, severity_name((enum severity)severity), (int64_t)found.by_severity[severity]);
	json_put_bool(w, "more", found.has_more);
	json_key(w, "incidents");
	json_array(w);
	for (size_t i = 0; i < found.count && i < r->limit; i++) {
		json_object(w);
		incident_put(&found.rows[i], w);
		if (report_is_late(&r->of, found.rows[i].incident.opened_ms))
			put_late(w, found.rows[i].known_ms);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
	return OK;
}

static enum status write_lost(const struct reporting *r, struct json_writer *w, struct error *err)
{
	struct report_lost lost;

	TRY(report_read_lost(r->worker->reader, r->arena, &r->of, &lost, err));
	json_key(w, "lost");
	json_object(w);
	json_key(w, "causes");
	json_array(w);
	for (size_t i = 0; i < lost.count; i++) {
		const struct goodput_cause *cause = &lost.causes[i];
		json_object(w);
		json_put_span(w, "cause", cause->cause.len ? cause->cause : SPAN("unknown"));
		json_put_i64(w, "count", (int64_t)cause->count);
		api_put_lost_steps(w, cause->lost_steps, cause->unknown_steps, cause->count);
		json_put_double(w, "lost_node_hours", (double)goodput_cause_lost_ms(cause) / hour_ms);
		json_object_end(w);
	}
	json_array_end(w);
	json_put_i64(w, "breaks", lost.breaks);
	json_put_double(w, "lost_node_hours", (double)lost.lost_node_ms / hour_ms);
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
	json_put_i64(&w, "from_ms", r.of.from_ms);
	json_put_i64(&w, "to_ms", r.of.to_ms);
	TRY(write_incidents(&r, &w, err));
	for (int which = 0; which < REPORT_JOBS_COUNT; which++)
		TRY(write_jobs(&r, (enum report_jobs)which, &w, err));
	TRY(write_lost(&r, &w, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
