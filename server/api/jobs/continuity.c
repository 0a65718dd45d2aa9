/* Whether restarts went on from where they were: docs/goodput.md. */
#include "api/jobs/continuity.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "model/jobs/by_hand_place.h"
#include "pipeline/goodput/goodput.h"
#include "read/charts/continuity_read.h"

#include <math.h>
#include <stdio.h>

enum { WHY_BYTES = 4096, PLACE_BYTES = 40 };

static void put_step(struct json_writer *w, const char *name, int64_t step)
{
	json_key(w, name);
	if (step < 0)
		json_null(w);
	else
		json_i64(w, step);
}

static void put_answer(struct json_writer *w, const char *name, enum continuity_answer answer)
{
	json_key(w, name);
	if (answer == CONTINUITY_UNKNOWN)
		json_null(w);
	else
		json_bool(w, answer == CONTINUITY_EQUAL);
}

/* ---- those that statuses tell of, and no step ---- */

struct stated {
	struct continuity_restart *items; /* oldest first; attempt: that of the log, which goes on */
	size_t count, left_out;
};

static size_t find_first_behind(const struct goodput_facts *facts, int64_t ms)
{
	size_t i = 0;

	while (i < facts->point_count && facts->points[i].ts_ms < ms)
		i++;
	return i;
}

static struct continuity_restart stated_restart(const struct goodput_facts *facts, const struct goodput_point *first)
{
	struct continuity_restart restart = {.attempt = first->attempt,
		.continues = SPAN(""),
		.before_job = SPAN(""),
		.checkpoint_step = -1,
		.newest_checkpoint_step = -1,
		.judged = {.first_step = first->step,
			.loss_before = NAN,
			.loss_after = NAN,
			.loss_difference = NAN,
			.loss_spread = NAN,
			.loss_spreads = NAN,
			.verdict = CONTINUITY_NOT_PROVABLE}};
	int64_t stride = facts->stride > 0 ? facts->stride : 1;

	for (size_t i = 0; i < facts->mark_count && facts->marks[i].ts_ms < first->ts_ms; i++) {
		int64_t step = facts->marks[i].bucket == GOODPUT_CHECKPOINT ? facts->marks[i].step : -1;
		if (step > restart.newest_checkpoint_step)
			restart.newest_checkpoint_step = step;
		if (step < first->step && step > restart.checkpoint_step)
			restart.checkpoint_step = step;
	}
	restart.from_step = first->step > stride ? first->step - stride : 0;
	if (restart.checkpoint_step > restart.from_step)
		restart.from_step = restart.checkpoint_step;
	return restart;
}

/* Do its statuses say that training was broken off, and taken up again? */
static bool was_broken_off(const struct goodput_facts *facts)
{
	bool has_trained = false, is_off = false;

	for (size_t i = 0; i < facts->phase_count; i++) {
		if (facts->phases[i].is_training && is_off)
			return true;
		is_off |= has_trained && !facts->phases[i].is_training;
		has_trained |= facts->phases[i].is_training;
	}
	return false;
}

/* No attempt of the log began there: the first step behind it is a new one, or the one that was printed last. */
static bool is_within_attempt(const struct goodput_facts *facts, const struct goodput_break *broken, size_t first)
{
	if (!broken->to_ms || broken->step < 0 || !first || first == facts->point_count)
		return false;
	return broken->from_step < 0 || (facts->points[first].step == broken->step &&
						facts->points[first].attempt == facts->points[first - 1].attempt);
}

/* Work that was broken off and taken up again, without a step that fell back. */
static enum status read_stated(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	struct span job, struct stated *out, struct error *err)
{
	struct job_facts facts;
	struct goodput derived;
	AUTO(json) document = NULL;
	struct job_row row;

	*out = (struct stated){.count = 0};
	TRY(goodput_gather_phases(pipeline, reader, arena, job, clock_wall_ms(), &facts, err));
	if (!was_broken_off(&facts.facts)) /* nor is any of its points looked at */
		return OK;
	TRY(goodput_gather(pipeline, reader, arena, job, clock_wall_ms(), &row, &facts, err));
	TRY(json_parse(&document, row.document, err));
	TRY(goodput_derive(&facts.facts, arena, &derived, err));
	out->items = arena_alloc(arena, (derived.break_count + 1) * sizeof *out->items);
	const struct goodput_break **breaks = arena_alloc(arena, (derived.break_count + 1) * sizeof *breaks);
	if (!out->items || !breaks)
		return error_no_memory(err);
	for (size_t i = 0; i < derived.break_count; i++) {
		const struct goodput_break *broken = &derived.breaks[i];
		size_t first = find_first_behind(&facts.facts, broken->to_ms);
		if (!is_within_attempt(&facts.facts, broken, first))
			continue;
		breaks[out->count] = broken;
		out->items[out->count++] = stated_restart(&facts.facts, &facts.facts.points[first]);
	}
	if (out->count > CONTINUITY_RESTARTS_MAX)
		out->left_out = out->count - CONTINUITY_RESTARTS_MAX;
	out->items += out->left_out;
	out->count -= out->left_out;
	/* Each is a look through all points: not of those that are left out. */
	for (size_t i = 0; i < out->count; i++) {
		const struct goodput_break *broken = breaks[out->left_out + i];
		struct continuity_restart *restart = &out->items[i];
		if (restart->judged.first_step == broken->step)
			TRY(continuity_read_at(pipeline, reader, arena, job, restart->attempt, broken->to_ms,
				broken->step, &restart->judged, err));
		TRY(continuity_settle(document, restart, arena, err));
	}
	return OK;
}

/* ---- one restart ---- */

/* A spread is of one print; that all of many are on one side says more than how far they are. */
static void write_sides(struct buf *why, const struct continuity *c)
{
	size_t count = c->overlap_steps - c->no_number_steps;

	if (!c->higher_steps != !c->lower_steps)
		buf_printf(why, "It is %s at %zu of %zu steps", c->higher_steps ? "higher" : "lower",
			c->higher_steps + c->lower_steps, count);
	else
		buf_printf(why, "It is higher at %zu and lower at %zu of %zu steps", c->higher_steps, c->lower_steps,
			count);
	if (c->is_one_sided && c->loss_spreads <= CONTINUITY_SPREADS_MAX)
		buf_printf(why,
			", which is no chance, though it is within the spreads that are allowed: see whether the state of the optimizer, the data and the precision are those of before");
	buf_append_text(why, ". ");
}

static void write_loss(struct buf *why, const struct continuity *c)
{
	if (!c->overlap_steps)
		buf_printf(why,
			"no step was printed both before and behind the restart, so nothing can be compared: print the loss at each step, or restart from a checkpoint in front of the last printed step. ");
	else if (c->no_number_steps == c->overlap_steps)
		return;
	else if (isnan(c->loss_spread))
		buf_printf(why,
			"%zu steps were printed twice, but too few before them to know how much the loss varies. ",
			c->overlap_steps);
	else {
		buf_printf(why,
			"at %zu steps that were printed twice the loss is %.6g behind the restart and %.6g before it, by their medians; the median of the differences is %.4g, %.3g spreads (a spread is %.4g; %d are allowed). ",
			c->overlap_steps - c->no_number_steps, c->loss_after, c->loss_before, c->loss_difference,
			c->loss_spreads, c->loss_spread, CONTINUITY_SPREADS_MAX);
		write_sides(why, c);
	}
}

static void write_why(struct buf *why, const struct continuity_restart *restart)
{
	const struct continuity *c = &restart->judged;

	if (restart->is_by_hand)
		buf_printf(why, "Set by hand%s%.*s: %.*s. Worked out it is \"%s\": ", restart->set_by.len ? " by " : "",
			SPAN_ARGS(restart->set_by), SPAN_ARGS(restart->why_by_hand),
			continuity_verdict_name(c->verdict));
	if (restart->before_attempt)
		buf_printf(why, "It %s attempt %u%s%.*s, which differed, and is compared with what was before that: ",
			restart->takes_back ? "undoes the restart of" : "goes on from before", restart->before_attempt,
			restart->before_job.len ? " of " : "", SPAN_ARGS(restart->before_job));
	if (c->no_number_steps)
		buf_printf(why,
			"at %zu of %zu steps that were printed twice the loss is no number behind the restart, first at step %lld, where it was %.6g; ",
			c->no_number_steps, c->overlap_steps, (long long)c->no_number_step, c->no_number_before);
	write_loss(why, c);
	if (c->rate == CONTINUITY_DIFFERENT)
		buf_printf(why, "The learning rate at step %lld is %.8g and was %.8g. ", (long long)c->rate_step,
			c->rate_after, c->rate_before);
	if (c->data == CONTINUITY_DIFFERENT)
		buf_printf(why, "What was consumed of the data at step %lld is %.12g and was %.12g. ",
			(long long)c->data_step, c->data_after, c->data_before);
	if (restart->newest_checkpoint_step > restart->from_step)
		buf_printf(why,
			"The newest checkpoint before the restart was of step %lld, and it went on from step %lld. ",
			(long long)restart->newest_checkpoint_step, (long long)restart->from_step);
	while (why->len && (why->ptr[why->len - 1] == ' ' || why->ptr[why->len - 1] == ';'))
		why->len--;
}

/* The gravest alone, and all. */
static void put_causes(struct json_writer *w, const struct continuity_restart *restart)
{
	const struct continuity *c = &restart->judged;
	size_t count = restart->verdict == CONTINUITY_DIFFERS ? c->cause_count : 0;

	json_key(w, "cause");
	if (count)
		json_text(w, c->causes[0]);
	else
		json_null(w);
	json_key(w, "causes");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		json_text(w, c->causes[i]);
	json_array_end(w);
}

static void put_verdict(struct json_writer *w, const struct continuity_restart *restart)
{
	json_put_text(w, "verdict", continuity_verdict_name(restart->verdict));
	if (!restart->is_by_hand)
		return;
	json_put_text(w, "verdict_from", "by_hand");
	json_put_text(w, "worked_out", continuity_verdict_name(restart->judged.verdict));
	json_put_span(w, "set_why", restart->why_by_hand);
	if (restart->set_by.len)
		json_put_span(w, "set_by", restart->set_by);
}

static enum status write_restart(
	struct json_writer *w, const struct continuity_restart *restart, const char *known_from, struct error *err)
{
	const struct continuity *c = &restart->judged;
	AUTO_DONE(buf) why = BUF_INIT(WHY_BYTES);

	write_why(&why, restart);
	TRY(buf_status(&why, err));
	json_object(w);
	json_put_i64(w, "attempt", restart->attempt);
	if (restart->continues.len)
		json_put_span(w, "continues", restart->continues);
	json_put_text(w, "known_from", known_from);
	json_put_i64(w, "from_step", restart->from_step);
	json_put_i64(w, "first_step", c->first_step);
	put_step(w, "checkpoint_step", restart->checkpoint_step);
	put_step(w, "newest_checkpoint_step", restart->newest_checkpoint_step);
	json_put_i64(w, "overlap_steps", (int64_t)c->overlap_steps);
	json_put_i64(w, "no_number_steps", (int64_t)c->no_number_steps);
	api_put_known(w, "loss_before", c->loss_before);
	api_put_known(w, "loss_after", c->loss_after);
	api_put_known(w, "loss_difference", c->loss_difference);
	api_put_known(w, "loss_spread", c->loss_spread);
	api_put_known(w, "loss_spreads", c->loss_spreads);
	json_put_i64(w, "higher_steps", (int64_t)c->higher_steps);
	json_put_i64(w, "lower_steps", (int64_t)c->lower_steps);
	json_put_bool(w, "one_sided", c->is_one_sided);
	put_answer(w, "lr_equal", c->rate);
	put_answer(w, "data_equal", c->data);
	put_verdict(w, restart);
	put_causes(w, restart);
	if (restart->takes_back)
		json_put_i64(w, "takes_back", restart->before_attempt);
	if (restart->takes_back && restart->before_job.len)
		json_put_span(w, "takes_back_in", restart->before_job);
	json_put_span(w, "why", buf_span(&why));
	json_object_end(w);
	return OK;
}

/* Oldest first. */
static enum status write_restarts(
	struct json_writer *w, const struct continuity_report *report, const struct stated *stated, struct error *err)
{
	size_t at = 0;

	json_key(w, "restarts");
	json_array(w);
	for (size_t i = 0; i <= report->count; i++) {
		while (at < stated->count &&
			(i == report->count || stated->items[at].attempt < report->restarts[i].attempt))
			TRY(write_restart(w, &stated->items[at++], "status", err));
		if (i < report->count)
			TRY(write_restart(w, &report->restarts[i], "steps", err));
	}
	json_array_end(w);
	return OK;
}

static bool is_restart(const struct continuity_restart *rows, size_t count, struct span place)
{
	char text[PLACE_BYTES];

	for (size_t i = 0; i < count; i++) {
		snprintf(text, sizeof text, "%u:%lld", rows[i].attempt, (long long)rows[i].judged.first_step);
		if (span_equal(place, span_from(text)))
			return true;
	}
	return false;
}

enum status api_check_restarts(const struct api *api, struct store_reader *reader, struct arena *arena, struct span job,
	const struct json *restarts, struct error *err)
{
	struct continuity_report report;
	struct stated stated;
	char field[BY_HAND_FIELD_BYTES];

	if (!restarts || json_kind(restarts) != JSON_OBJECT || !json_count(restarts))
		return OK; /* who changes the job says what is wrong */
	TRY(continuity_read(api->options.pipeline, reader, arena, job, CONTINUITY_RESTARTS_MAX, &report, err));
	TRY(read_stated(api->options.pipeline, reader, arena, job, &stated, err));
	for (const struct json *at = json_first(restarts); at; at = json_next(at)) {
		struct span place = json_key_of(at);
		if (json_kind(at) == JSON_NULL || is_restart(report.restarts, report.count, place) ||
			is_restart(stated.items, stated.count, place))
			continue;
		by_hand_name_field(field, "restarts", place);
		return error_set_field(err, ERR_SEMANTIC, field,
			"the job has no restart '%.*s': GET /api/v1/jobs/JOB/continuity has attempt and first_step of each, ATTEMPT:FIRST_STEP",
			SPAN_ARGS(span_cut(place, PLACE_BYTES)));
	}
	return OK;
}

enum status api_job_continuity(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	const struct api *api = context;
	struct store_reader *reader = ((struct api_worker *)worker)->reader;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct continuity_report report;
	struct stated stated = {.count = 0};

	TRY(api_arena(&arena, err));
	TRY(continuity_read(api->options.pipeline, reader, arena, http_request_segment(request, 0),
		CONTINUITY_RESTARTS_MAX, &report, err));
	if (report.metric.len)
		TRY(read_stated(api->options.pipeline, reader, arena, http_request_segment(request, 0), &stated, err));
	json_object(&w);
	json_put_span(&w, "metric", report.metric);
	json_put_span(&w, "stream", report.stream);
	json_put_span(&w, "lr_metric", report.rate_metric);
	json_put_span(&w, "data_metric", report.data_metric);
	TRY(write_restarts(&w, &report, &stated, err));
	json_put_i64(&w, "left_out", (int64_t)(report.left_out + stated.left_out));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
