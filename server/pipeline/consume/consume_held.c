/* What waits for a tracker to tell it: consume.h says when. */
#include "base/clock.h"
#include "base/log.h"
#include "pipeline/alert/rule_match.h"
#include "pipeline/alert/watchers.h"
#include "pipeline/consume/consume.h"
#include "state/control.h"
#include "state/watchers/backfill_incidents.h"

#include <math.h>
#include <stdlib.h>

enum {
	HELD_MAX = 4096, /* values of a stream: more do not wait */
	TOLD_WITHIN_MS = 10 * 1000, /* of its print a tracker bears it */
	CLOCK_WITHIN_MS = 5 * 60 * 1000, /* of its arrival a line of now was printed */
	ALONE_AFTER_MS = 500, /* of the end of its run a line is read that was printed before */
	ALONE_LEAST = 3, /* values behind that, where the job ends soon: the training went on */
	HOLDING_MOST = 4, /* times the wait: a stream that always says something new has to be sealed, too */
};

unsigned held_period(const struct stream_state *stream)
{
	return atomic_load(&stream->job->life) + atomic_load(&stream->job->begins);
}

/* The log's own: it had points of its lines, and no tracker has told it since. After a start of the server its points say so. */
static bool is_own(const struct stream_state *stream, const struct series_state *series)
{
	unsigned period = held_period(stream);

	return series->own_period == period ||
	       (period == 1 && series_has_points(series) && series->max_ms >= atomic_load(&stream->job->began_ms) &&
		       !series->is_told && !series->has_given_way);
}

bool held_may(const struct pipeline *pipeline, const struct stream_state *stream, const struct series_state *series)
{
	int64_t wait_ms = pipeline->options.tracker_wait_ms;

	if (!atomic_load(&stream->job->is_tracked) || stream->said || !wait_ms || is_own(stream, series) ||
		stream->held_count >= HELD_MAX)
		return false;
	if (pipeline->is_recovering) /* of an ended job, too: what the tracker told stands further on in the journal */
		return true;
	if (atomic_load(&stream->job->is_over) || control_is_journal_long(pipeline))
		return false;
	return !stream->held_count || clock_mono_ms() - stream->held_since_ms < HOLDING_MOST * wait_ms;
}

enum status held_put(const struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, struct error *err)
{
	struct held_values *held = &series->held;
	int64_t now_ms = clock_mono_ms();

	if (!mem_grow((void **)&held->values, held->count, &held->cap, sizeof *held->values))
		return error_no_memory(err);
	if (!held->count) {
		held->due_ms = now_ms + pipeline->options.tracker_wait_ms;
		held->life = atomic_load(&stream->job->life);
		held->period = held_period(stream);
	}
	if (!stream->held_count) {
		stream->held_since_ms = now_ms;
		directory_mark(pipeline->directory, STREAMS_HOLDING, stream);
	}
	held->values[held->count++] = *value;
	stream->held_count++;
	return series_has_points(series) ? OK : consume_give_way(series, true, value->role, err);
}

/* Of another clock's time, or one of the past, nobody knows. */
static bool is_of_now(int64_t ts_ms, int64_t arrival_ms)
{
	return arrival_ms - ts_ms > -CLOCK_WITHIN_MS && arrival_ms - ts_ms < CLOCK_WITHIN_MS;
}

bool held_is_alone(const struct stream_state *stream, int64_t ts_ms, int64_t arrival_ms)
{
	const struct job_state *job = stream->job;

	return atomic_load(&job->alone_from_ms) < ts_ms - ALONE_AFTER_MS && ts_ms <= atomic_load(&job->alone_to_ms) &&
	       ts_ms <= atomic_load(&job->over_ms) && is_of_now(ts_ms, arrival_ms);
}

bool held_goes_on_alone(const struct stream_state *stream, const struct series_state *series)
{
	return !series->has_given_way && !series->held.count && is_own(stream, series);
}

bool held_may_alone(const struct pipeline *pipeline, const struct stream_state *stream)
{
	return pipeline->options.tracker_wait_ms && !stream->said && stream->held_count < HELD_MAX &&
	       !control_is_journal_long(pipeline);
}

/* A NaN that is news is enough. */
static size_t weigh_alone(const struct held_values *held)
{
	size_t weight = 0;

	for (size_t i = 0; i < held->count; i++)
		if (held->values[i].is_alone)
			weight += held->values[i].is_told ? ALONE_LEAST : 1;
	return weight;
}

enum status held_put_alone(const struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, const struct told_when *when, struct error *err)
{
	struct held_value waiting = *value;

	waiting.is_alone = true;
	waiting.is_told = !isfinite(value->point.value) && !when->has_no_number;
	TRY(held_put(pipeline, stream, series, &waiting, err));
	if (weigh_alone(&series->held) >= ALONE_LEAST)
		held_end_wait(series);
	return OK;
}

/* The metric was finite: by what was passed over, or will be when what waits is let go; or by lines of another form, which have said no NaN yet. */
static bool has_numbers(
	const struct stream_state *stream, const struct series_state *series, enum role role, int64_t ts_ms)
{
	bool has_one = series->has_passed_over;
	double usual;

	for (size_t i = 0; i < series->held.count && !has_one; i++)
		has_one = isfinite(series->held.values[i].point.value);
	unsigned said = consume_said_by_others(stream, series, role, ts_ms, &usual);
	return has_one ? !(said & SAID_PRINTED_NONE) : said == SAID_NUMBERS;
}

bool held_looks_for(enum role role)
{
	return role == ROLE_LOSS || role == ROLE_EVAL_LOSS || role == ROLE_GRAD_NORM;
}

/* Once: a NaN stays one. Its metric had been finite, as detectors want it. */
static bool is_looked_for(const struct pipeline *pipeline, const struct stream_state *stream,
	const struct series_state *series, const struct held_value *value)
{
	const struct summary *summary = &series->summary;
	enum role role = consume_role_of_no_number(series, value->role);

	if (!pipeline->options.tracker_wait_ms || stream->said || series->is_told || stream->held_count >= HELD_MAX)
		return false;
	if (!held_looks_for(role))
		return false;
	for (size_t i = 0; i < series->held.count; i++)
		if (series->held.values[i].is_told)
			return false;
	return !(summary->nan_count + summary->inf_count) && has_numbers(stream, series, role, value->point.ts_ms);
}

enum status held_pass_over(const struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, struct error *err)
{
	struct held_value waiting = *value;

	if (isfinite(value->point.value)) {
		series->passed_over = value->point.value;
		series->has_passed_over = true;
	} else if (is_looked_for(pipeline, stream, series, value)) {
		waiting.is_told = true;
		return held_put(pipeline, stream, series, &waiting, err);
	}
	return OK;
}

/* Points of values that waited: what follows from them is derived line by line, as if they had not. */
struct given {
	struct given_value {
		const struct series_state *series;
		struct held_value value;
	} * values;
	size_t count, cap;
};

static enum status note_given(
	struct given *given, const struct series_state *series, const struct held_value *value, struct error *err)
{
	if (!mem_grow((void **)&given->values, given->count, &given->cap, sizeof *given->values))
		return error_no_memory(err);
	given->values[given->count++] = (struct given_value){series, *value};
	return OK;
}

static int by_line(const void *a, const void *b)
{
	const struct point *left = &((const struct given_value *)a)->value.point;
	const struct point *right = &((const struct given_value *)b)->value.point;

	return (left->line > right->line) - (left->line < right->line);
}

static enum status derive_given(
	struct pipeline *pipeline, struct stream_state *stream, struct given *given, struct error *err)
{
	if (given->count)
		qsort(given->values, given->count, sizeof *given->values, by_line);
	for (size_t i = 0; i < given->count; i++) {
		const struct given_value *now = &given->values[i];
		bool is_last = i + 1 == given->count || by_line(now, now + 1) != 0;
		derive_see(stream->derive, now->series->measure, now->series->factor, now->series->series_id,
			&now->value.point);
		if (is_last && derive_has_step(stream->derive))
			TRY(consume_derived(pipeline, stream, now->value.arrival_ms, err));
	}
	return OK;
}

/* Printed before the tracker's first point of it, which so was never told. */
static bool is_before(const struct held_value *value, int64_t since_ms)
{
	return since_ms != NO_TIME && value->point.ts_ms < since_ms - TOLD_WITHIN_MS &&
	       is_of_now(value->point.ts_ms, value->arrival_ms);
}

static enum status give(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, struct given *given, struct error *err)
{
	TRY(consume_give_way(series, false, value->role, err));
	stream->is_decided = true;
	TRY(consume_point(pipeline, stream, series, &value->point, value->arrival_ms, err));
	if (series->measure == MEASURE_NONE || !extractor_has_steps(stream->extractor))
		return OK;
	return note_given(given, series, value, err);
}

/* Which would be taken for the first one of a series that never had a number. */
static enum status expect_no_number(const struct stream_state *stream, struct series_state *series,
	const struct point *point, enum role role, struct error *err)
{
	double usual = series->passed_over;

	if (!series->has_passed_over)
		(void)consume_said_by_others(stream, series, role, point->ts_ms, &usual);
	TRY(consume_give_way(series, false, role, err));
	consume_feed_usual(series, point, usual);
	return OK;
}

enum status held_take_back(struct stream_state *stream, struct series_state *series, const struct point *point,
	enum role role, const struct told_when *when, struct error *err)
{
	bool is_news = !isfinite(point->value) && !when->has_no_number && series->has_passed_over;

	stream->is_decided = true;
	return is_news ? expect_no_number(stream, series, point, role, err)
		       : consume_give_way(series, false, role, err);
}

/* A NaN that the tracker has not told, since it is told seldom, or of another process, or no more. */
static enum status give_no_number(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, struct given *given, struct error *err)
{
	enum role role = consume_role_of_no_number(series, value->role);

	TRY(expect_no_number(stream, series, &value->point, role, err));
	return give(pipeline, stream, series, value, given, err);
}

static enum status give_alone(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_value *value, struct given *given, struct error *err)
{
	bool is_first = series->has_given_way || !series_has_points(series);

	return (is_first && value->is_told && series->has_passed_over ? give_no_number : give)(
		pipeline, stream, series, value, given, err);
}

/* What was told meanwhile is dropped. */
static enum status release(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct held_values *held, struct given *given, struct error *err)
{
	const struct held_value *first = &held->values[0];
	bool is_over = atomic_load(&stream->job->is_over);
	struct told_when when;
	bool is_told =
		told_metrics_find(&stream->job->told, span_from(series->metric), first->told_role, held->life, &when);

	bool is_alone = is_told && weigh_alone(held) >= (is_over ? ALONE_LEAST : 1);
	if (!is_told || is_alone)
		series->own_period = held->period;
	for (size_t i = 0; i < held->count; i++) {
		const struct held_value *value = &held->values[i];
		if (!is_told || is_before(value, when.since_ms))
			TRY(give(pipeline, stream, series, value, given, err));
		else if (is_alone && value->is_alone)
			TRY(give_alone(pipeline, stream, series, value, given, err));
		else if (isfinite(value->point.value) || !(value->is_told || is_over))
			TRY(held_pass_over(pipeline, stream, series, value, err));
		else if (!when.has_no_number && is_looked_for(pipeline, stream, series, value))
			TRY(give_no_number(pipeline, stream, series, value, given, err));
	}
	if (first->point.attempt != extractor_attempt(stream->extractor))
		consume_rebuild_summary(stream, series);
	return consume_give_way(series, is_told && !is_alone, first->role, err);
}

static enum status let_go(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	struct given *given, struct error *err)
{
	struct held_values held = series->held;

	series->held = (struct held_values){0};
	stream->held_count -= held.count;
	enum status status = release(pipeline, stream, series, &held, given, err);
	mem_free(held.values);
	return status;
}

enum status held_release(struct pipeline *pipeline, struct stream_state *stream, bool is_all, struct error *err)
{
	int64_t now_ms = stream->held_count && !pipeline->is_recovering ? clock_mono_ms() : INT64_MIN;
	struct given given = {0};
	enum status status = OK;

	for (size_t i = 0; i < stream->series_count && stream->held_count && status == OK; i++) {
		struct series_state *series = stream->series[i];
		if (series->held.count && (is_all || series->held.due_ms <= now_ms))
			status = let_go(pipeline, stream, series, &given, err);
	}
	if (status == OK)
		status = derive_given(pipeline, stream, &given, err);
	mem_free(given.values);
	return status;
}

void held_end_wait(struct series_state *series)
{
	series->held.due_ms = INT64_MIN;
}

/* ---- an export shows it as points ---- */

struct showing {
	struct said_list *said;
	uint32_t series_id;
	int64_t arrival_ms;
	enum status status;
	struct error *err;
};

static void take_shown(void *context, enum incident_change change, const struct incident *incident)
{
	struct showing *showing = context;
	struct incident said = *incident;

	(void)change; /* the list knows by the key what is new */
	said.is_historic = said.opened_ms < showing->arrival_ms - HISTORIC_MS;
	if (showing->status == OK)
		showing->status = said_list_put(showing->said, showing->series_id, &said, showing->err);
}

static enum status show_value(
	struct series_state *series, const struct held_value *value, struct said_list *list, struct error *err)
{
	struct showing showing = {list, series->series_id, value->arrival_ms, OK, err};
	uint64_t ordinal = series->sealed_points + series->tail_count;

	consume_add_point(series, &value->point);
	detector_set_feed(series->detectors, ordinal, &value->point, take_shown, &showing);
	return showing.status;
}

/* What has no points of its own yet begins with those that wait; else they go on with what its detectors know. */
static enum status copy_detectors(
	const struct series_state *series, enum role role, struct detector_set **out, struct error *err)
{
	AUTO_DONE(buf) packed = BUF_INIT(SIZE_MAX / 2);

	if (series->has_given_way) {
		*out = detector_set_new(role);
		return *out ? OK : error_no_memory(err);
	}
	detector_set_pack(series->detectors, &packed);
	TRY(buf_status(&packed, err));
	struct unpacker in = unpacker_on(buf_span(&packed));
	return detector_set_unpack(out, role, &in, err);
}

static enum status show(
	struct stream_state *stream, struct series_state *series, struct said_list *list, struct error *err)
{
	const struct held_values *held = &series->held;
	enum role role = series->has_given_way ? held->values[0].role : series->role;
	size_t count = series->tail_count + held->count;
	struct detector_set *detectors;

	TRY(copy_detectors(series, role, &detectors, err));
	struct point *tail = mem_alloc(count * sizeof *tail);
	if (!tail) {
		detector_set_free(detectors);
		return error_no_memory(err);
	}
	if (series->tail_count)
		memcpy(tail, series->tail, series->tail_count * sizeof *tail);
	series->tail = tail;
	series->detectors = detectors;
	series->role = role;
	series->has_given_way = false;
	for (size_t i = 0; i < held->count; i++)
		TRY(show_value(series, &held->values[i], list, err));
	consume_rebuild_summary(stream, series);
	return OK;
}

enum status held_show(struct stream_state *stream, struct held_shown *shown, struct error *err)
{
	enum status status = OK;

	*shown = (struct held_shown){0};
	if (!stream->held_count)
		return OK;
	shown->before = mem_zeroed(stream->series_count * sizeof *shown->before);
	shown->said = said_list_new();
	if (!shown->before || !shown->said)
		return error_no_memory(err);
	for (; shown->count < stream->series_count && status == OK; shown->count++) {
		struct series_state *series = stream->series[shown->count];
		const struct held_values *held = &series->held;
		shown->before[shown->count] = *series;
		if (held->count && !told_metrics_have(&stream->job->told, span_from(series->metric),
					   held->values[0].told_role, held->life))
			status = show(stream, series, shown->said, err);
	}
	return status;
}

void held_hide(struct stream_state *stream, struct held_shown *shown)
{
	for (size_t i = 0; i < shown->count; i++) {
		struct series_state *series = stream->series[i];
		if (series->detectors == shown->before[i].detectors)
			continue;
		mem_free(series->tail);
		detector_set_free(series->detectors);
		*series = shown->before[i];
	}
	mem_free(shown->before);
	said_list_free(shown->said);
	*shown = (struct held_shown){0};
}

void held_revise(struct series_state *series, uint64_t line, uint32_t from, uint32_t to)
{
	for (size_t i = series->held.count; i-- > 0 && series->held.values[i].point.line >= line;)
		if (series->held.values[i].point.attempt == from)
			series->held.values[i].point.attempt = to;
}

/* Outside of a slice. After an error the stream is held up. */
static enum status release_all(struct pipeline *pipeline, struct stream_state *stream, bool is_all, struct error *err)
{
	struct rule_set *rules = pipeline_rules(pipeline);

	watchers_begin(stream, rules, stream->extracted_seq);
	enum status status = held_release(pipeline, stream, is_all, err);
	watchers_begin(stream, NULL, 0);
	rule_set_unref(rules);
	atomic_store(&stream->job->is_summary_dirty, true);
	if (status != OK) /* their lines are not sealed */
		consume_hold_up(stream);
	return status;
}

/* Whatever else is due of a stream comes with its next slice. */
static void look_at(struct pipeline *pipeline, struct stream_state *stream)
{
	struct error err;

	pthread_mutex_lock(&stream->mutex);
	bool is_all = atomic_load(&stream->job->is_over) || atomic_load(&stream->job->settling) != SETTLE_NOT ||
		      control_is_journal_long(pipeline);
	size_t before = stream->held_count;
	if (before && !stream->has_hole && release_all(pipeline, stream, is_all, &err) != OK)
		log_line(LOG_WARNING, "extraction_failed", "job=\"%s\" stream=\"%s\" error=\"%s\"", stream->job->name,
			stream->name, err.text);
	if (stream->held_count < before)
		directory_mark(pipeline->directory, STREAMS_DIRTY, stream);
	if (stream->held_count)
		directory_mark(pipeline->directory, STREAMS_HOLDING, stream);
	pthread_mutex_unlock(&stream->mutex);
}

void held_run(struct pipeline *pipeline)
{
	directory_swap(pipeline->directory, STREAMS_HOLDING);
	for (struct stream_state *stream; (stream = directory_pop(pipeline->directory, STREAMS_HOLDING));) {
		if (!atomic_load(&stream->job->is_deleted))
			look_at(pipeline, stream);
		job_unref(stream->job);
	}
}
