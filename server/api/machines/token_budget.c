/* How many tokens a training has consumed, of how many, and what the rest will take: docs/goodput.md, "Tokens". */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "pipeline/goodput/goodput.h"
#include "read/charts/tokens_read.h"

#include <math.h>
#include <stdio.h>

enum { FORMULA_BYTES = 256 };
#define COST_MOST 9e18 /* millionths: a budget that is a slip of the pen costs more than a number holds */

/* The job's own time, with its restarts and without its pauses. */
static double own_ms(const struct tokens_consumed *c, int64_t paused_ms)
{
	return (double)(c->last_ms - c->first_ms - paused_ms);
}

static double per_day(const struct tokens_consumed *c, int64_t paused_ms)
{
	double ms = own_ms(c, paused_ms);

	return ms > 0 && c->last > c->first ? (c->last - c->first) / ms * DAY_MS : NAN;
}

/* Of the job's own time, how much was billed: waiting for an interrupted machine's successor is time, and costs nothing. */
static double billed_share(const struct job_facts *facts, const struct tokens_consumed *c)
{
	double unbilled_ms = 0;

	for (size_t i = 0; i < facts->facts.phase_count; i++) {
		const struct goodput_phase *phase = &facts->facts.phases[i];
		int64_t from_ms = phase->from_ms > c->first_ms ? phase->from_ms : c->first_ms;
		int64_t to_ms = phase->to_ms < c->last_ms ? phase->to_ms : c->last_ms;
		if (!facts->is_billed[i] && !phase->is_away && from_ms < to_ms)
			unbilled_ms += (double)(to_ms - from_ms);
	}
	return fmax(0, 1 - unbilled_ms / own_ms(c, facts->paused_ms));
}

/* At what a billed hour of the job cost so far. */
static int64_t cost_of(const struct goodput_row *row, double billed_ms)
{
	if (row->cost == STORE_NO_COST || row->billable_ms <= 0)
		return STORE_NO_COST;
	double cost = (double)row->cost / (double)row->billable_ms * billed_ms;
	return fabs(cost) < COST_MOST ? (int64_t)cost : STORE_NO_COST;
}

/* A tracker that was killed was not told the last steps: goodput knows them of lines of the same metric. */
static void go_as_far_as_printed(const struct job_goodput *job, struct tokens_consumed *c)
{
	const struct goodput_facts *facts = &job->facts.facts;
	double made = (double)job->derived.last_step * c->step_tokens;
	bool is_same = span_equal(job->facts.metric, c->step_metric) && span_equal(job->facts.stream, c->step_stream);

	if (!(c->step_tokens > 0) || !is_same || !job->derived.has_steps || !(made > c->last))
		return;
	c->last = made;
	c->last_ms = facts->points[facts->point_count - 1].ts_ms;
}

struct rest {
	double a_day, left_ms; /* NaN: not known */
	double billed;
	bool is_ahead; /* there is one, and the job goes on */
	int64_t cost;
};

static struct rest rest_of(const struct job_goodput *job, const struct tokens_consumed *c)
{
	struct rest rest = {.a_day = per_day(c, job->facts.paused_ms), .left_ms = NAN, .cost = STORE_NO_COST};

	if (c->budget > c->last)
		rest.left_ms = (c->budget - c->last) / rest.a_day * DAY_MS;
	rest.is_ahead = !job->job.ended_ms && isfinite(rest.left_ms) && rest.left_ms < 1e15;
	if (!rest.is_ahead)
		return rest;
	rest.billed = billed_share(&job->facts, c);
	rest.cost = cost_of(&job->row, rest.left_ms * rest.billed);
	return rest;
}

static void write_rest(struct json_writer *w, const struct rest *rest, const struct tokens_consumed *c)
{
	api_put_known(w, "per_day", rest->a_day);
	json_key(w, "eta_ms");
	if (rest->is_ahead)
		json_i64(w, c->last_ms + (int64_t)rest->left_ms);
	else
		json_null(w);
	api_put_cost(w, "eta_cost", rest->cost);
}

static void put_from(struct json_writer *w, const char *name, struct span from)
{
	if (from.len)
		json_put_span(w, name, from);
}

/* Each figure that is known can be worked out again. */
static void write_from(
	struct json_writer *w, const struct job_goodput *job, const struct rest *rest, const struct tokens_consumed *c)
{
	char text[FORMULA_BYTES];

	put_from(w, "budget", c->budget_from);
	put_from(w, "consumed", c->from);
	if (isfinite(rest->a_day)) {
		snprintf(text, sizeof text, "(consumed - %.17g) / %.17g s * 86400 s", c->first,
			own_ms(c, job->facts.paused_ms) / 1000);
		json_put_text(w, "per_day", text);
	}
	if (rest->is_ahead) {
		snprintf(text, sizeof text, "%lld ms + (budget - consumed) / per_day", (long long)c->last_ms);
		json_put_text(w, "eta_ms", text);
	}
	if (rest->cost != STORE_NO_COST) {
		snprintf(text, sizeof text, "(eta_ms - %lld ms) * %.6g billed * %.17g %.*s / %.17g billed s",
			(long long)c->last_ms, rest->billed, (double)job->row.cost / 1e6, SPAN_ARGS(job->row.currency),
			(double)job->row.billable_ms / 1000);
		json_put_text(w, "eta_cost", text);
	}
}

static void write_not_understood(struct json_writer *w, struct span keys)
{
	struct span key;

	json_key(w, "not_understood");
	json_array(w);
	while (keys.len && span_next(&keys, '\n', &key))
		json_span(w, key);
	json_array_end(w);
}

enum status api_job_tokens(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct api *api = context;
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	struct pipeline *pipeline = api->options.pipeline;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct price_list prices;
	struct job_goodput job;
	struct tokens_consumed c;

	TRY(api_arena(&arena, err));
	TRY(goodput_read_prices(pipeline, reader, arena, &prices, err));
	TRY(goodput_read_job(
		pipeline, reader, arena, http_request_segment(request, 0), &prices, clock_wall_ms(), &job, err));
	TRY(tokens_read(pipeline, reader, arena, &job.job, &c, err));
	go_as_far_as_printed(&job, &c);
	struct rest rest = rest_of(&job, &c);
	json_object(&w);
	api_put_known(&w, "budget", c.budget);
	api_put_known(&w, "consumed", c.last);
	write_rest(&w, &rest, &c);
	json_put_span(&w, "currency", job.row.currency);
	json_key(&w, "from");
	json_object(&w);
	write_from(&w, &job, &rest, &c);
	json_object_end(&w);
	write_not_understood(&w, c.not_understood);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
