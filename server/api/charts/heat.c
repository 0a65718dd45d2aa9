/* The nodes of a job beside each other: how far each is from the median of all, by time or step. */
#include "api/charts/points_asked.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/hosts.h"
#include "api/core/request.h"
#include "base/json/json_write.h"
#include "read/charts/chart_query.h"
#include "read/charts/heat.h"
#include "state/streams/job_view.h"

#include <math.h>
#include <stdio.h>

enum { COLUMNS_DEFAULT = 200, COLUMNS_MAX = 1000, AWAY_MAX = 1000000 };

/* The one that a straggler shows in, where none is asked for. */
static const char *const usual_metrics[] = {"step_time", "throughput"};
enum { USUAL_METRICS = sizeof usual_metrics / sizeof *usual_metrics };

static enum status read_query(const struct http_request *request, struct chart_query *query, struct error *err)
{
	int64_t buckets = COLUMNS_DEFAULT;
	struct span axis = SPAN(""), attempts = SPAN("");

	*query = (struct chart_query){.metric = SPAN(""), .stream = SPAN(""), .from = INT64_MIN, .to = INT64_MAX};
	http_request_query(request, "metric", &query->metric);
	http_request_query(request, "x", &axis);
	http_request_query(request, "attempts", &attempts);
	TRY(api_parse_axis(axis, query, err));
	if (query->axis != AXIS_STEP && query->axis != AXIS_TIME)
		return error_set_field(err, ERR_INVALID, "x", "x '%.*s' is none of step, time", SPAN_ARGS(axis));
	TRY(api_parse_attempts(attempts, query, err));
	TRY(http_query_i64(request, "from", INT64_MIN, INT64_MAX, &query->from, err));
	TRY(http_query_i64(request, "to", INT64_MIN, INT64_MAX, &query->to, err));
	TRY(http_query_i64(request, "buckets", 1, COLUMNS_MAX, &buckets, err));
	query->buckets = (size_t)buckets;
	return OK;
}

/* The value that would stand at `at` if they were sorted; moves them (Hoare's selection). */
static double nth_value(double *values, size_t count, size_t at)
{
	size_t low = 0, high = count - 1;

	while (low < high) {
		double pivot = values[low + (high - low) / 2];
		size_t i = low, j = high;
		for (;;) {
			while (values[i] < pivot)
				i++;
			while (values[j] > pivot)
				j--;
			if (i >= j)
				break;
			double other = values[i];
			values[i++] = values[j];
			values[j--] = other;
		}
		if (at <= j)
			high = j;
		else
			low = j + 1;
	}
	return values[at];
}

/* NaN: no stream has a finite mean in that column. */
static double median_of(const struct heat *heat, size_t column, double *room)
{
	size_t count = 0;

	for (size_t row = 0; row < heat->row_count; row++) {
		double mean = heat->means[row * heat->columns + column];
		if (isfinite(mean))
			room[count++] = mean;
	}
	if (!count)
		return NAN;
	double upper = nth_value(room, count, count / 2);
	return count % 2 ? upper : upper + (nth_value(room, count, count / 2 - 1) - upper) / 2;
}

static int64_t away_of(double mean, double median)
{
	double away = mean - median;

	if (away == 0)
		return 0;
	away = 1000 * away / fabs(median);
	return away > AWAY_MAX ? AWAY_MAX : away < -AWAY_MAX ? -AWAY_MAX : llround(away);
}

static void write_row(struct json_writer *w, const struct heat *heat, const struct api_hosts *hosts, size_t row,
	const double *medians)
{
	const struct stream_view *stream = &heat->view.streams[heat->row_streams[row]];
	const double *means = heat->means + row * heat->columns;

	json_object(w);
	json_put_span(w, "stream", stream->name);
	api_write_hosts(w, hosts, stream);
	json_key(w, "away");
	json_array(w);
	for (size_t i = 0; i < heat->columns; i++)
		if (isnan(means[i]))
			json_null(w);
		else if (isinf(means[i]))
			json_text(w, "NaN");
		else
			json_i64(w, away_of(means[i], medians[i]));
	json_array_end(w);
	json_object_end(w);
}

static void write_head(struct json_writer *w, const struct heat *heat, const struct chart_query *query)
{
	const struct series_view *series = heat->series;

	json_put_span(w, "metric", heat->metric);
	json_put_text(w, "role", series ? role_name(series->role) : "other");
	json_put_span(w, "unit", series ? series->unit : SPAN(""));
	if (series && series->higher)
		json_put_bool(w, "higher", series->higher > 0);
	json_put_text(w, "x", query->axis == AXIS_STEP ? "step" : "time");
	json_put_i64(w, "from", heat->first_x);
	json_put_i64(w, "bucket_width", heat->bucket_width);
	json_put_i64(w, "columns", (int64_t)heat->columns);
}

static enum status write_heat(struct json_writer *w, struct arena *arena, const struct heat *heat,
	const struct api_hosts *hosts, const struct chart_query *query, struct error *err)
{
	double *room = arena_alloc(arena, (heat->row_count + 1) * sizeof *room);
	double *medians = arena_alloc(arena, (heat->columns + 1) * sizeof *medians);
	char seq[24];

	if (!room || !medians)
		return error_no_memory(err);
	json_object(w);
	write_head(w, heat, query);
	json_key(w, "median");
	json_array(w);
	for (size_t i = 0; i < heat->columns; i++) {
		medians[i] = median_of(heat, i, room);
		if (isnan(medians[i]))
			json_null(w);
		else
			json_double(w, medians[i]);
	}
	json_array_end(w);
	json_key(w, "rows");
	json_array(w);
	for (size_t row = 0; row < heat->row_count; row++)
		write_row(w, heat, hosts, row, medians);
	json_array_end(w);
	snprintf(seq, sizeof seq, "%llu", (unsigned long long)heat->view.seq);
	json_put_text(w, "seq", seq);
	json_object_end(w);
	return OK;
}

/* Without a name: the first of the usual ones that is printed. */
static enum status read_heat(struct api *api, struct store_reader *reader, struct arena *arena, struct span job,
	struct chart_query *query, struct heat *heat, struct error *err)
{
	if (query->metric.len)
		return heat_read(api->options.pipeline, reader, arena, job, query, heat, err);
	for (size_t i = 0; i < USUAL_METRICS; i++) {
		struct error cause = {0};
		query->metric = span_from(usual_metrics[i]);
		enum status status = heat_read(api->options.pipeline, reader, arena, job, query, heat, &cause);
		bool is_missing = status == ERR_NOT_FOUND && strcmp(cause.field, "metric") == 0;
		if (status != OK && !is_missing)
			*err = cause;
		if (!is_missing)
			return status;
	}
	return error_set_field(err, ERR_NOT_FOUND, "metric",
		"job '%.*s' prints neither a step time nor a throughput: give metric=NAME (names: GET …/metrics)",
		SPAN_ARGS(job));
}

enum status api_job_heat(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct chart_query query;
	struct api_hosts hosts;
	struct heat heat;

	TRY(api_arena(&arena, err));
	TRY(read_query(request, &query, err));
	TRY(read_heat(api, ((struct api_worker *)worker)->reader, arena, http_request_segment(request, 0), &query,
		&heat, err));
	TRY(api_read_hosts(((struct api_worker *)worker)->reader, arena, heat.view.row.job_id, &hosts, err));
	TRY(write_heat(&w, arena, &heat, &hosts, &query, err));
	return buf_status(&response->body, err);
}
