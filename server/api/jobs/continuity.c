/* Whether restarts went on from where they were: docs/goodput.md. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "read/charts/continuity_read.h"

#include <math.h>
#include <stdio.h>

enum { WHY_BYTES = 4096 };

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
	else
		buf_printf(why,
			"at %zu steps that were printed twice the loss is %.6g behind the restart and %.6g before it, by their medians; the median of the differences is %.4g, %.3g spreads (a spread is %.4g; %d are allowed). ",
			c->overlap_steps - c->no_number_steps, c->loss_after, c->loss_before, c->loss_difference,
			c->loss_spreads, c->loss_spread, CONTINUITY_SPREADS_MAX);
}

static void write_why(struct buf *why, const struct continuity_restart *restart)
{
	const struct continuity *c = &restart->judged;

	if (restart->takes_back)
		buf_printf(why,
			"It undoes the restart of attempt %u, which differed, and is compared with what was before that: ",
			restart->takes_back);
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
static void put_causes(struct json_writer *w, const struct continuity *c)
{
	json_key(w, "cause");
	if (c->cause_count)
		json_text(w, c->causes[0]);
	else
		json_null(w);
	json_key(w, "causes");
	json_array(w);
	for (size_t i = 0; i < c->cause_count; i++)
		json_text(w, c->causes[i]);
	json_array_end(w);
}

static enum status write_restart(struct json_writer *w, const struct continuity_restart *restart, struct error *err)
{
	const struct continuity *c = &restart->judged;
	AUTO_DONE(buf) why = BUF_INIT(WHY_BYTES);

	write_why(&why, restart);
	TRY(buf_status(&why, err));
	json_object(w);
	json_put_i64(w, "attempt", restart->attempt);
	if (restart->continues.len)
		json_put_span(w, "continues", restart->continues);
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
	put_answer(w, "lr_equal", c->rate);
	put_answer(w, "data_equal", c->data);
	json_put_text(w, "verdict", continuity_verdict_name(c->verdict));
	put_causes(w, c);
	if (restart->takes_back)
		json_put_i64(w, "takes_back", restart->takes_back);
	json_put_span(w, "why", buf_span(&why));
	json_object_end(w);
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

	TRY(api_arena(&arena, err));
	TRY(continuity_read(api->options.pipeline, reader, arena, http_request_segment(request, 0),
		CONTINUITY_RESTARTS_MAX, &report, err));
	json_object(&w);
	json_put_span(&w, "metric", report.metric);
	json_put_span(&w, "stream", report.stream);
	json_put_span(&w, "lr_metric", report.rate_metric);
	json_put_span(&w, "data_metric", report.data_metric);
	json_key(&w, "restarts");
	json_array(&w);
	for (size_t i = 0; i < report.count; i++)
		TRY(write_restart(&w, &report.restarts[i], err));
	json_array_end(&w);
	json_put_i64(&w, "left_out", (int64_t)report.left_out);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
