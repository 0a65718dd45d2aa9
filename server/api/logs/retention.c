/* Limits on log text, the pin that lifts them, and the forecast: what is used, how it grows, what goes next. */
#include "api/logs/retention.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "base/options/options.h"
#include "pipeline/pipeline.h"
#include "pipeline/retention/retention_limits.h"
#include "store/retention.h"

#include <math.h>

enum { NEXT_JOBS = 20 };

static const double day_ms = 24.0 * 60 * 60 * 1000;

/* ---- GET ---- */

static void write_limits(struct json_writer *w, const struct retention *limits)
{
	if (limits->max_age_ms)
		json_put_double(w, "max_age_days", (double)limits->max_age_ms / day_ms);
	if (limits->max_bytes)
		json_put_i64(w, "max_bytes", (int64_t)limits->max_bytes);
}

static void write_space(struct json_writer *w, const struct pipeline_figures *figures)
{
	uint64_t limit = atomic_load(&figures->log_bytes_limit), used = atomic_load(&figures->used_bytes);
	int64_t growth = atomic_load(&figures->growth_bytes_a_day);

	json_put_i64(w, "log_bytes", (int64_t)limit);
	bool has_looked = atomic_load(&figures->used_at_ms);
	api_put_known(w, "used_bytes", has_looked ? (double)used : NAN);
	api_put_known(w, "used_at_ms", has_looked ? (double)atomic_load(&figures->used_at_ms) : NAN);
	api_put_disk_free(w, figures);
	json_key(w, "forecast");
	json_object(w);
	if (growth != INT64_MIN) {
		json_put_i64(w, "growth_bytes_a_day", growth);
		if (growth > 0 && limit && has_looked)
			json_put_double(w, "days_left", limit > used ? (double)(limit - used) / (double)growth : 0);
	}
}

/* What the next start sets again, whatever PUT says. */
static void write_stated(struct json_writer *w, const struct options *options)
{
	static const char *const names[] = {[OPTION_FROM_FILE] = "the config file",
		[OPTION_FROM_ENVIRONMENT] = "the environment",
		[OPTION_FROM_FLAG] = "the command line"};

	options_lock(options);
	enum option_origin origin = options_origin(options, "log-bytes");
	if (origin >= OPTION_FROM_FILE) {
		json_key(w, "stated");
		json_object(w);
		json_put_i64(w, "log_bytes", options_i64(options, "log-bytes"));
		json_put_text(w, "by", names[origin]);
		json_object_end(w);
	}
	options_unlock(options);
}

static enum status write_next(
	struct json_writer *w, struct store_reader *reader, struct arena *arena, struct error *err)
{
	struct expendable *jobs;
	size_t count;

	TRY(store_read_expendable(
		reader, arena, 0, 0, clock_wall_ms() - (int64_t)day_ms, NEXT_JOBS, &jobs, &count, err));
	json_key(w, "next");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		TRY(store_weigh_text(reader, &jobs[i], err));
		json_object(w);
		json_put_span(w, "job", jobs[i].name);
		json_put_i64(w, "ended_ms", jobs[i].ended_ms);
		json_put_i64(w, "text_bytes", (int64_t)jobs[i].text_bytes);
		json_put_i64(w, "stored_bytes", (int64_t)jobs[i].stored_bytes);
		write_limits(w, &jobs[i].retention);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w); /* the forecast */
	return OK;
}

static void write_teams(struct json_writer *w, const struct team_retention *teams, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!teams[i].team.len)
			write_limits(w, &teams[i].retention);
	json_key(w, "teams");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		if (!teams[i].team.len)
			continue;
		json_object(w);
		json_put_span(w, "team", teams[i].team);
		write_limits(w, &teams[i].retention);
		json_object_end(w);
	}
	json_array_end(w);
}

enum status api_retention_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct team_retention *teams;
	size_t count;

	(void)request;
	TRY(api_arena(&arena, err));
	TRY(store_read_team_retentions(reader, arena, &teams, &count, err));
	json_object(&w);
	write_teams(&w, teams, count);
	write_stated(&w, api->options.settings);
	write_space(&w, pipeline_figures(api->options.pipeline));
	TRY(write_next(&w, reader, arena, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- PUT ---- */

static enum status read_limits(const struct json *object, struct retention *out, struct error *err)
{
	const struct json *days = json_get(object, "max_age_days");
	int64_t max_bytes = 0;
	double age = 0;

	if (days && json_kind(days) != JSON_NULL && (!json_number_of(days, &age) || !(age >= 0) || age > 36500))
		return error_set_field(err, ERR_SEMANTIC, "max_age_days",
			"max_age_days must be a number from 0 to 36500; 0: no limit");
	TRY(json_want_i64(object, "max_bytes", &max_bytes, err));
	if (max_bytes < 0)
		return error_set_field(err, ERR_SEMANTIC, "max_bytes", "max_bytes must not be negative; 0: no limit");
	*out = (struct retention){.max_age_ms = (int64_t)(age * day_ms), .max_bytes = (uint64_t)max_bytes};
	return OK;
}

/* A key that is mistyped, or a team that is null, must not fall back to the whole server: its limits delete everybody's text. */
static enum status check_keys(const struct json *body, struct error *err)
{
	static const struct span known[] = {
		SPAN("log_bytes"), SPAN("team"), SPAN("max_age_days"), SPAN("max_bytes"), SPAN("job")};
	const struct json *team = json_get(body, "team");

	for (const struct json *item = json_first(body); item; item = json_next(item)) {
		bool is_known = false;
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			is_known = is_known || span_equal(json_key_of(item), known[i]);
		if (!is_known)
			return error_set(err, ERR_SEMANTIC,
				"'%.*s' is no limit; there are log_bytes, max_age_days, max_bytes, and team for those of one",
				SPAN_ARGS(json_key_of(item)));
	}
	if (team && json_kind(team) != JSON_STRING)
		return error_set_field(
			err, ERR_SEMANTIC, "team", "team must be a string; leave it out for the server's limits");
	return OK;
}

/* {"log_bytes"} and {"team": "", "max_age_days", "max_bytes"}; a job's own limits: PATCH of the job. */
enum status api_retention_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	struct span team = SPAN("");
	struct retention limits;
	int64_t log_bytes = -1;

	TRY(api_body_object(request, &body, err));
	TRY(check_keys(body, err));
	TRY(json_want_string(body, "team", &team, err));
	TRY(json_want_i64(body, "log_bytes", &log_bytes, err));
	TRY(read_limits(body, &limits, err));
	/* a token of a team changes that team's, and what is everybody's not at all */
	if (api_team(request).len && log_bytes >= 0)
		return error_set_field(err, ERR_FORBIDDEN, "log_bytes",
			"log_bytes is the whole server's; this token is of team '%.*s'", SPAN_ARGS(api_team(request)));
	TRY(api_own_team(request, &team, err));
	if (json_get(body, "log_bytes") && log_bytes < 0)
		return error_set_field(err, ERR_SEMANTIC, "log_bytes", "log_bytes must not be negative; 0: no limit");
	if (json_get(body, "job"))
		return error_set_field(err, ERR_SEMANTIC, "job",
			"a job's own limits are set by PATCH /api/v1/jobs/{job} {\"retention\": …}");
	if (log_bytes >= 0)
		TRY(pipeline_limit_space(api->options.pipeline, (uint64_t)log_bytes, err));
	if (json_get(body, "team") || json_get(body, "max_age_days") || json_get(body, "max_bytes"))
		TRY(pipeline_limit_team(api->options.pipeline, team, &limits, err));
	return api_retention_get(context, worker, request, response, err);
}

/* {"max_age_days", "max_bytes"}: the job's own limits, whole; what is not said, or null, is its team's again. */
enum status api_limit_job(struct api *api, const struct http_request *request, const struct json *retention,
	struct json_writer *w, struct error *err)
{
	struct retention limits = {0};

	if (!http_may(http_request_principal(request), SCOPE_ADMIN))
		return error_set_field(
			err, ERR_FORBIDDEN, "retention", "limits on log text are changed by an admin token");
	if (json_kind(retention) != JSON_OBJECT && json_kind(retention) != JSON_NULL)
		return error_set_field(err, ERR_SEMANTIC, "retention", "retention must be an object, or null");
	if (json_kind(retention) == JSON_OBJECT)
		TRY(read_limits(retention, &limits, err));
	TRY(pipeline_limit_job(
		api->options.pipeline, http_request_segment(request, 0), api_team(request), &limits, err));
	json_key(w, "retention");
	json_object(w);
	write_limits(w, &limits);
	json_object_end(w);
	return OK;
}

enum status api_job_pin(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;
	bool is_pinned = true;
	struct span job = http_request_segment(request, 0);

	(void)worker;
	TRY(api_body_object(request, &body, err));
	TRY(json_want_bool(body, "pinned", &is_pinned, err));
	TRY(pipeline_pin_job(api->options.pipeline, job, api_team(request), is_pinned, err));
	struct json_writer w = api_reply(response);
	json_object(&w);
	json_put_span(&w, "job", job);
	json_put_bool(&w, "pinned", is_pinned);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
