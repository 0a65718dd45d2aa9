/* The whole fleet on one page, and its quotas: sums that each change keeps (store/fleet_rows.h), so that nothing is counted here. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/core/tokens.h"
#include "api/machines/quotas.h"
#include "base/json/json_write.h"
#include "fleet/goodput.h"
#include "fleet/pool.h"
#include "fleet/price.h"
#include "model/incident.h"
#include "pipeline/alert/paces.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/pipeline.h"
#include "state/figures.h"
#include "store/goodput.h"
#include "store/jobs.h"

#include <stdlib.h>

enum { PACES_DEFAULT = 20, PACES_MAX = 1000 };

static const double hour_ms = 3600.0 * 1000;

static int64_t sum_of(const struct fleet_state *fleet, const char *name, struct span type)
{
	const struct fleet_total *total = fleet_total_find(fleet, name, type);

	return total ? total->value : 0;
}

static void write_jobs(const struct fleet_state *fleet, struct json_writer *w)
{
	int64_t all = 0;

	json_key(w, "jobs");
	json_object(w);
	for (size_t i = 0; i < fleet->count; i++) {
		if (!span_equal(fleet->totals[i].name, SPAN("jobs")) || !fleet->totals[i].value)
			continue;
		json_key_span(w, fleet->totals[i].instance_type); /* a status is in its place */
		json_i64(w, fleet->totals[i].value);
		all += fleet->totals[i].value;
	}
	json_put_i64(w, "total", all);
	json_put_i64(w, "silent", fleet->now.silent);
	json_object_end(w);
}

/* The longest silent first. */
static void write_silent(const struct fleet_state *fleet, struct json_writer *w)
{
	json_key(w, "silent_jobs");
	json_array(w);
	for (size_t i = 0; i < fleet->silent_count; i++) {
		json_object(w);
		json_put_span(w, "job", fleet->silent[i].name);
		json_put_i64(w, "last_heard_ms", fleet->silent[i].last_heard_ms);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_incidents(const struct fleet_state *fleet, struct json_writer *w)
{
	json_key(w, "open_incidents");
	json_object(w);
	for (int i = 0; i < SEVERITY_COUNT; i++)
		json_put_i64(w, severity_name((enum severity)i), fleet->now.open_incidents[i]);
	json_object_end(w);
}

/* Node-hours are from the start of training to the end, or to now. */
static void write_nodes(const struct fleet_state *fleet, int64_t now_ms, struct json_writer *w)
{
	__int128 running_ms = (__int128)sum_of(fleet, "started_nodes", SPAN("")) * now_ms -
			      sum_of(fleet, "started_node_ms", SPAN(""));
	int64_t ended_ms = sum_of(fleet, "node_ms", SPAN(""));

	json_key(w, "nodes");
	json_object(w);
	json_put_i64(w, "in_jobs", sum_of(fleet, "nodes", SPAN("")));
	json_put_i64(w, "in_waiting_pools", sum_of(fleet, "pool_nodes", SPAN("")));
	if (fleet->now.estimated_nodes)
		json_put_i64(w, "estimated_in_jobs", fleet->now.estimated_nodes);
	json_key(w, "by_type");
	json_array(w);
	for (size_t i = 0; i < fleet->count; i++) {
		struct span type = fleet->totals[i].instance_type;
		bool is_held = span_equal(fleet->totals[i].name, SPAN("held_nodes"));
		/* a type that was set by hand of jobs that had ended was never held */
		bool is_of_ended = span_equal(fleet->totals[i].name, SPAN("node_ms")) &&
				   !fleet_total_find(fleet, "held_nodes", type);
		if (!type.len || (!is_held && !is_of_ended))
			continue;
		json_object(w);
		json_put_span(w, "instance_type", type);
		json_put_i64(w, "in_jobs", sum_of(fleet, "nodes", type));
		json_put_i64(w, "in_waiting_pools", sum_of(fleet, "pool_nodes", type));
		json_put_double(w, "ended_node_hours", (double)sum_of(fleet, "node_ms", type) / hour_ms);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
	json_put_double(w, "node_hours", (double)(ended_ms + (running_ms > 0 ? running_ms : 0)) / hour_ms);
}

static void write_pools(const struct fleet_state *fleet, struct json_writer *w)
{
	static const enum pool_state states[] = {POOL_AVAILABLE, POOL_IN_USE, POOL_TERMINATED};

	json_key(w, "warm_pools");
	json_object(w);
	for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
		const char digit[] = {(char)('0' + states[i]), 0};
		json_put_i64(w, pool_state_name(states[i]), sum_of(fleet, "pools", span_from(digit)));
	}
	json_object_end(w);
}

/* An object that stays open. */
static void write_sums(
	const char *name, const struct goodput_day *days, size_t count, bool has_prices, struct json_writer *w)
{
	struct goodput_day sum = {.day = 0};

	for (size_t i = 0; i < count; i++) {
		sum.node_ms[GOODPUT_PRODUCTIVE] += days[i].node_ms[GOODPUT_PRODUCTIVE];
		sum.measured_ms += days[i].measured_ms;
		sum.cost += days[i].cost;
		sum.lost_cost += days[i].lost_cost;
		sum.unpriced_ms += days[i].unpriced_ms;
		sum.billed_ms += days[i].billed_ms;
		sum.estimated_ms += days[i].estimated_ms;
	}
	json_key(w, name);
	json_object(w);
	json_key(w, "goodput");
	if (sum.measured_ms > 0)
		json_double(w, 100.0 * (double)sum.node_ms[GOODPUT_PRODUCTIVE] / (double)sum.measured_ms);
	else
		json_null(w);
	json_put_double(w, "measured_node_hours", (double)sum.measured_ms / hour_ms);
	api_put_day_costs(w, &sum, has_prices);
}

/* Useful hours of all that were measured, and what they cost; null where nothing is known. Days are of UTC. */
static enum status write_goodput(
	struct api_worker *worker, struct arena *arena, int64_t now_ms, struct json_writer *w, struct error *err)
{
	static const int64_t day_ms = 24LL * 3600 * 1000;
	int64_t today = now_ms / day_ms;
	struct goodput_day *days;
	struct price_list prices;
	size_t count;

	TRY(goodput_read_prices(worker->api->options.pipeline, worker->reader, arena, &prices, err));
	TRY(api_put_unpriced_types(worker->reader, arena, prices.currency, today - 29, today, w, err));
	json_put_span(w, "currency", prices.currency);
	TRY(store_read_fleet_days(worker->reader, arena, prices.currency, today - 29, today, &days, &count, err));
	bool has_today = count && days[count - 1].day == today;
	write_sums("last_30_days", days, count, prices.count > 0, w);
	TRY(api_put_unpriced_types(worker->reader, arena, prices.currency, today - 29, today, w, err));
	TRY(api_put_deleted_costs(worker->reader, arena, prices.currency, today - 29, today, w, err));
	json_object_end(w);
	write_sums("today", has_today ? &days[count - 1] : NULL, has_today, prices.count > 0, w);
	TRY(api_put_unpriced_types(worker->reader, arena, prices.currency, today, today, w, err));
	TRY(api_put_deleted_costs(worker->reader, arena, prices.currency, today, today, w, err));
	json_object_end(w);
	return OK;
}

static void write_ingest(const struct api *api, struct json_writer *w)
{
	const struct pipeline_figures *figures = pipeline_figures(api->options.pipeline);
	uint64_t committed = atomic_load(&figures->committed_seq), extracted = atomic_load(&figures->extracted_seq);

	json_key(w, "ingest");
	json_object(w);
	json_put_i64(w, "lines", (int64_t)atomic_load(&figures->lines));
	json_put_i64(w, "lines_per_s", (int64_t)atomic_load(&figures->lines_per_s));
	json_put_i64(w, "points", (int64_t)atomic_load(&figures->points));
	json_put_i64(w, "commits_behind", committed > extracted ? (int64_t)(committed - extracted) : 0);
	json_put_i64(w, "journal_bytes", (int64_t)atomic_load(&figures->journal_bytes));
	json_put_i64(w, "refused_busy", (int64_t)atomic_load(&figures->refused_busy));
	json_put_i64(w, "refused_points", (int64_t)atomic_load(&figures->refused_points));
	json_put_i64(w, "lost_lines", (int64_t)atomic_load(&figures->lost_lines));
	json_put_i64(w, "bad_times", (int64_t)atomic_load(&api->bad_times));
	api_put_disk_free(w, figures);
	json_put_bool(w, "disk_low", atomic_load(&figures->is_disk_low));
	json_object_end(w);
}

enum status api_fleet(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	int64_t now_ms = http_request_arrival_ms(request);
	struct fleet_state fleet;

	TRY(api_arena(&arena, err));
	TRY(fleet_state_read(api, own->reader, arena, now_ms, &fleet, err));
	json_object(&w);
	json_put_i64(&w, "as_of_ms", now_ms);
	write_jobs(&fleet, &w);
	write_silent(&fleet, &w);
	write_incidents(&fleet, &w);
	write_nodes(&fleet, now_ms, &w);
	write_pools(&fleet, &w);
	quotas_write(&fleet, now_ms, &w);
	TRY(write_goodput(own, arena, now_ms, &w, err));
	write_ingest(api, &w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- GET /api/v1/fleet/paces ---- */

static double share_of_usual(const struct job_pace *pace)
{
	return pace->now / pace->usual;
}

static int compare_paces(const void *a, const void *b)
{
	double left = share_of_usual(a), right = share_of_usual(b);

	return left < right   ? -1
	       : left > right ? 1
			      : span_compare(((const struct job_pace *)a)->job, ((const struct job_pace *)b)->job);
}

static void write_pace(const struct job_pace *pace, struct json_writer *w)
{
	json_object(w);
	json_put_span(w, "job", pace->job);
	json_put_span(w, "metric", pace->metric);
	json_put_span(w, "unit", pace->unit);
	json_put_bool(w, "is_step_time", pace->is_step_time);
	json_put_double(w, "now", pace->is_step_time ? 1 / pace->now : pace->now);
	json_put_double(w, "usual", pace->is_step_time ? 1 / pace->usual : pace->usual);
	json_put_double(w, "percent_of_usual", 100 * share_of_usual(pace));
	json_put_i64(w, "last_heard_ms", pace->heard_ms);
	json_object_end(w);
}

/* Those that end meanwhile stay in RAM for a while: the database says who runs. */
static enum status write_running(struct store_reader *reader, struct arena *arena, const struct job_pace *rows,
	size_t count, size_t limit, struct json_writer *w, struct error *err)
{
	size_t shown = 0;

	for (size_t i = 0; i < count && shown < limit; i++) {
		struct job_row row;
		struct error missing = {0};
		enum status status = store_read_job(reader, arena, rows[i].job, &row, &missing);
		if (status != OK && status != ERR_NOT_FOUND)
			return error_set(err, status, "%s", missing.text);
		if (status != OK || row.ended_ms)
			continue;
		write_pace(&rows[i], w);
		shown++;
	}
	return OK;
}

/* Rows are of all jobs in memory. */
static enum status keep_seen(struct store_reader *reader, struct job_pace *rows, size_t *count, struct error *err)
{
	AUTO(arena) arena = NULL;
	size_t kept = 0;

	TRY(api_arena(&arena, err));
	for (size_t i = 0; i < *count; i++) {
		struct job_row row;
		enum status status = store_read_job(reader, arena, rows[i].job, &row, err);
		if (status != OK && status != ERR_NOT_FOUND)
			return status;
		if (status == OK)
			rows[kept++] = rows[i];
	}
	*count = kept;
	return OK;
}

enum status api_fleet_paces(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct job_pace *rows;
	size_t limit, count;

	TRY(api_limit(request, PACES_DEFAULT, PACES_MAX, &limit, err));
	TRY(api_arena(&arena, err));
	TRY(pipeline_read_paces(api->options.pipeline, arena, http_request_arrival_ms(request) - api->options.silent_ms,
		&rows, &count, err));
	if (api_is_narrow(api, http_request_principal(request)))
		TRY(keep_seen(own->reader, rows, &count, err));
	if (count)
		qsort(rows, count, sizeof *rows, compare_paces);
	json_object(&w);
	json_put_i64(&w, "known", (int64_t)count);
	json_key(&w, "jobs");
	json_array(&w);
	TRY(write_running(own->reader, arena, rows, count, limit, &w, err));
	json_array_end(&w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
