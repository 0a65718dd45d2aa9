/* The declared learning rate beside the printed one: docs/schedule.md. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "read/charts/schedule_read.h"

#include <math.h>

static void put_from(struct json_writer *w, const char *name, struct span key)
{
	if (key.len)
		json_put_span(w, name, key);
}

static void write_declared(struct json_writer *w, const struct schedule_report *report)
{
	const struct lr_schedule *s = &report->declared;

	json_key(w, "declared");
	if (!s->shape) {
		json_null(w);
		return;
	}
	json_object(w);
	json_put_text(w, "schedule", lr_shape_name(s->shape));
	json_put_double(w, "peak", s->peak);
	json_put_double(w, "initial", s->initial);
	json_put_double(w, "least", s->least);
	json_put_double(w, "warmup_steps", s->warmup);
	if (s->decay > 0)
		json_put_double(w, "decay_steps", s->decay);
	api_put_known(w, "total_steps", s->total > 0 ? s->total : NAN);
	json_key(w, "from");
	json_object(w);
	put_from(w, "schedule", s->shape_from);
	put_from(w, "initial", s->initial_from);
	put_from(w, "peak", s->peak_from);
	put_from(w, "least", s->least_from);
	put_from(w, "warmup_steps", s->warmup_from);
	put_from(w, "decay_steps", s->decay_from);
	put_from(w, "total_steps", s->total_from);
	put_from(w, "skipped_steps", s->skips_from);
	json_object_end(w);
	json_object_end(w);
}

static void write_not_understood(struct json_writer *w, const struct lr_schedule *schedule)
{
	json_key(w, "not_understood");
	json_array(w);
	for (size_t i = 0; i < schedule->not_understood_count; i++)
		json_span(w, schedule->not_understood[i]);
	json_array_end(w);
}

static void write_point(struct json_writer *w, const struct schedule_point *point)
{
	json_object(w);
	json_put_i64(w, "step", point->step);
	api_put_known(w, "declared", point->declared);
	json_put_double(w, "observed", point->observed);
	json_object_end(w);
}

static void write_clipped(struct json_writer *w, const struct schedule_report *report)
{
	bool is_known = !isnan(report->clip) && report->norms;

	api_put_known(w, "clipped_share", is_known ? (double)report->clipped / (double)report->norms : NAN);
	api_put_known(w, "clip", report->clip);
	json_put_span(w, "clip_from", report->clip_from);
	json_put_span(w, "norm_metric", report->norm_metric);
}

static void write_trail(struct json_writer *w, const char *name, const struct schedule_trail *trail)
{
	json_key(w, name);
	if (!trail->prints) {
		json_null(w);
		return;
	}
	json_object(w);
	json_put_span(w, "metric", trail->metric);
	json_put_double(w, "first", trail->first);
	json_put_double(w, "last", trail->last);
	json_put_double(w, "least", trail->least);
	json_put_double(w, "most", trail->most);
	json_put_i64(w, "lowered", (int64_t)trail->lowered);
	json_put_i64(w, "changes_total", (int64_t)trail->change_count);
	json_key(w, "changes");
	json_array(w);
	for (size_t i = 0; i < trail->change_count && i < SCHEDULE_CHANGES_MAX; i++) {
		json_object(w);
		json_put_i64(w, "step", trail->changes[i].step);
		json_put_double(w, "value", trail->changes[i].value);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

static void write_ramp(struct json_writer *w, const struct schedule_report *report)
{
	json_key(w, "batch_ramp");
	if (!report->ramp_from.len) {
		json_null(w);
		return;
	}
	json_object(w);
	json_put_span(w, "setting", report->ramp_from);
	json_put_span(w, "value", report->ramp);
	json_object_end(w);
}

enum status api_job_schedule(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct api *api = context;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct schedule_report report;

	TRY(api_arena(&arena, err));
	TRY(schedule_read(api->options.pipeline, ((struct api_worker *)worker)->reader, arena,
		http_request_segment(request, 0), &report, err));
	json_object(&w);
	json_put_span(&w, "metric", report.metric);
	write_declared(&w, &report);
	write_not_understood(&w, &report.declared);
	json_put_bool(&w, "steps_counted", report.is_counted);
	json_put_bool(&w, "steps_uncertain", report.is_loose);
	json_key(&w, "observed");
	json_array(&w);
	for (size_t i = 0; i < report.observed_count; i++)
		write_point(&w, &report.observed[i]);
	json_array_end(&w);
	json_key(&w, "first_difference");
	if (report.has_difference)
		write_point(&w, &report.difference);
	else
		json_null(&w);
	write_clipped(&w, &report);
	write_trail(&w, "loss_scale", &report.loss_scale);
	write_trail(&w, "batch", &report.batch);
	write_ramp(&w, &report);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
