/* Which series of its stream a value is of, and whether it becomes a point at all. */
#include "base/clock.h"
#include "extract/derive.h"
#include "pipeline/consume/consume.h"
#include "state/figures.h"

#include <math.h>

/* A series whose name is out of the text has the role that the name tells; of the ranks only the leading one has any. */
static enum role role_of(const struct metric_definition *definition, const struct extracted_series *of)
{
	if (of->rank >= 0 || of->is_beside_guess)
		return ROLE_OTHER;
	if (definition->role == ROLE_LOSS && of->name.len && metric_is_score(of->name))
		return ROLE_OTHER; /* among the losses of a line */
	bool is_told = definition->role == ROLE_OTHER && of->name.len && !definition->keeps_role;
	return is_told ? role_guess(of->name) : definition->role;
}

static struct series_state *make_series(
	struct stream_state *stream, const struct metric_definition *definition, uint32_t number)
{
	struct series_state *series = mem_zeroed(sizeof *series);

	if (!series)
		return NULL;
	series->series_id = stream->stream_id << SERIES_BITS | (stream->series_base + number);
	series->metric = mem_copy_bytes(definition->name.ptr, definition->name.len);
	series->unit = mem_copy_bytes(definition->unit.ptr, definition->unit.len);
	series->role = definition->role;
	series->higher = definition->higher;
	series->axis.awaited =
		extractor_attempt(stream->extractor) > 1 ? 2 : 0; /* it may have been told behind what leads */
	series->measure = measure_of(definition->name, definition->role, definition->unit, &series->factor);
	series->detectors = detector_set_new(definition->role);
	if (series->metric && series->unit && series->detectors &&
		mem_grow((void **)&stream->series, stream->series_count, &stream->series_cap,
			sizeof(struct series_state *)))
		return series;
	series_state_free(series);
	return NULL;
}

enum status consume_find_series(struct pipeline *pipeline, struct stream_state *stream,
	const struct metric_definition *definition, struct series_state **out, struct error *err)
{
	size_t count = stream->series_count - stream->derived_count;
	size_t most =
		definition->is_sampled ? pipeline->options.max_sampled_series : pipeline->options.max_series_a_stream;

	if ((*out = stream_find_series(stream, definition->name)) || count >= most)
		return OK;
	if (!(*out = make_series(stream, definition, (uint32_t)count)))
		return error_no_memory(err);
	stream->series[stream->series_count++] = *out;
	return OK;
}

enum status consume_find_derived(
	struct stream_state *stream, enum derived derived, struct series_state **out, struct error *err)
{
	struct metric_definition definition = derived_definition(derived);

	if ((*out = stream->derived[derived]))
		return OK;
	if (!(*out = stream_find_series(stream, definition.name))) {
		if (!(*out = make_series(stream, &definition, SERIES_DERIVED + derived)))
			return error_no_memory(err);
		stream->series[stream->series_count++] = *out;
		stream->derived_count++;
	}
	stream->derived[derived] = *out;
	return OK;
}

/* Slots up to `number`, empty where they are new. */
static bool grow_numbers(struct stream_state *stream, uint32_t number)
{
	for (; stream->number_count <= number;
		stream->by_number[stream->number_count++] = (struct numbered_series){NULL, 0})
		if (!mem_grow((void **)&stream->by_number, stream->number_count, &stream->number_cap,
			    sizeof *stream->by_number))
			return false;
	return true;
}

/*
 * A trainer's own line may have "step_time=350ms" where its progress bar has "1.82s/it": one metric, in the unit of its first point. A text
 * that says its unit may say another one on each line.
 */
void consume_convert(const struct stream_state *stream, struct extracted *one)
{
	const struct numbered_series *numbered = &stream->by_number[one->series];
	int factor = one->unit.len ? time_unit_factor(one->unit, span_from(numbered->series->unit)) : numbered->factor;

	one->point.value = time_unit_convert(one->point.value, factor);
}

/* A NaN may come first, beside which no unit is said; another definition of the metric may state one. What a restart has made again, and its
 * summary counts no more, may have been numbers. */
static enum status adopt_unit(struct series_state *series, struct span unit, struct error *err)
{
	const struct summary *summary = &series->summary;

	bool may_have_numbers = summary->count > summary->nan_count + summary->inf_count ||
				series->sealed_points + series->tail_count > summary->count;
	if (!unit.len || series->unit[0] || may_have_numbers)
		return OK;
	char *copy = mem_copy_bytes(unit.ptr, unit.len);
	if (!copy)
		return error_no_memory(err);
	mem_free(series->unit);
	series->unit = copy;
	series->measure = measure_of(span_from(series->metric), series->role, unit, &series->factor);
	return OK;
}

enum status consume_series_of(struct pipeline *pipeline, struct stream_state *stream,
	const struct definitions *definitions, const struct extracted *one, struct series_state **out,
	struct error *err)
{
	AUTO_DONE(buf) metric = BUF_INIT(2 * METRIC_NAME_MAX_BYTES);
	uint32_t number = one->series;

	if (number < stream->number_count && (*out = stream->by_number[number].series))
		return adopt_unit(*out, one->unit, err);
	struct extracted_series of = extractor_series(stream->extractor, number);
	struct metric_definition definition = definition_set_get(definitions->set, of.preset, of.definition);
	extractor_series_name(stream->extractor, definitions->set, number, &metric);
	TRY(buf_status(&metric, err));
	if (!grow_numbers(stream, number))
		return error_no_memory(err);
	definition.name = buf_span(&metric);
	definition.role = role_of(&definition, &of);
	definition.unit = one->unit.len ? one->unit : definition.unit;
	TRY(consume_find_series(pipeline, stream, &definition, out, err));
	if (!*out) {
		atomic_fetch_add(&pipeline->figures.refused_points, 1);
		return OK;
	}
	TRY(adopt_unit(*out, definition.unit, err));
	stream->by_number[number] =
		(struct numbered_series){*out, time_unit_factor(definition.unit, span_from((*out)->unit))};
	return OK;
}

void consume_count_on(struct stream_state *stream, const struct definitions *definitions,
	const struct series_state *series, const struct extracted_list *found, size_t first)
{
	uint32_t number = found->items[first].series;

	if (!series_has_points(series) || series->is_told || series->max_step < 0 || series->max_step > INT64_MAX / 2 ||
		!extractor_is_alone(stream->extractor, definitions->set, number))
		return;
	for (size_t i = first; i < found->count; i++)
		if (found->items[i].series == number && found->items[i].is_counted)
			found->items[i].point.step += series->max_step + 1;
	extractor_count_on(stream->extractor, number, (uint64_t)series->max_step + 1);
}

enum status consume_give_role(struct series_state *series, enum role role, struct error *err)
{
	if (series->role == role)
		return OK;
	struct detector_set *detectors = detector_set_new(role);
	if (!detectors)
		return error_no_memory(err);
	detector_set_free(series->detectors);
	series->detectors = detectors;
	series->role = role;
	series->measure = role == ROLE_OTHER ? MEASURE_NONE
					     : measure_of(span_from(series->metric), role, span_from(series->unit),
						       &series->factor);
	return OK;
}

enum status consume_give_way(struct series_state *before, bool is_told, enum role role, struct error *err)
{
	if (!before || before->is_told || before->has_given_way == is_told)
		return OK;
	TRY(consume_give_role(before, is_told ? ROLE_OTHER : role, err));
	before->has_given_way = is_told;
	return OK;
}

enum status consume_see_told(struct pipeline *pipeline, struct stream_state *stream,
	const struct definitions *definitions, const struct extracted *found, struct series_state *series,
	int64_t arrival_ms, bool *is_taken, struct error *err)
{
	struct job_state *job = stream->job;
	struct extracted_series of = extractor_series(stream->extractor, found->series);
	bool may_wait = of.preset >= 0 && held_may(pipeline, stream, series);

	*is_taken = false;
	if (of.preset < 0 || !(may_wait || atomic_load(&job->told.has_any) || series->has_given_way))
		return OK;
	struct metric_definition definition = definition_set_get(definitions->set, of.preset, of.definition);
	if (definition.role == ROLE_STEP_TIME || definition.role == ROLE_THROUGHPUT)
		return OK;
	enum role role = role_of(&definition, &of), told_role = of.name.len ? ROLE_OTHER : definition.role;
	struct told_when when;
	bool is_told =
		told_metrics_find(&job->told, span_from(series->metric), told_role, atomic_load(&job->life), &when);
	struct held_value value = {found->point, arrival_ms, role, told_role, false, false};
	if (is_told && held_is_alone(stream, found->point.ts_ms, arrival_ms)) {
		*is_taken = !held_goes_on_alone(stream, series) && held_may_alone(pipeline, stream);
		return *is_taken ? held_put_alone(pipeline, stream, series, &value, &when, err)
				 : consume_give_way(series, false, role, err);
	}
	*is_taken = is_told || may_wait;
	if (!is_told && may_wait)
		return held_put(pipeline, stream, series, &value, err);
	if (is_told)
		TRY(held_pass_over(pipeline, stream, series, &value, err));
	return consume_give_way(series, is_told && !series->has_stated_steps, role, err);
}

enum status consume_see_step(struct stream_state *stream, const struct definitions *definitions,
	const struct extracted *found, struct series_state *series, int64_t arrival_ms, struct error *err)
{
	struct job_state *job = stream->job;
	struct told_when when;

	series->own_period = held_period(stream);
	series->has_stated_steps = true;
	if (!series->has_given_way)
		return OK;
	struct extracted_series of = extractor_series(stream->extractor, found->series);
	struct metric_definition definition = definition_set_get(definitions->set, of.preset, of.definition);
	enum role role = role_of(&definition, &of), told_role = of.name.len ? ROLE_OTHER : definition.role;
	if (!held_is_alone(stream, found->point.ts_ms, arrival_ms))
		return consume_give_way(series, false, role, err);
	(void)!told_metrics_find(&job->told, span_from(series->metric), told_role, atomic_load(&job->life), &when);
	return held_take_back(stream, series, &found->point, role, &when, err);
}

bool consume_is_told_there(const struct stream_state *stream, const struct extracted *found,
	const struct series_state *series, int64_t arrival_ms)
{
	struct job_state *job = stream->job;

	return series->is_told && atomic_load(&job->is_tracked) && isfinite(found->point.value) &&
	       extractor_series(stream->extractor, found->series).preset >= 0 &&
	       !held_is_alone(stream, found->point.ts_ms, arrival_ms) &&
	       told_metrics_have(&job->told, span_from(series->metric), ROLE_OTHER, atomic_load(&job->life));
}

/* By its lines that wait, or were passed over: the tracker's points of it may not have come, or are of another stream. */
static unsigned said_without_points(const struct series_state *other, int64_t ts_ms, double *usual)
{
	unsigned said = other->has_passed_over ? SAID_NUMBERS : 0;

	if (said)
		*usual = other->passed_over;
	for (size_t i = 0; i < other->held.count; i++) {
		const struct held_value *value = &other->held.values[i];
		if (value->point.ts_ms > ts_ms)
			continue;
		if (isfinite(value->point.value)) {
			*usual = value->point.value;
			said |= SAID_NUMBERS;
		} else if (said || value->is_told) {
			said |= SAID_PRINTED_NONE;
		}
	}
	return said;
}

static unsigned said_by_points(const struct series_state *other, int64_t ts_ms, double *usual)
{
	const struct summary *summary = &other->summary;
	unsigned said = 0;

	if (!series_has_points(other) || other->min_ms > ts_ms)
		return 0;
	bool is_looked_for = other->role != ROLE_OTHER || other->has_given_way; /* a rank's, or a first word, is not */
	if (summary->nan_count + summary->inf_count && (other->is_told || is_looked_for))
		said |= other->is_told ? SAID_TOLD_NONE : SAID_PRINTED_NONE;
	if (summary->count) {
		*usual = summary->last;
		said |= SAID_NUMBERS;
	}
	return said;
}

unsigned consume_said_by_others(const struct stream_state *stream, const struct series_state *series, enum role role,
	int64_t ts_ms, double *usual)
{
	struct span metric = span_from(series->metric);
	unsigned said = 0;

	for (size_t i = 0; i < stream->series_count; i++) {
		const struct series_state *other = stream->series[i];
		if (other == series || !told_metrics_are_one(metric, role, span_from(other->metric), other->role))
			continue;
		said |= said_without_points(other, ts_ms, usual);
		said |= said_by_points(other, ts_ms, usual);
	}
	return said;
}

static void ignore(void *context, enum incident_change change, const struct incident *incident)
{
	(void)context;
	(void)change;
	(void)incident;
}

void consume_feed_usual(struct series_state *series, const struct point *point, double usual)
{
	struct point expected = *point;

	expected.value = usual;
	detector_set_feed(series->detectors, series->sealed_points + series->tail_count, &expected, ignore, NULL);
}

enum role consume_role_of_no_number(const struct series_state *series, enum role role)
{
	struct span name = span_from(series->metric), bare = metric_bare_name(name);
	bool is_guess = span_equal(span_skip(name, bare.len), SPAN("{preset=\"generic\"}"));

	if (role != ROLE_OTHER || !(is_guess || series->has_given_way))
		return role;
	role = role_guess(bare);
	return held_looks_for(role) ? role : ROLE_OTHER;
}

/* What is called by its line, as ctc_loss, may be another loss than that of the others. */
static bool may_be_of_others(const struct series_state *series)
{
	struct span name = span_from(series->metric), bare = metric_bare_name(name);

	return bare.len < name.len || series->has_given_way || span_find_char(bare, ':') >= 0;
}

enum status consume_expect_by_others(
	const struct stream_state *stream, struct series_state *series, const struct point *point, struct error *err)
{
	const struct summary *summary = &series->summary;
	double usual;

	if (isfinite(point->value) || point->line == NO_LINE || summary->nan_count + summary->inf_count ||
		!may_be_of_others(series))
		return OK;
	enum role role = consume_role_of_no_number(series, series->role);
	if (role == ROLE_OTHER || (role == series->role && series_has_points(series)) ||
		consume_said_by_others(stream, series, role, point->ts_ms, &usual) != SAID_NUMBERS)
		return OK;
	TRY(consume_give_way(series, false, role, err));
	TRY(consume_give_role(series, role, err));
	consume_feed_usual(series, point, usual);
	return OK;
}
