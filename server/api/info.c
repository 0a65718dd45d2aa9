/* What the server says about itself: liveness, readiness, figures, its own interface. */
#include "api/api.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "api/core/tokens.h"
#include "api/scraped_jobs.h"
#include "base/clock.h"
#include "base/json/json_write.h"
#include "pipeline/consume/mend.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/pipeline.h"
#include "state/figures.h"
#include "store/admin.h"
#include "store/search.h"

#include <stdio.h>

enum status api_healthz(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	(void)context;
	(void)worker;
	(void)request;
	(void)err;
	response->content_type = "text/plain; charset=utf-8";
	buf_append_text(&response->body, "ok\n");
	return OK;
}

enum status api_readyz(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	const struct pipeline_figures *figures = pipeline_figures(api->options.pipeline);

	if (atomic_load(&api->is_stopping))
		return error_set(err, ERR_UNAVAILABLE, "the server is stopping");
	TRY(pipeline_database_loss(api->options.pipeline, err));
	TRY(store_may_write(api->options.store, err));
	if (atomic_load(&figures->is_disk_low))
		return error_set(err, ERR_UNAVAILABLE,
			"the disk is nearly full: %llu bytes are left (--min-free-bytes)",
			(unsigned long long)atomic_load(&figures->disk_free_bytes));
	return api_healthz(context, worker, request, response, err);
}

static const struct {
	const char *name, *total, *help;
} event_counters[VERDICT_COUNT] = {
	{"events", "events_total", "EventBridge events taken."},
	{"duplicate_events", "duplicate_events_total", "EventBridge events that said nothing new."},
	{"ignored_events", "ignored_events_total", "EventBridge events that were not of a training job."},
	{"rejected_events", "rejected_events_total", "EventBridge events that could not be taken."},
};

static enum status write_counts(struct api *api, struct store_reader *reader, struct json_writer *w, struct error *err)
{
	const struct pipeline_figures *figures = pipeline_figures(api->options.pipeline);
	uint64_t live, all;

	TRY(store_count_jobs(reader, &live, &all, err));
	json_put_i64(w, "lines_per_second", (int64_t)atomic_load(&figures->lines_per_s));
	json_put_i64(w, "lag_ms", atomic_load(&figures->lag_ms));
	json_put_i64(w, "jobs", (int64_t)all);
	json_put_i64(w, "live_jobs", (int64_t)live);
	json_put_i64(w, "started_ms", api->started_ms);
	json_key(w, "ingest");
	json_object(w);
	json_put_i64(w, "duplicate_chunks", (int64_t)atomic_load(&figures->duplicate_pushes));
	json_put_i64(w, "no_job_lines", (int64_t)atomic_load(&api->no_job_lines));
	json_put_i64(w, "bad_times", (int64_t)atomic_load(&api->bad_times));
	for (size_t i = 0; i < VERDICT_COUNT; i++)
		json_put_i64(w, event_counters[i].name, (int64_t)atomic_load(&api->events[i]));
	json_object_end(w);
	return OK;
}

/* Public, because a page must know whether to sign in; how much there is is for those who may read. */
enum status api_info(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	struct json_writer w = api_reply(response);
	char seq[24];

	json_object(&w);
	json_put_text(&w, "version", SM_VERSION);
	json_put_i64(&w, "api_minor", 1);
	json_put_bool(&w, "demo", api->options.is_demo);
	snprintf(seq, sizeof seq, "%llu",
		(unsigned long long)atomic_load(&pipeline_figures(api->options.pipeline)->extracted_seq));
	json_put_text(&w, "seq", seq);
	if (!api_needs_tokens(api) || http_may(http_request_principal(request), SCOPE_READ))
		TRY(write_counts(api, ((struct api_worker *)worker)->reader, &w, err));
	json_key(&w, "limits");
	json_object(&w);
	json_put_i64(&w, "max_line_bytes", (int64_t)api->options.max_line_bytes);
	json_put_i64(&w, "silent_after_ms", api->options.silent_ms);
	json_put_i64(&w, "slice_bytes", (int64_t)api->options.slice_bytes);
	json_object_end(&w);
	json_object_end(&w);
	return OK;
}

/* ---- Prometheus text, exposition format 0.0.4 ---- */

static void metric(struct buf *out, const char *type, const char *name, const char *help, uint64_t value)
{
	buf_printf(out, "# HELP smfleet_%s %s\n# TYPE smfleet_%s %s\nsmfleet_%s %llu\n", name, help, name, type, name,
		(unsigned long long)value);
}

static void counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
	metric(out, "counter", name, help, value);
}

/* In seconds, as Prometheus has all times. */
static void seconds(struct buf *out, const char *type, const char *name, const char *help, double value)
{
	char number[33];

	buf_printf(out, "# HELP smfleet_%s %s\n# TYPE smfleet_%s %s\nsmfleet_%s ", name, help, name, type, name);
	buf_append(out, number, json_format_double(value, number));
	buf_append_char(out, '\n');
}

static void gauge(struct buf *out, const char *name, const char *help, uint64_t value)
{
	metric(out, "gauge", name, help, value);
}

static void gauge_head(struct buf *out, const char *name, const char *help)
{
	buf_printf(out, "# HELP smfleet_%s %s\n# TYPE smfleet_%s gauge\n", name, help, name);
}

static void cost_sample(struct buf *out, const char *name, struct span currency, int64_t cost)
{
	char number[33];

	buf_printf(out, "smfleet_%s{", name);
	scraped_label_write(out, "currency", currency);
	buf_append_text(out, "} ");
	buf_append(out, number, json_format_double((double)cost / 1e6, number));
	buf_append_char(out, '\n');
}

static void write_pipeline(struct buf *out, const struct pipeline_figures *f)
{
	counter(out, "lines_total", "Log lines stored.", atomic_load(&f->lines));
	counter(out, "line_bytes_total", "Bytes of log text stored, newlines included.", atomic_load(&f->bytes));
	counter(out, "points_total", "Points extracted.", atomic_load(&f->points));
	counter(out, "refused_points_total",
		"Points left out because their stream has --max-series series already; of Prometheus' also those of a job or stream too many, or of another team.",
		atomic_load(&f->refused_points));
	counter(out, "old_samples_total",
		"Samples of Prometheus' left out because they are no newer than the last one of their series.",
		atomic_load(&f->old_samples));
	counter(out, "unextracted_lines_total",
		"Lines of slices whose extraction failed: for want of memory (they are extracted later), for damaged definitions, or in itself.",
		atomic_load(&f->unextracted_lines));
	counter(out, "extraction_memory_waits_total", "Slices whose extraction waited for memory.",
		atomic_load(&f->memory_waits));
	counter(out, "batches_total", "Slices of uploads committed.", atomic_load(&f->batches));
	counter(out, "commits_total", "Group commits.", atomic_load(&f->commits));
	seconds(out, "counter", "commit_seconds_total", "Time spent in group commits.",
		(double)atomic_load(&f->commit_us) / 1e6);
	counter(out, "failed_commits_total", "Group commits that failed.", atomic_load(&f->failed_commits));
	counter(out, "duplicate_lines_total",
		"Lines and points that were stored already: by an offset, or in a body sent again.",
		atomic_load(&f->duplicate_lines));
	counter(out, "duplicate_chunks_total",
		"Streams of bodies of shippers that were sent again, and not stored twice.",
		atomic_load(&f->duplicate_pushes));
	counter(out, "cut_lines_total", "Lines longer than the limit, cut.", atomic_load(&f->cut_lines));
	counter(out, "refused_busy_total", "Slices refused because a queue or the journal was full.",
		atomic_load(&f->refused_busy));
	counter(out, "incidents_total", "Incidents opened or changed.", atomic_load(&f->incidents));
	counter(out, "sealed_lines_total", "Lines moved from the journal into blocks.", atomic_load(&f->sealed_lines));
	counter(out, "lost_lines_total", "Acknowledged lines whose journal record is damaged.",
		atomic_load(&f->lost_lines));
	counter(out, "sealed_points_total", "Points moved into chunks.", atomic_load(&f->sealed_points));
	gauge(out, "journal_bytes", "Bytes in the journal that are not sealed.", atomic_load(&f->journal_bytes));
	counter(out, "damaged_rows_total",
		"Blocks and chunks that could not be read back while sealing; see sm-server check.",
		atomic_load(&f->damaged_rows));
	counter(out, "expired_blocks_total", "Blocks of log text deleted by a limit.", atomic_load(&f->expired_blocks));
	gauge(out, "log_bytes_limit", "Bytes the database may use before log text is deleted; 0: no limit.",
		atomic_load(&f->log_bytes_limit));
	if (atomic_load(&f->disk_free_bytes) != STORE_FREE_UNKNOWN)
		gauge(out, "disk_free_bytes", "Bytes free on the database's disk.", atomic_load(&f->disk_free_bytes));
	gauge(out, "disk_low", "1: lines get 503 because the disk is nearly full.", atomic_load(&f->is_disk_low));
	gauge(out, "database_lost",
		"1: uploads get 503 because the database's file was deleted, replaced or cut under the server.",
		atomic_load(&f->is_database_lost));
	gauge(out, "open_slice_bytes", "Memory of slices that are being filled.", atomic_load(&f->open_bytes));
	seconds(out, "gauge", "lag_seconds",
		"Of the last second: the longest from the arrival of a line until it was extracted; 0: none came.",
		(double)atomic_load(&f->lag_ms) / 1e3);
	gauge(out, "committed_seq", "Newest commit.", atomic_load(&f->committed_seq));
	gauge(out, "extracted_seq", "Newest commit that extraction and detection have done.",
		atomic_load(&f->extracted_seq));
}

static void write_http(struct buf *out, const struct http_counters *c)
{
	counter(out, "http_requests_total", "Requests.", atomic_load(&c->requests));
	counter(out, "http_refused_auth_total", "Requests refused for their token, host or origin.",
		atomic_load(&c->refused_auth));
	counter(out, "http_refused_busy_total", "Requests refused by a limit.", atomic_load(&c->refused_busy));
	counter(out, "http_errors_4xx_total", "Replies 400 to 499.", atomic_load(&c->errors_4xx));
	counter(out, "http_errors_5xx_total", "Replies 500 to 599.", atomic_load(&c->errors_5xx));
	counter(out, "http_bytes_in_total", "Bytes of bodies received.", atomic_load(&c->bytes_in));
	counter(out, "http_cut_replies_total",
		"Long replies that broke off: the connection was aborted behind their 200.",
		atomic_load(&c->cut_replies));
	counter(out, "http_refused_connections_total", "Connections of addresses that had too many.",
		atomic_load(&c->refused_connections));
	gauge(out, "http_connections", "Open connections.", atomic_load(&c->connections));
	gauge(out, "slow_requests", "Slow requests (--slow-workers) that wait or are at work.", atomic_load(&c->slow));
	gauge(out, "http_streams", "Open event streams.", atomic_load(&c->streams));
}

static void write_store(struct buf *out, const struct store_figures *store)
{
	gauge(out, "database_bytes", "Bytes of database pages.", store->page_count * store->page_bytes);
	gauge(out, "database_free_bytes", "Bytes of database pages that are free.",
		store->freelist_count * store->page_bytes);
	gauge(out, "wal_bytes", "Bytes in the write-ahead log.", store->wal_bytes);
}

/* What cannot be read is left out, and so is a sum of which nothing has a price. */
static void write_money(struct buf *out, const struct api *api, struct store_reader *reader)
{
	static const int64_t day_ms = 24LL * 3600 * 1000;
	AUTO(arena) arena = arena_new();
	int64_t today = clock_wall_ms() / day_ms;
	struct goodput_day *days, sum = {.day = 0};
	struct deleted_cost *deleted;
	struct price_list prices;
	uint64_t unpriced;
	size_t count, deleted_count;

	if (!arena || store_count_unpriced(reader, &unpriced, NULL) != OK ||
		goodput_read_prices(api->options.pipeline, reader, arena, &prices, NULL) != OK ||
		store_read_fleet_days(reader, arena, prices.currency, today - 29, today, &days, &count, NULL) != OK ||
		store_read_deleted_costs(
			reader, arena, prices.currency, today - 29, today, &deleted, &deleted_count, NULL) != OK)
		return;
	for (size_t i = 0; i < count; i++) {
		sum.cost += days[i].cost;
		sum.lost_cost += days[i].lost_cost;
		sum.unpriced_ms += days[i].unpriced_ms;
		sum.estimated_ms += days[i].estimated_ms;
	}
	gauge(out, "unpriced_jobs", "Jobs of an instance type without a price: no sum of costs has them.", unpriced);
	bool is_known = sum.cost || (prices.count && !sum.unpriced_ms);
	if (!is_known && !deleted_count)
		return;
	gauge_head(out, "cost_30_days", "What jobs cost in the last 30 days (UTC), of those that have a price.");
	if (is_known)
		cost_sample(out, "cost_30_days", prices.currency, sum.cost);
	for (size_t i = 0; i < deleted_count; i++)
		cost_sample(out, "cost_30_days", deleted[i].currency, deleted[i].cost);
	gauge(out, "estimated_node_seconds_30_days",
		"What of that cost is of nodes that were counted: nobody stated them.",
		(uint64_t)(sum.estimated_ms / 1000));
	gauge_head(out, "lost_cost_30_days", "Of that for steps made again, restarts and stalls.");
	if (is_known)
		cost_sample(out, "lost_cost_30_days", prices.currency, sum.lost_cost);
	for (size_t i = 0; i < deleted_count; i++)
		cost_sample(out, "lost_cost_30_days", deleted[i].currency, deleted[i].lost_cost);
}

enum status api_metrics_text(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct store_figures store;
	struct hub_counters hub = hub_counters(api->options.hub);

	/* What a database has that cannot be read is left out: that it is so, is among the rest. */
	bool has_store = store_figures(((struct api_worker *)worker)->reader, &store, NULL) == OK;
	response->content_type = "text/plain; version=0.0.4; charset=utf-8";
	write_pipeline(&response->body, pipeline_figures(api->options.pipeline));
	gauge(&response->body, "held_up_streams",
		"Streams whose extraction had no memory: their lines are stored, and it is tried again by itself.",
		pipeline_held_up_streams(api->options.pipeline));
	counter(&response->body, "no_job_lines_total",
		"Entries of shippers that were not stored because no label says of which job they are (--job-labels).",
		atomic_load(&api->no_job_lines));
	counter(&response->body, "bad_times_total",
		"Entries of shippers with a time before 1990 or after 2200: their time of arrival counts.",
		atomic_load(&api->bad_times));
	counter(&response->body, "rejected_samples_total",
		"Samples of Prometheus' that were not stored: a name or time that is none, native histograms, too many labels.",
		atomic_load(&api->rejected_samples));
	for (size_t i = 0; i < VERDICT_COUNT; i++)
		counter(&response->body, event_counters[i].total, event_counters[i].help, atomic_load(&api->events[i]));
	const struct http_server *server = api->server;
	if (server)
		write_http(&response->body, http_server_counters(server));
	gauge(&response->body, "live_subscribers", "Subscribers of live events.", hub.subscribers);
	gauge(&response->body, "live_ring_bytes", "Bytes of events kept for replay.", hub.ring_bytes);
	counter(&response->body, "live_resyncs_total", "Subscribers told to fetch anew.", hub.resyncs);
	if (has_store) {
		write_store(&response->body, &store);
		write_money(&response->body, api, ((struct api_worker *)worker)->reader);
	}
	if (api->options.write_metrics)
		api->options.write_metrics(api->options.context, &response->body);
	TRY(scraped_jobs_write(api, ((struct api_worker *)worker)->reader, request, &response->body, err));
	return buf_status(&response->body, err);
}
