/* A chart as a picture, for mails, READMEs and chats: the buckets that /points gives, drawn here. */
#include "api/charts/points_asked.h"
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/crypto.h"
#include "chart/chart_picture.h"
#include "model/incident.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"
#include "read/charts/work_axis.h"
#include "state/streams/job_view.h"
#include "state/streams/work_times.h"
#include "store/alerts.h"
#include "store/notes.h"

#include <math.h>
#include <stdio.h>

enum {
	CURVES_MAX = 20,
	MARKS_MAX = 200,
	NOTES_MAX = 1000,
	WIDTH_MIN = 120,
	WIDTH_MAX = 4000,
	WIDTH_DEFAULT = 800,
	HEIGHT_MIN = 40,
	HEIGHT_MAX = 2000,
	HEIGHT_DEFAULT = 320,
	SVG_BYTES = 32 << 20,
	ETAG_BYTES = 16
};

struct plot {
	struct api *api;
	struct api_worker *worker;
	struct arena *arena;
	struct chart_query query; /* of each curve, but for the metric */
	struct span jobs[CURVES_MAX], metrics[CURVES_MAX];
	size_t job_count, metric_count;
	struct picture picture;
	struct picture_curve curves[CURVES_MAX];
	struct picture_mark marks[MARKS_MAX + NOTES_MAX];
	size_t note_count;
	int64_t noted_job_id; /* the last whose notes were added */
	struct span metric; /* the one that was found, of the first curve */
	int64_t job_id, origin_ms; /* of the first job */
	const struct work_axis *work; /* of the job whose curves were added last; NULL: x is steps or times */
};

static enum status read_names(struct plot *plot, const struct http_request *request, const char *parameter,
	struct span *names, size_t *count, struct error *err)
{
	struct span list, part;

	if (!http_request_query(request, parameter, &list))
		return OK;
	while (span_next(&list, ',', &part)) {
		if (!part.len)
			continue;
		if (*count == CURVES_MAX)
			return error_set_field(
				err, ERR_TOO_LARGE, parameter, "more than %d names are in %s", CURVES_MAX, parameter);
		TRY(api_decode_name(plot->arena, part, &names[(*count)++], err));
	}
	return OK;
}

static enum status read_what(struct plot *plot, const struct http_request *request, struct error *err)
{
	plot->jobs[plot->job_count++] = http_request_segment(request, 0);
	TRY(read_names(plot, request, "jobs", plot->jobs, &plot->job_count, err));
	TRY(read_names(plot, request, "metric", plot->metrics, &plot->metric_count, err));
	if (!plot->metric_count)
		return error_set_field(err, ERR_INVALID, "metric",
			"which metric? give metric=NAME or metric=A,B (names: GET …/metrics)");
	if (plot->job_count * plot->metric_count > CURVES_MAX)
		return error_set_field(err, ERR_TOO_LARGE, plot->job_count > 1 ? "jobs" : "metric",
			"%zu curves in one picture are more than %d", plot->job_count * plot->metric_count, CURVES_MAX);
	return OK;
}

static enum status read_number(const struct http_request *request, const char *name, int64_t min, int64_t max,
	unsigned *out, struct error *err)
{
	int64_t value = *out;

	TRY(http_query_i64(request, name, min, max, &value, err));
	*out = (unsigned)value;
	return OK;
}

/* One of `names`, which a NULL ends; the first one when it is not said. */
static enum status read_choice(const struct http_request *request, const char *parameter, const char *const *names,
	unsigned *out, struct error *err)
{
	AUTO_DONE(buf) list = BUF_INIT(256);
	struct span value;

	*out = 0;
	if (!http_request_query(request, parameter, &value) || !value.len)
		return OK;
	for (unsigned i = 0; names[i]; i++) {
		*out = i;
		if (span_equal(value, span_from(names[i])))
			return OK;
		buf_printf(&list, "%s%s", i ? ", " : "", names[i]);
	}
	return error_set_field(err, ERR_INVALID, parameter, "%s '%.*s' is none of %.*s", parameter, SPAN_ARGS(value),
		SPAN_ARGS(buf_span(&list)));
}

static enum status read_look(struct plot *plot, const struct http_request *request, struct error *err)
{
	static const char *const themes[] = {"auto", "light", "dark", NULL}, *const scales[] = {"linear", "log", NULL};
	struct picture *picture = &plot->picture;
	struct span smooth, title;
	unsigned theme, scale;

	picture->width = WIDTH_DEFAULT;
	picture->height = HEIGHT_DEFAULT;
	TRY(read_number(request, "width", WIDTH_MIN, WIDTH_MAX, &picture->width, err));
	TRY(read_number(request, "height", HEIGHT_MIN, HEIGHT_MAX, &picture->height, err));
	TRY(read_choice(request, "theme", themes, &theme, err));
	TRY(read_choice(request, "scale", scales, &scale, err));
	picture->theme = (enum picture_theme)theme;
	picture->is_log = scale;
	if (http_request_query(request, "title", &title))
		picture->title = title;
	if (http_request_query(request, "smooth", &smooth) && smooth.len &&
		(!span_parse_double(smooth, &picture->smooth) || !(picture->smooth >= 0 && picture->smooth <= 0.999)))
		return error_set_field(
			err, ERR_INVALID, "smooth", "smooth '%.*s' is no number from 0 to 0.999", SPAN_ARGS(smooth));
	return OK;
}

static enum status read_window(struct plot *plot, const struct http_request *request, struct error *err)
{
	struct chart_query *query = &plot->query;
	struct span axis = SPAN(""), attempts = SPAN("");

	*query = (struct chart_query){.stream = SPAN("")};
	http_request_query(request, "stream", &query->stream);
	http_request_query(request, "x", &axis);
	http_request_query(request, "attempts", &attempts);
	TRY(api_parse_axis(axis, query, err));
	TRY(api_parse_attempts(attempts, query, err));
	TRY(api_read_window(request, query, err));
	bool is_work = chart_axis_is_work(query->axis);
	plot->picture.axis = query->axis;
	plot->picture.has_from = is_work ? isfinite(query->work_from) : query->from != INT64_MIN;
	plot->picture.has_to = is_work ? isfinite(query->work_to) : query->to != INT64_MAX;
	plot->picture.from = is_work ? query->work_from : (double)query->from;
	plot->picture.to = is_work ? query->work_to : (double)query->to;
	if (plot->picture.from > plot->picture.to)
		return error_set_field(err, ERR_SEMANTIC, "from", "from %.17g is behind to %.17g", plot->picture.from,
			plot->picture.to);
	query->buckets = (size_t)plot->picture.width * 2 / 3;
	return OK;
}

/* ---- curves ---- */

static enum status name_curve(
	struct plot *plot, struct span job, struct span metric, struct span *out, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(4096);

	if (plot->job_count > 1)
		buf_append_span(&name, job);
	if (plot->job_count > 1 && plot->metric_count > 1)
		buf_append_text(&name, " · ");
	if (plot->metric_count > 1 || plot->job_count == 1)
		buf_append_span(&name, metric);
	TRY(buf_status(&name, err));
	*out = arena_copy(plot->arena, buf_span(&name));
	return out->ptr ? OK : error_no_memory(err);
}

/* A job has the hue that it has on the page; the next curve of a hue other dashes. */
static void color_curve(struct plot *plot, struct picture_curve *curve, struct span job, struct span metric)
{
	curve->hue = picture_hue(plot->job_count == 1 && plot->metric_count > 1 ? metric : job);
	for (const struct picture_curve *other = plot->curves; other < curve; other++)
		curve->dash += other->hue == curve->hue;
}

/* Or by the work that was done at each. */
static bool is_by_step(const struct plot *plot)
{
	return plot->query.axis == AXIS_STEP || chart_axis_is_work(plot->query.axis);
}

static void add_restarts(struct plot *plot, struct attempt_starts starts)
{
	if (!is_by_step(plot))
		return;
	for (size_t i = 1; i < starts.count && plot->picture.mark_count < MARKS_MAX; i++)
		if (starts.steps[i] != INT64_MAX)
			plot->marks[plot->picture.mark_count++] = (struct picture_mark){
				.x = (double)starts.steps[i], .kind = MARK_RESTART, .text = SPAN("restart")};
}

static enum status add_note(
	struct plot *plot, const struct job_view *view, const struct note_row *row, struct error *err)
{
	bool has_step = is_by_step(plot);
	int64_t origin_ms = plot->query.axis == AXIS_RELATIVE ? job_believed_first_ms(view) : 0;
	AUTO_DONE(buf) text = BUF_INIT(64 << 10);

	if (has_step ? !row->has_step : !row->ts_ms)
		return OK; /* nothing says where that is on this axis */
	if (plot->job_count > 1)
		buf_printf(&text, "%.*s, ", SPAN_ARGS(view->row.name));
	buf_append_text(&text, "note");
	if (row->author.len)
		buf_printf(&text, " by %.*s", SPAN_ARGS(row->author));
	buf_printf(&text, ": %.*s", SPAN_ARGS(row->text));
	TRY(buf_status(&text, err));
	struct picture_mark mark = {.x = has_step ? (double)row->step : (double)(row->ts_ms - origin_ms),
		.kind = MARK_NOTE,
		.hue = picture_hue(view->row.name),
		.text = arena_copy(plot->arena, buf_span(&text))};
	if (!mark.text.ptr)
		return error_no_memory(err);
	plot->marks[plot->picture.mark_count++] = mark;
	plot->note_count++;
	return OK;
}

static enum status add_notes(struct plot *plot, const struct job_view *view, struct error *err)
{
	struct note_row *rows;
	size_t count;

	if (plot->noted_job_id == view->row.job_id || plot->note_count == NOTES_MAX)
		return OK;
	plot->noted_job_id = view->row.job_id;
	TRY(store_read_notes(plot->worker->reader, plot->arena, view->row.job_id, 0, INT64_MAX,
		NOTES_MAX - plot->note_count, &rows, &count, err));
	for (size_t i = 0; i < count; i++)
		TRY(add_note(plot, view, &rows[i], err));
	return OK;
}

static void move_marks(struct plot *plot, size_t from)
{
	for (size_t i = from; plot->work && i < plot->picture.mark_count; i++)
		plot->marks[i].x = work_axis_tokens(plot->work, plot->marks[i].x) * plot->work->each;
}

static enum status add_curve(struct plot *plot, struct span job, struct span metric, struct error *err)
{
	struct picture_curve *curve = &plot->curves[plot->picture.curve_count];
	struct chart_query query = plot->query;
	size_t mark_count = plot->picture.mark_count;
	struct chart chart;

	query.metric = metric;
	TRY(work_axis_chart(
		plot->api->options.pipeline, plot->worker->reader, plot->arena, job, &query, false, &chart, err));
	plot->work = chart.work;
	curve->x_each = chart.work ? chart.work->each : 1;
	TRY(name_curve(plot, job, chart.metric, &curve->name, err));
	curve->buckets = chart.buckets;
	curve->count = chart.count;
	curve->points = chart.total_points;
	color_curve(plot, curve, job, chart.metric);
	if (!plot->picture.curve_count++) {
		plot->metric = chart.metric;
		plot->job_id = chart.view.row.job_id;
		plot->origin_ms = job_believed_first_ms(&chart.view);
		if (plot->job_count == 1)
			add_restarts(plot, chart_starts(&chart.view, chart.metric));
	}
	TRY(add_notes(plot, &chart.view, err));
	move_marks(plot, mark_count);
	return OK;
}

/* Of several, those that are not there are left out; one must be. */
static enum status add_curves(struct plot *plot, struct error *err)
{
	enum status status = OK;

	for (size_t i = 0; i < plot->job_count; i++)
		for (size_t k = 0; k < plot->metric_count; k++) {
			status = add_curve(plot, plot->jobs[i], plot->metrics[k], err);
			if (status != OK && status != ERR_NOT_FOUND)
				return status;
		}
	return plot->picture.curve_count ? OK : status;
}

/* ---- marks ---- */

static enum status add_incident(struct plot *plot, const struct incident_row *row, struct error *err)
{
	const struct incident *incident = &row->incident;
	AUTO_DONE(buf) text = BUF_INIT(256);
	double ms = (double)incident->opened_ms - (plot->query.axis == AXIS_RELATIVE ? (double)plot->origin_ms : 0);

	if (row->metric.len ? !span_equal(row->metric, plot->metric) : is_by_step(plot))
		return OK;
	buf_printf(&text, "%s: %s (%s)", severity_name(incident->severity), incident_kind_name(incident->kind),
		incident_state_name(incident->state));
	struct picture_mark mark = {.x = is_by_step(plot) ? (double)incident->opened_step : ms,
		.severity = incident->severity,
		.text = arena_copy(plot->arena, buf_span(&text))};
	if (!mark.text.ptr)
		return error_no_memory(err);
	plot->marks[plot->picture.mark_count++] = mark;
	return OK;
}

static enum status add_incidents(struct plot *plot, struct error *err)
{
	struct incident_filter filter = {
		.job_id = plot->job_id, .state = -1, .kind = -1, .cursor = SPAN(""), .limit = MARKS_MAX};
	struct incident_row *rows;
	struct span next_cursor;
	size_t count;

	if (plot->job_count > 1)
		return OK;
	TRY(store_read_incidents(plot->worker->reader, plot->arena, &filter, &rows, &count, &next_cursor, err));
	for (size_t i = 0; i < count && plot->picture.mark_count < MARKS_MAX + plot->note_count; i++)
		TRY(add_incident(plot, &rows[i], err));
	return OK;
}

/* ---- the reply ---- */

/* "loss of llama-7b" */
static enum status make_title(struct plot *plot, struct error *err)
{
	AUTO_DONE(buf) title = BUF_INIT(1 << 16);

	if (plot->picture.title.len)
		return OK;
	if (plot->metric_count == 1) {
		buf_append_span(&title, plot->metric);
		buf_append_text(&title, " of ");
	}
	if (plot->job_count > 1)
		buf_printf(&title, "%zu jobs", plot->job_count);
	else
		buf_append_span(&title, plot->jobs[0]);
	TRY(buf_status(&title, err));
	plot->picture.title = arena_copy(plot->arena, buf_span(&title));
	return plot->picture.title.ptr ? OK : error_no_memory(err);
}

static void finish(const struct http_request *request, struct http_response *response)
{
	unsigned char digest[SHA256_BYTES];
	char etag[2 * ETAG_BYTES + 1];

	crypto_sha256(buf_span(&response->body), digest);
	crypto_hex(digest, ETAG_BYTES, etag);
	response->content_type = "image/svg+xml";
	http_response_header(response, "ETag", "\"%s\"", etag);
	http_response_header(response, "Cache-Control", "no-cache"); /* keep it, and ask whether it is still so */
	http_response_header(response, "Content-Security-Policy",
		"default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'");
	if (span_find(http_request_header(request, "If-None-Match"), span_from(etag)) >= 0) {
		response->status = 304;
		buf_reset(&response->body);
	}
}

enum status api_chart_svg(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;

	TRY(api_arena(&arena, err));
	struct plot *plot = arena_alloc(arena, sizeof *plot);
	if (!plot)
		return error_no_memory(err);
	*plot = (struct plot){.api = context, .worker = worker, .arena = arena};
	TRY(read_what(plot, request, err));
	TRY(read_look(plot, request, err));
	TRY(read_window(plot, request, err));
	TRY(add_curves(plot, err));
	size_t mark_count = plot->picture.mark_count;
	TRY(add_incidents(plot, err));
	move_marks(plot, mark_count); /* they are of the one job that is drawn, if any */
	TRY(make_title(plot, err));
	plot->picture.curves = plot->curves;
	plot->picture.marks = plot->marks;
	response->body.max_bytes = SVG_BYTES;
	picture_write(&plot->picture, &response->body);
	TRY(buf_status(&response->body, err));
	finish(request, response);
	return OK;
}
