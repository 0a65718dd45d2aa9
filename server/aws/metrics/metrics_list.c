/* ListMetrics: the newest jobs first, each with its series; a token says behind which job, and how many of the next one were told. */
#include "aws/metrics/metrics.h"
#include "base/clock.h"
#include "base/map.h"
#include "model/metrics/instance_metric.h"
#include "model/metrics/stream_name.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "store/search.h"

#include <stdio.h>

enum { PAGE_METRICS = 500, PAGE_JOBS = 100, RECENT_MS = 3 * 3600 * 1000, TOKEN_BYTES = 1024 };

struct listing {
	struct aws_call *call;
	struct arena *arena; /* of the job at hand */
	struct map *told; /* of it: "stream of its own|metric" */
	struct span namespace_name, name;
	const struct json *dimensions;
	int64_t active_ms; /* only what had a point since; 0: all */
	uint64_t to_skip; /* of the job at hand */
	uint64_t passed; /* of it, skipped ones, too */
	size_t written;
	bool is_full;
};

/* ---- one metric ---- */

static bool has_dimension(const struct metric_identity *identity, struct span name, struct span value)
{
	for (size_t i = 0; i < identity->dimension_count; i++)
		if (span_equal(identity->dimensions[i].name, name) &&
			(!value.len || span_equal(identity->dimensions[i].value, value)))
			return true;
	return false;
}

static bool is_asked(const struct listing *l, const struct metric_identity *identity)
{
	if (l->namespace_name.len && !span_equal(l->namespace_name, identity->namespace_name))
		return false;
	if (l->name.len && !span_equal(l->name, identity->name))
		return false;
	for (const struct json *node = json_first(l->dimensions); node; node = json_next(node))
		if (!has_dimension(identity, metrics_text(node, "Name"), metrics_text(node, "Value")))
			return false;
	return true;
}

static void write_metric(const struct metric_identity *identity, struct json_writer *w)
{
	json_object(w);
	json_put_span(w, "Namespace", identity->namespace_name);
	json_put_span(w, "MetricName", identity->name);
	json_key(w, "Dimensions");
	json_array(w);
	for (size_t i = 0; i < identity->dimension_count; i++) {
		json_object(w);
		json_put_span(w, "Name", identity->dimensions[i].name);
		json_put_span(w, "Value", identity->dimensions[i].value);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

/* Streams that are one job's are one metric of it. */
static enum status is_new(struct listing *l, struct span stream, struct span metric, bool *out, struct error *err)
{
	AUTO_DONE(buf) key = BUF_INIT(4096);

	if (metric_map_is_apart(stream))
		buf_append_span(&key, stream);
	buf_append_char(&key, '\n');
	buf_append_span(&key, metric);
	TRY(buf_status(&key, err));
	*out = !map_get(l->told, buf_span(&key));
	return !*out || map_put(l->told, buf_span(&key), l) ? OK : error_no_memory(err);
}

/* What SageMaker has a name for is told under that one. */
static enum status tell_series(
	struct listing *l, struct span job, struct span stream, const struct series_view *series, struct error *err)
{
	struct metric_identity identity;
	const struct instance_metric *instance;
	struct span metric = series->metric;
	bool is_first;

	if (!series->summary.count || series->max_ms < l->active_ms)
		return OK;
	TRY(metric_map_identity(l->arena, job, stream, metric, &identity, err));
	if (stream_is_system(stream) && (instance = instance_metric_of(identity.name))) {
		identity.name = metric = span_from(instance->name);
		identity.dimension_count = 1; /* of all devices */
	}
	TRY(is_new(l, stream, metric, &is_first, err));
	if (!is_first || !is_asked(l, &identity) || l->passed++ < l->to_skip)
		return OK;
	if (l->written == PAGE_METRICS) {
		l->passed--;
		l->is_full = true;
		return OK;
	}
	l->written++;
	write_metric(&identity, &l->call->w);
	return OK;
}

/* ---- jobs ---- */

static enum status tell_view(struct listing *l, const struct job_view *view, struct error *err)
{
	for (size_t i = 0; i < view->stream_count && !l->is_full; i++)
		for (size_t j = 0; j < view->streams[i].series_count && !l->is_full; j++)
			TRY(tell_series(l, view->row.name, view->streams[i].name, &view->streams[i].series[j], err));
	return OK;
}

static enum status tell_job(struct listing *l, struct span job, struct error *err)
{
	AUTO(arena) arena = arena_new();
	AUTO(map) told = map_new();
	struct job_view view;

	if (!arena || !told)
		return error_no_memory(err);
	l->arena = arena;
	l->told = told;
	l->passed = 0;
	enum status status = view_read_job(
		l->call->pipeline, l->call->reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &view, err);
	if (status == ERR_NOT_FOUND) /* deleted meanwhile, or never there */
		return OK;
	TRY(status);
	return tell_view(l, &view, err);
}

/* The job that the dimensions name; "": they name none. */
static struct span named_job(const struct listing *l)
{
	for (const struct json *node = json_first(l->dimensions); node; node = json_next(node)) {
		struct span name = metrics_text(node, "Name"), value = metrics_text(node, "Value");
		if (span_equal(name, SPAN("TrainingJobName")))
			return value;
		bool is_host = span_equal(name, SPAN("Host")) &&
			       span_equal(l->namespace_name, SPAN("/aws/sagemaker/TrainingJobs"));
		for (size_t at = value.len; is_host && at > 0; at--)
			if (value.ptr[at - 1] == '/')
				return span_of(value.ptr, at - 1);
	}
	return SPAN("");
}

/* A token is "SKIP" or "SKIP CURSOR". */
static enum status read_token(struct listing *l, struct span *cursor, struct error *err)
{
	struct span token = metrics_text(l->call->input, "NextToken"), skip;

	*cursor = SPAN("");
	if (!token.len)
		return OK;
	*cursor = token;
	if (span_next(cursor, ' ', &skip) && span_parse_u64(skip, &l->to_skip))
		return OK;
	return aws_error(err, ERR_SEMANTIC, METRICS_INVALID, "The NextToken '%.*s' is not one of this operation.",
		(int)(token.len < 100 ? token.len : 100), token.ptr);
}

static void write_token(struct listing *l, struct span cursor)
{
	char token[TOKEN_BYTES];

	snprintf(token, sizeof token, "%llu %.*s", (unsigned long long)(l->is_full ? l->passed : 0), SPAN_ARGS(cursor));
	json_array_end(&l->call->w);
	json_put_text(&l->call->w, "NextToken", token);
}

static enum status tell_jobs(struct listing *l, struct span cursor, struct error *err)
{
	struct job_search search = {.sort = SPAN(""),
		.cursor = cursor,
		.limit = PAGE_JOBS,
		.wants_cursors = true,
		.limit_ms = l->call->options->job_search_ms};
	int64_t until_ms = clock_mono_ms() + l->call->options->job_search_ms;
	struct job_search_result found;

	enum status status = store_search_jobs(l->call->reader, l->call->arena, &search, &found, err);
	if (status == ERR_INVALID || status == ERR_SEMANTIC)
		return aws_error(err, ERR_SEMANTIC, METRICS_INVALID, "The NextToken is not one of this operation.");
	TRY(status);
	for (size_t i = 0; i < found.count; i++) {
		TRY(tell_job(l, found.rows[i].name, err));
		if (l->is_full || (clock_mono_ms() > until_ms && i + 1 < found.count)) {
			write_token(l, l->is_full ? cursor : found.cursors[i]);
			return OK;
		}
		l->to_skip = 0;
		cursor = found.cursors[i];
	}
	if (found.next_cursor.len)
		write_token(l, found.next_cursor);
	else
		json_array_end(&l->call->w);
	return OK;
}

enum status metrics_list(struct aws_call *call, struct error *err)
{
	struct listing l = {.call = call,
		.namespace_name = metrics_text(call->input, "Namespace"),
		.name = metrics_text(call->input, "MetricName"),
		.dimensions = json_get(call->input, "Dimensions")};
	struct span job = named_job(&l), cursor;

	TRY(read_token(&l, &cursor, err));
	if (metrics_text(call->input, "RecentlyActive").len)
		l.active_ms = call->now_ms - RECENT_MS;
	json_key(&call->w, "Metrics");
	json_array(&call->w);
	if (!job.len)
		return tell_jobs(&l, cursor, err);
	TRY(tell_job(&l, job, err));
	if (l.is_full)
		write_token(&l, SPAN(""));
	else
		json_array_end(&call->w);
	return OK;
}
