/*
 * Points that were sent as such: consumed in their stream's order, as those that were found in lines. They take the
 * attempt that the stream is in, which their own steps may open, too (extract/sent.h). A later point of the same series and step is a point of its own.
 * Of a distribution the mean of each interval is the metric; its sum and its count are series without a role.
 */
#include "extract/derive.h"
#include "pipeline/consume/consume.h"
#include "pipeline/consume/life_signs.h"
#include "model/metrics/stream_name.h"
#include "state/streams/directory.h"
#include "state/pipeline_state.h"
#include "store/pack/journal_points.h"

#include <math.h>

static int64_t step_of(const struct series_state *series, const struct batch_series *sent, size_t at)
{
	int64_t step = sent->steps[at];

	if (step_is_said(step))
		return step;
	return step == STEP_0_OR_NONE && series->says_steps ? 0 : NO_STEP;
}

/* MLflow's clients say step 0 for none, too: it is told all the same, and the log's values are not its next ones. */
static bool is_of_tracker(const struct stream_state *stream, const struct batch_series *sent)
{
	return atomic_load(&stream->job->is_tracked) && sent->form == SERIES_VALUES && sent->count &&
	       !stream_is_system(span_from(stream->name));
}

/* What was read from lines before the tracker told it first is none of what is counted. */
static uint64_t count_of(const struct stream_state *stream, const struct series_state *series,
	const struct batch_series *sent, size_t at)
{
	return is_of_tracker(stream, sent) && !series->is_told ? at : series->sealed_points + series->tail_count;
}

/*
 * A 0 of a sender that has begun anew, before any other step: the step behind it says whether the training began anew, too. If it did,
 * the 0 is none of the curve that stands.
 */
static bool is_between(const struct stream_state *stream, const struct series_state *series,
	const struct batch_series *sent, size_t at)
{
	return series->says_steps && sent->steps[at] == STEP_0_OR_NONE && extractor_has_begun_sent(stream->extractor);
}

/* One point of entry `at`. */
static enum status consume_value(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct batch_series *sent, size_t at, double value, int64_t arrival_ms, struct error *err)
{
	uint64_t count = count_of(stream, series, sent, at);
	int64_t step = step_of(series, sent, at);
	struct point point = {.step = step == NO_STEP ? (int64_t)count : step,
		.ts_ms = sent->ts_ms[at],
		.value = value,
		.line = NO_LINE,
		.attempt = extractor_attempt_of_sent(stream->extractor, sent->ts_ms[at])};

	bool is_alone = isfinite(value) && is_between(stream, series, sent, at); /* a NaN is one in either */
	bool is_made_again =
		consume_is_made_again(stream, series, &point); /* the series that leads may have come before it */
	struct summary before;
	if (is_made_again)
		before = series->summary;
	series->says_steps |= step_is_said(sent->steps[at]);
	TRY((is_alone ? consume_point_between : consume_point)(pipeline, stream, series, &point, arrival_ms, err));
	if (is_made_again)
		series->summary = before;
	consume_time(stream, point.ts_ms);
	life_signs_see(stream, point.ts_ms);
	return OK;
}

static void count_taken(struct pipeline *pipeline, const struct stream_state *stream, size_t count)
{
	if (!stream->said)
		atomic_fetch_add(&pipeline->figures.points, count);
}

/* A series has the unit of its first point. */
static int factor_to(const struct series_state *series, const struct batch_series *sent)
{
	return time_unit_factor(sent->unit, span_from(series->unit));
}

/* Sent again, by a second sender of the same series, or out of order: a clock's series only goes on. */
static bool is_old_sample(const struct series_state *series, const struct batch_series *sent, size_t at)
{
	return sent->form == SERIES_SAMPLES && series->sealed_points + series->tail_count &&
	       sent->ts_ms[at] <= series->max_ms;
}

/* The step of a point of the series that leads: it may open an attempt. */
static enum status place_step(struct pipeline *pipeline, struct stream_state *stream, const struct series_state *series,
	const struct batch_series *sent, size_t at, int64_t arrival_ms, struct error *err)
{
	struct sent_step step = {.step = step_of(series, sent, at),
		.ts_ms = sent->ts_ms[at],
		.arrival_ms = arrival_ms,
		.may_be_none = !step_is_said(sent->steps[at])};
	bool is_open;

	if (step.step == NO_STEP)
		return OK;
	TRY(extractor_place_sent(stream->extractor, &step, &is_open, err));
	if (is_open)
		consume_opened(stream);
	(void)!consume_revised(stream);
	bool is_decided = is_open || extractor_fallen_ms(stream->extractor) == INT64_MAX;
	return is_decided ? consume_waiting(pipeline, stream, arrival_ms, err) : OK;
}

/* Read again from the journal it is noted here; where it comes first, its commit has done so. */
static enum status note_told(
	struct stream_state *stream, struct series_state *series, const struct batch_series *sent, struct error *err)
{
	struct job_state *job = stream->job;
	unsigned life = atomic_load(&job->life);

	struct told_when when = told_metrics_when(sent, life);
	if (series->told_life == life && !when.has_no_number)
		return OK;
	series->is_told = true;
	if (!told_metrics_is_since(sent, atomic_load(&job->began_ms)))
		return OK; /* of an earlier life, read again or sent late */
	series->told_life = life;
	return told_metrics_add(&job->told, span_from(series->metric), series->role, &when) ? OK : error_no_memory(err);
}

/* NULL: the stream has no room for it. What a role is guessed from is read once a series, not once a post. */
static enum status find_sent(struct pipeline *pipeline, struct stream_state *stream, const struct batch_series *sent,
	struct series_state **out, struct error *err)
{
	struct metric_definition definition = {
		.name = sent->metric, .unit = sent->unit, .is_sampled = sent->form == SERIES_SAMPLES};

	*out = stream_find_series(stream, sent->metric);
	if (*out && !(*out)->has_given_way)
		return OK;
	definition.role = series_role(sent);
	if (!*out)
		return consume_find_series(pipeline, stream, &definition, out, err);
	TRY(consume_give_role(*out, definition.role, err)); /* it gave way to this one: its lines came first */
	(*out)->has_given_way = false;
	return OK;
}

/* Attempts in whose first millisecond a series has points: a bit each, and from, to; to 0: none. */
struct starts_seen {
	uint32_t from, to;
	uint64_t bits[ATTEMPTS_MAX / 64 + 1];
};

static void see_start(const struct stream_state *stream, int64_t ts_ms, struct starts_seen *seen)
{
	uint32_t attempt = extractor_begun_at(stream->extractor, ts_ms);

	if (attempt && (!seen->to || attempt < seen->from))
		seen->from = attempt;
	if (attempt > seen->to)
		seen->to = attempt;
	seen->bits[attempt / 64] |= 1ULL << attempt % 64;
}

static void cut_starts(struct stream_state *stream, struct series_state *series, const struct starts_seen *seen)
{
	bool is_any = false;

	for (uint32_t attempt = seen->from; seen->to && attempt <= seen->to; attempt++)
		if (seen->bits[attempt / 64] >> attempt % 64 & 1)
			is_any |= consume_cut_start(stream, series, attempt);
	if (!is_any)
		return;
	stream->are_axes_due = true;
	consume_rebuild_summary(stream, series);
}

static enum status consume_series(struct pipeline *pipeline, struct stream_state *stream,
	const struct batch_series *sent, int64_t arrival_ms, struct error *err)
{
	struct series_state *series;

	TRY(find_sent(pipeline, stream, sent, &series, err));
	if (!series) {
		atomic_fetch_add(&pipeline->figures.refused_points, sent->count);
		return OK;
	}
	bool is_of_steps = series_is_of_steps(sent, span_from(stream->name));
	bool may_lead = is_of_steps || (series->says_steps && sent->steps[sent->count - 1] == STEP_0_OR_NONE);
	bool leads = may_lead && extractor_is_led_by(stream->extractor, sent->metric, series->role == ROLE_LOSS);
	int factor = factor_to(series, sent);
	struct starts_seen starts = {0};
	size_t taken = 0;
	if (series->tail_count)
		see_start(stream, series->tail[series->tail_count - 1].ts_ms, &starts);
	for (size_t i = 0; i < sent->count; i++) {
		if (is_old_sample(series, sent, i)) {
			atomic_fetch_add(&pipeline->figures.old_samples, 1);
			continue;
		}
		taken++;
		if (leads)
			TRY(place_step(pipeline, stream, series, sent, i, arrival_ms, err));
		double value = time_unit_convert(sent->values[i], factor);
		TRY(consume_value(pipeline, stream, series, sent, i, value, arrival_ms, err));
		see_start(stream, sent->ts_ms[i], &starts);
	}
	cut_starts(stream, series, &starts);
	count_taken(pipeline, stream, taken);
	return is_of_steps || is_of_tracker(stream, sent) ? note_told(stream, series, sent, err) : OK;
}

/* name{labels} -> name.sum{labels} */
static enum status name_part(const struct batch_series *sent, const char *part, struct buf *out, struct error *err)
{
	struct span name = metric_bare_name(sent->metric);

	buf_append_span(out, name);
	buf_append_char(out, sent->form == SERIES_TOTALS_PROMETHEUS ? '_' : '.');
	buf_append_text(out, part);
	buf_append_span(out, span_skip(sent->metric, name.len));
	return buf_status(out, err);
}

static enum status find_part(struct pipeline *pipeline, struct stream_state *stream, const struct batch_series *sent,
	const char *part, struct span unit, struct series_state **out, struct error *err)
{
	AUTO_DONE(buf) name = BUF_INIT(6 * METRIC_NAME_MAX_BYTES) /* and its labels */;
	struct metric_definition definition = {.unit = unit, .role = ROLE_OTHER};

	TRY(name_part(sent, part, &name, err));
	definition.name = buf_span(&name);
	TRY(consume_find_series(pipeline, stream, &definition, out, err));
	if (*out)
		return consume_give_role(
			*out, ROLE_OTHER, err); /* older versions guessed what a part means by its name */
	atomic_fetch_add(&pipeline->figures.refused_points, sent->count);
	return OK;
}

/* True: value is the mean of an interval. */
static bool find_mean(const struct batch_series *sent, size_t at, struct totals *last, double *value)
{
	struct totals now = {true, sent->starts_ms[at], sent->ts_ms[at], sent->values[at], sent->counts[at]};

	if (sent->form != SERIES_INTERVALS)
		return totals_read(last, &now, value);
	*value = now.sum / now.count;
	return now.count > 0;
}

static enum status find_mean_series(struct pipeline *pipeline, struct stream_state *stream,
	const struct batch_series *sent, struct series_state **out, struct error *err)
{
	struct metric_definition definition = {.name = sent->metric, .unit = sent->unit};

	if ((*out = stream_find_series(stream, sent->metric)))
		return OK;
	definition.role = role_guess(metric_bare_name(sent->metric));
	return consume_find_series(pipeline, stream, &definition, out, err);
}

static enum status consume_mean(struct pipeline *pipeline, struct stream_state *stream, const struct batch_series *sent,
	size_t at, double value, int64_t arrival_ms, struct error *err)
{
	struct series_state *series;

	TRY(find_mean_series(pipeline, stream, sent, &series, err));
	if (series) {
		count_taken(pipeline, stream, 1);
		value = time_unit_convert(value, factor_to(series, sent));
		return consume_value(pipeline, stream, series, sent, at, value, arrival_ms, err);
	}
	atomic_fetch_add(&pipeline->figures.refused_points, 1);
	return OK;
}

static enum status consume_distribution(struct pipeline *pipeline, struct stream_state *stream,
	const struct batch_series *sent, int64_t arrival_ms, struct error *err)
{
	struct series_state *sums, *counts;
	double mean;

	TRY(find_part(pipeline, stream, sent, "sum", sent->unit, &sums, err));
	TRY(find_part(pipeline, stream, sent, "count", SPAN(""), &counts, err));
	for (size_t i = 0; i < sent->count; i++) {
		if (counts && find_mean(sent, i, &counts->totals, &mean))
			TRY(consume_mean(pipeline, stream, sent, i, mean, arrival_ms, err));
		if (sums)
			TRY(consume_value(pipeline, stream, sums, sent, i, sent->values[i], arrival_ms, err));
		if (counts)
			TRY(consume_value(pipeline, stream, counts, sent, i, sent->counts[i], arrival_ms, err));
	}
	count_taken(pipeline, stream, sent->count * ((sums != NULL) + (counts != NULL)));
	return OK;
}

/* What waits is of the process before: this one does not tell it. But it may tell what was the log's own until now. */
static enum status begin(struct pipeline *pipeline, struct stream_state *stream, struct error *err)
{
	TRY(held_release(pipeline, stream, true, err));
	extractor_begin_sent(stream->extractor);
	if (!stream->said)
		atomic_fetch_add(&stream->job->begins, 1);
	return OK;
}

enum status consume_points(
	struct pipeline *pipeline, struct stream_state *stream, const struct journal_slice *slice, struct error *err)
{
	struct journal_points cursor = journal_points_open(slice->body);
	struct batch_series series;
	bool has_one = true;

	while (has_one) {
		AUTO(arena) arena = arena_new(); /* of one series: the columns of all are a slice of memory */
		if (!arena)
			return error_no_memory(err);
		TRY(journal_points_next(&cursor, arena, &series, &has_one, err));
		if (has_one && series.form == SERIES_BEGIN)
			TRY(begin(pipeline, stream, err));
		else if (has_one)
			TRY((series_form_is_distribution(series.form) ? consume_distribution : consume_series)(
				pipeline, stream, &series, slice->arrival_ms, err));
	}
	extractor_end_sent(stream->extractor, slice->arrival_ms);
	return extractor_fallen_ms(stream->extractor) == INT64_MAX
		       ? consume_waiting(pipeline, stream, slice->arrival_ms, err)
		       : OK;
}
