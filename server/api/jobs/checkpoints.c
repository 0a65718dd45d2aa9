/* Checkpoints that a job's log tells of, and what somebody set right of them. */
#include "api/jobs/checkpoints.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "base/json/json_write.h"
#include "model/jobs/by_hand_place.h"
#include "pipeline/goodput/goodput.h"
#include "read/checkpoint_place.h"
#include "read/checkpoints.h"
#include "read/view.h"
#include "state/streams/job_view.h"
#include "store/jobs.h"

#include <inttypes.h>

enum { LIMIT_DEFAULT = 100, LIMIT_MAX = 10000 };

static void write_all(struct json_writer *w, const char *name, const struct checkpoint_row *rows, size_t count)
{
	json_key(w, name);
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_i64(w, "step", rows[i].step);
		checkpoint_write_place(w, &rows[i]);
		if (rows[i].path.len)
			json_put_span(w, "path", rows[i].path);
		json_object_end(w);
	}
	json_array_end(w);
}

enum status api_job_checkpoints(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct checkpoint_row *rows, *denied;
	size_t limit, count, denied_count;
	struct job_row job;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	TRY(store_read_job(reader, arena, http_request_segment(request, 0), &job, err));
	TRY(checkpoints_read(reader, arena, job.job_id, INT64_MAX, limit, &rows, &count, err));
	TRY(checkpoints_read_denied(reader, arena, job.job_id, &denied, &denied_count, err));
	json_object(&w);
	write_all(&w, "checkpoints", rows, count);
	write_all(&w, "denied", denied, denied_count);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- what may be set right ---- */

static int64_t newest_step_of(const struct job_view *view)
{
	int64_t newest = INT64_MIN;

	for (size_t i = 0; i < view->stream_count; i++)
		for (size_t j = 0; j < view->streams[i].series_count; j++) {
			const struct series_view *series = &view->streams[i].series[j];
			if (series->summary.count && series->max_step > newest)
				newest = series->max_step;
		}
	return newest;
}

/* How far a job came: read once for all that are to be set. */
struct reach {
	const struct api *api;
	struct store_reader *reader;
	struct arena *arena;
	struct job_view view;
	bool is_read;
	int64_t newest, every; /* steps between two prints; 0: its log says no steps */
};

static enum status read_reach(struct reach *r, struct error *err)
{
	struct pipeline *pipeline = r->api->options.pipeline;
	struct price_list prices;
	struct job_goodput job;

	if (r->is_read)
		return OK;
	TRY(goodput_read_prices(pipeline, r->reader, r->arena, &prices, err));
	TRY(goodput_read_job(pipeline, r->reader, r->arena, r->view.row.name, &prices, clock_wall_ms(), &job, err));
	r->newest = newest_step_of(&r->view);
	r->every = job.derived.has_steps ? job.derived.stride : 0;
	for (size_t i = 0; i < r->view.stream_count; i++)
		if (span_equal(r->view.streams[i].name, job.facts.stream) &&
			stream_view_counts(&r->view.streams[i], job.facts.metric))
			r->every = 0;
	r->is_read = true;
	return OK;
}

/* Does its log say steps, and not this one, nor one print before it? */
static enum status check_reached(struct reach *r, int64_t step, const char *field, struct error *err)
{
	TRY(read_reach(r, err));
	if (step <= r->newest || r->every <= 0 || step - r->every <= r->newest)
		return OK;
	return error_set_field(err, ERR_SEMANTIC, field,
		"%s: the job did not come that far: its newest step is %" PRId64 ", and it prints each %" PRId64, field,
		r->newest, r->every);
}

/* One that no line tells of is of an attempt that there was, and was saved at some time. */
static enum status check_one(struct reach *r, const struct json *value, struct error *err)
{
	uint32_t attempts = job_view_attempts(&r->view);
	char field[BY_HAND_FIELD_BYTES];
	struct checkpoint_row told;
	uint32_t attempt;
	int64_t step;
	bool is_told;

	if (json_kind(value) != JSON_OBJECT || !by_hand_read_attempt(json_key_of(value), &attempt, &step))
		return OK; /* who changes the job says what is wrong */
	TRY(store_read_checkpoint(r->reader, r->arena, r->view.row.job_id, attempt, step, &told, &is_told, err));
	if (is_told)
		return OK;
	by_hand_name_field(field, "checkpoints", json_key_of(value));
	if (!attempt || attempt > attempts)
		return error_set_field(err, ERR_SEMANTIC, field,
			"%s: no line tells of this checkpoint, and one that is added is of an attempt of the job: from 1 to %u",
			field, attempts);
	if (!json_get(value, "ts_ms"))
		return error_set_field(err, ERR_SEMANTIC, field,
			"%s: no line tells of this checkpoint (GET /api/v1/jobs/JOB/checkpoints has attempt and step of those that one does); to add it, say ts_ms, when it was saved",
			field);
	return check_reached(r, step, field, err);
}

enum status api_check_checkpoints(const struct api *api, struct store_reader *reader, struct arena *arena,
	struct span job, const struct json *checkpoints, struct error *err)
{
	struct reach reach = {.api = api, .reader = reader, .arena = arena};

	if (!checkpoints || json_kind(checkpoints) != JSON_OBJECT || !json_count(checkpoints) ||
		json_count(checkpoints) > BY_HAND_PLACES_MAX)
		return OK; /* who changes the job says what is wrong */
	TRY(view_read_job(
		api->options.pipeline, reader, arena, job, SPAN(""), SPAN(""), VIEW_SERIES, &reach.view, err));
	for (const struct json *at = json_first(checkpoints); at; at = json_next(at))
		TRY(check_one(&reach, at, err));
	return OK;
}
