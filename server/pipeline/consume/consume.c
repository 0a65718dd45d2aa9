/* Extraction and detection: the first consumers of the journal. One thread has all slices of a stream, in order. */
#include "pipeline/consume/consume.h"

#include "base/clock.h"
#include "base/log.h"
#include "extract/line/named_host.h"
#include "extract/line/status_line.h"
#include "model/incident.h"
#include "model/metrics/stream_name.h"
#include "pipeline/alert/incidents.h"
#include "pipeline/alert/rule_match.h"
#include "pipeline/alert/silence.h"
#include "pipeline/alert/stragglers.h"
#include "pipeline/alert/watchers.h"
#include "pipeline/consume/log_scores.h"
#include "pipeline/consume/log_status.h"
#include "pipeline/consume/signs.h"
#include "pipeline/consume/told_before.h"
#include "pipeline/consume/life_signs.h"
#include "state/control.h"
#include "state/streams/directory.h"
#include "state/figures.h"
#include "state/pipeline_state.h"

#include <stdio.h>
#include <stdlib.h>

enum { MEMORY_WAIT_MS = 30 * 1000, MEMORY_LOOK_MS = 50 }; /* for one slice */
enum { MEND_FIRST_MS = 5000 };

/* Another generation of definitions: its own counts and numbers, the stream's series, steps and attempts go on. */
static void adopt_definitions(struct stream_state *stream, const struct definitions *definitions)
{
	if (stream->generation == definitions->generation)
		return;
	if (stream->generation)
		extractor_reset_definitions(stream->extractor);
	stream->generation = definitions->generation;
	stream->number_count = 0;
}

/* What is known now of the job's breaks. */
static enum status adopt_breaks(struct stream_state *stream, struct error *err)
{
	struct job_state *job = stream->job;

	if (atomic_load(&job->break_changes) == extractor_break_changes(stream->extractor))
		return OK;
	pthread_mutex_lock(&job->mutex);
	bool is_taken = extractor_set_breaks(
		stream->extractor, job->breaks, job->break_count, atomic_load(&job->break_changes));
	pthread_mutex_unlock(&job->mutex);
	return is_taken ? OK : error_no_memory(err);
}

struct report_context {
	struct pipeline *pipeline;
	struct stream_state *stream;
	struct series_state *series;
	int64_t arrival_ms;
	int64_t number_ms; /* as in struct incident */
	enum status status;
	struct error *err;
};

static void take_report(void *context, enum incident_change change, const struct incident *incident)
{
	struct report_context *report = context;
	struct incident said = *incident;

	if (change == INCIDENT_OPENED && said.kind == INCIDENT_NON_FINITE && report->number_ms) {
		struct series_state *series = report->series;
		said.number_ms = report->number_ms;
		told_metrics_note_number(
			&report->stream->job->told, span_from(series->metric), series->role, said.number_ms);
	}
	if (report->status != OK || (said.is_again && report->stream->said))
		return;
	said.is_historic = report->stream->said || said.opened_ms < report->arrival_ms - HISTORIC_MS;
	if (report->stream->said)
		report->status = said_list_put(report->stream->said, report->series->series_id, &said, report->err);
	else
		report->status =
			incidents_hand_over(report->pipeline, report->stream, report->series, &said, report->err);
}

static void widen_range(struct series_state *series, const struct point *point)
{
	bool is_first = !series_has_points(series);

	if (is_first || point->step < series->min_step)
		series->min_step = point->step;
	if (is_first || point->step > series->max_step)
		series->max_step = point->step;
	if (is_first || point->ts_ms < series->min_ms)
		series->min_ms = point->ts_ms;
	if (is_first || point->ts_ms > series->max_ms)
		series->max_ms = point->ts_ms;
}

/* Its job has gone on after an end: whether what was wrong is so still, its next points say. */
static void begin_life(const struct stream_state *stream, struct series_state *series)
{
	unsigned life = atomic_load(&stream->job->life);

	if (series->life == life)
		return;
	series->life = life;
	detector_set_say_again(series->detectors);
}

void consume_add_point(struct series_state *series, const struct point *point)
{
	widen_range(series, point);
	own_axis_touch(&series->axis, point->attempt);
	own_axis_see(&series->axis, point, series->min_step);
	series->tail[series->tail_count] = *point;
	series->tail[series->tail_count++].in_epoch = 0;
	summary_add(&series->summary, point);
}

/* *ordinal: its own. */
static enum status keep_point(
	struct series_state *series, const struct point *point, uint64_t *ordinal, struct error *err)
{
	if (!mem_grow((void **)&series->tail, series->tail_count, &series->tail_cap, sizeof *series->tail))
		return error_no_memory(err);
	*ordinal = series->sealed_points + series->tail_count;
	consume_add_point(series, point);
	return OK;
}

enum status consume_look_at(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	uint64_t ordinal, const struct point *point, int64_t number_ms, int64_t arrival_ms, struct error *err)
{
	struct report_context report = {pipeline, stream, series, arrival_ms, number_ms, OK, err};

	begin_life(stream, series);
	detector_set_feed(series->detectors, ordinal, point, take_report, &report);
	if (report.status == OK && !stream->said)
		TRY(stragglers_note(stream, series, ordinal, point, err));
	return report.status;
}

enum status consume_point(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct point *point, int64_t arrival_ms, struct error *err)
{
	bool had_numbers = point->line == NO_LINE && series_has_points(series);
	int64_t number_ms = had_numbers ? series->max_ms : 0;
	uint64_t ordinal;

	TRY(consume_expect_by_others(stream, series, point, err));
	TRY(keep_point(series, point, &ordinal, err));
	if (consume_may_wait(stream, series, point))
		consume_wait(stream, series, ordinal);
	else
		TRY(consume_look_at(pipeline, stream, series, ordinal, point, number_ms, arrival_ms, err));
	return watchers_feed(pipeline, stream, series, ordinal, point, arrival_ms, err);
}

enum status consume_point_between(struct pipeline *pipeline, struct stream_state *stream, struct series_state *series,
	const struct point *point, int64_t arrival_ms, struct error *err)
{
	uint64_t ordinal;

	TRY(keep_point(series, point, &ordinal, err));
	return watchers_feed(pipeline, stream, series, ordinal, point, arrival_ms, err);
}

/* An attempt opened at `start`: older points at or past it are superseded, the summary must not count them any more. */
void consume_rebuild_summary(struct stream_state *stream, struct series_state *series)
{
	struct attempt_starts starts = series_starts(stream, series);

	if (series->sealed_points) {
		series->needs_summary = stream->has_unsummed = true; /* the maintenance thread reads the chunks */
		return;
	}
	series->summary = (struct summary){0};
	for (size_t i = 0; i < series->tail_count; i++)
		if (!point_is_superseded(&series->tail[i], starts))
			summary_add(&series->summary, &series->tail[i]);
}

bool consume_revised(struct stream_state *stream)
{
	uint64_t line;
	uint32_t from, to;

	if (!extractor_take_revision(stream->extractor, &line, &from, &to))
		return false;
	for (size_t i = 0; i < stream->series_count; i++) {
		struct series_state *series = stream->series[i];
		for (size_t j = series->tail_count; j-- > 0 && series->tail[j].line >= line;)
			if (series->tail[j].attempt == from)
				series->tail[j].attempt = to;
		consume_revise_axis(series, from);
		own_axis_touch(&series->axis, from < to ? from : to);
		consume_rebuild_summary(stream, series);
		held_revise(series, line, from, to);
	}
	stream->are_axes_due = true;
	return true;
}

/* What waits of a metric whose value does not wait goes before it. */
static enum status let_go_before(struct pipeline *pipeline, struct stream_state *stream,
	const struct definitions *definitions, const struct extracted_list *found, int64_t arrival_ms,
	struct error *err)
{
	bool is_any = false;

	for (size_t i = 0; i < found->count; i++) {
		const struct extracted *one = &found->items[i];
		struct series_state *series = NULL;
		TRY(consume_series_of(pipeline, stream, definitions, one, &series, err));
		if (!series || !series->held.count ||
			(one->lacks_step && (held_may(pipeline, stream, series) ||
						    held_is_alone(stream, one->point.ts_ms, arrival_ms))))
			continue;
		held_end_wait(series);
		is_any = true;
	}
	return is_any ? held_release(pipeline, stream, false, err) : OK;
}

bool consume_is_made_again(
	const struct stream_state *stream, const struct series_state *series, const struct point *point)
{
	return point_is_superseded(point, series_starts(stream, series));
}

/* Of an attempt that is over: it is kept, and nothing is looked for in it any more. */
static enum status consume_point_of_before(
	struct stream_state *stream, struct series_state *series, const struct point *point, struct error *err)
{
	struct summary before = series->summary;
	uint64_t ordinal;

	TRY(keep_point(series, point, &ordinal, err));
	if (consume_is_made_again(stream, series, point))
		series->summary = before;
	return OK;
}

static enum status take_found(struct pipeline *pipeline, struct stream_state *stream,
	const struct definitions *definitions, uint32_t attempt_before, const struct extracted_list *found,
	int64_t arrival_ms, struct error *err)
{
	struct series_state *series;

	if (stream->held_count)
		TRY(let_go_before(pipeline, stream, definitions, found, arrival_ms, err));
	for (size_t i = 0; i < found->count; i++) {
		const struct extracted *one = &found->items[i];
		bool is_taken = false;
		series = NULL;
		TRY(consume_series_of(pipeline, stream, definitions, one, &series, err));
		if (!series)
			continue;
		consume_convert(stream, &found->items[i]);
		if (one->is_counted && !one->point.step)
			consume_count_on(stream, definitions, series, found, i);
		if (one->lacks_step)
			TRY(consume_see_told(pipeline, stream, definitions, one, series, arrival_ms, &is_taken, err));
		if (is_taken)
			continue;
		if (one->point.attempt < extractor_attempt(stream->extractor)) { /* it comes late */
			TRY(consume_point_of_before(stream, series, &one->point, err));
			continue;
		}
		bool is_there = consume_is_told_there(stream, one, series, arrival_ms);
		if (!one->lacks_step && !is_there)
			TRY(consume_see_step(stream, definitions, one, series, arrival_ms, err));
		if (!is_there)
			TRY(consume_point(pipeline, stream, series, &found->items[i].point, arrival_ms, err));
		if (series->measure != MEASURE_NONE && extractor_has_steps(stream->extractor))
			derive_see(stream->derive, series->measure, series->factor, series->series_id,
				&found->items[i].point);
	}
	if (derive_has_step(stream->derive))
		TRY(consume_derived(pipeline, stream, arrival_ms, err));
	if (!consume_revised(stream) && extractor_attempt(stream->extractor) != attempt_before) {
		consume_opened(stream);
		TRY(consume_waiting(pipeline, stream, arrival_ms, err));
	}
	if (!stream->said)
		atomic_fetch_add(&pipeline->figures.points, found->count);
	return OK;
}

void consume_time(struct stream_state *stream, int64_t ts_ms)
{
	if (!stream->first_ms || ts_ms < stream->first_ms)
		stream->first_ms = ts_ms;
	if (ts_ms > stream->last_ms)
		stream->last_ms = ts_ms;
	stretches_add(&stream->stretches, ts_ms);
}

static void add_live_line(struct stream_state *stream, const struct line *line, uint64_t number, int64_t ts_ms)
{
	struct buf *out = &stream->live_lines;
	size_t before = out->len;
	struct json_writer w = json_writer_on(out);

	if (stream->live_count == 0)
		stream->live_from = number;
	stream->live_count++;
	if (out->len)
		buf_append_char(out, ',');
	json_object(&w);
	json_put_i64(&w, "n", (int64_t)number);
	json_put_i64(&w, "ts_ms", ts_ms);
	json_put_span(&w, "text", line->text);
	json_object_end(&w);
	if (out->failure)
		out->len = before; /* full: subscribers are told the count and fetch */
}

static enum status extract_values(struct pipeline *pipeline, struct stream_state *stream,
	struct definitions *definitions, const struct extract_line *input, struct regex_scratch *scratch,
	int64_t arrival_ms, struct extracted_list *found, struct error *err)
{
	uint32_t attempt = extractor_attempt(stream->extractor);
	struct silence_line heard = {
		input->text, input->number, input->ts_ms == NO_TIME ? arrival_ms : input->ts_ms, arrival_ms};

	found->count = 0;
	TRY(extract_line(stream->extractor, definitions->set, scratch, input, arrival_ms, found, err));
	if (found->count)
		stream->has_bare_steps = !named_host_is_pods(input->text);
	if (found->count || extractor_attempt(stream->extractor) != attempt)
		TRY(take_found(pipeline, stream, definitions, attempt, found, arrival_ms, err));
	return silences_feed(pipeline, stream, definitions, &heard, found, err);
}

/* Of a log: what machines print of themselves says no settings, no status and no values. What is of another run says none of the job's. */
static enum status consume_log_line(struct pipeline *pipeline, struct stream_state *stream,
	struct definitions *definitions, const struct extract_line *input, struct regex_scratch *scratch,
	int64_t arrival_ms, bool is_lent, struct extracted_list *found, bool *is_status, struct error *err)
{
	if (stream->settings && !is_lent)
		TRY(consume_settings(stream, input->text, input->number, err));
	if (status_line_may_be(input->text))
		TRY(consume_status(pipeline, stream, input->text, arrival_ms, is_status, err));
	return definitions->damage || is_lent
		       ? OK
		       : extract_values(pipeline, stream, definitions, input, scratch, arrival_ms, found, err);
}

static enum status consume_lines(struct pipeline *pipeline, struct stream_state *stream,
	struct definitions *definitions, const struct journal_slice *slice, struct regex_scratch *scratch,
	struct extracted_list *found, struct error *err)
{
	bool is_watched = !stream->said && hub_wants(pipeline->options.hub, span_from(stream->job->name), HUB_LINES);
	bool is_log = stream_is_log(span_from(stream->name));
	struct journal_cursor cursor = journal_lines(slice);
	int64_t newest_ms = NO_TIME, begin_ms = NO_TIME;
	struct line line;

	for (uint64_t number = slice->first_line; journal_next_line(&cursor, &line); number++) {
		bool is_status = false;
		int64_t ts_ms = line_effective_ms(&line, slice->arrival_ms);
		bool is_timed = ts_ms != slice->arrival_ms; /* large slices state the arrival of lines without a time */
		newest_ms = is_timed ? ts_ms : newest_ms;
		begin_ms = number == slice->first_line ? ts_ms : begin_ms;
		struct extract_line input = {
			line.text, is_timed ? ts_ms : NO_TIME, number, (line.flags & LINE_CUT) != 0};

		bool is_lent = is_log && job_log_is_lent(stream->job, ts_ms);
		if (is_log)
			TRY(consume_log_line(pipeline, stream, definitions, &input, scratch, slice->arrival_ms, is_lent,
				found, &is_status, err));
		if (!stream->said && pipeline->signatures)
			TRY(signs_feed(pipeline, stream, &input, ts_ms, slice->arrival_ms, scratch, err));
		if (!stream->said && is_log && !is_lent)
			TRY(log_scores_feed(pipeline, stream, &input, ts_ms, slice->arrival_ms, err));
		if (!is_status)
			life_signs_see(stream, ts_ms);
		consume_time(stream, ts_ms);
		if (is_watched)
			add_live_line(stream, &line, number, ts_ms);
		else
			stream->has_skipped_lines = true;
	}
	if (newest_ms != NO_TIME)
		clock_skew_see(&stream->skew, newest_ms, slice->arrival_ms);
	TRY(signs_hand_over(pipeline, stream, err));
	if (begin_ms != NO_TIME)
		TRY(told_before_look(pipeline, stream, begin_ms, err));
	return log_scores_hand_over(pipeline, stream, err);
}

void consume_hold_up(struct stream_state *stream)
{
	if (!stream->has_hole) {
		stream->mend_wait_ms = MEND_FIRST_MS;
		atomic_store(&stream->mend_due_ms, clock_mono_ms() + MEND_FIRST_MS);
	}
	stream->has_hole = true;
}

static enum status consume_locked(struct pipeline *pipeline, struct stream_state *stream,
	struct definitions *definitions, uint64_t seq, const struct journal_slice *slice, struct regex_scratch *scratch,
	struct extracted_list *found, struct error *err)
{
	struct rule_set *rules = stream->said ? NULL : pipeline_rules(pipeline);

	watchers_begin(stream, rules, seq);
	life_signs_begin_slice(stream);
	adopt_definitions(stream, definitions);
	enum status status = adopt_breaks(stream, err);
	if (status == OK)
		status = held_release(pipeline, stream, false, err);
	if (status != OK) /* nothing of the slice was looked at */
		status = ERR_UNAVAILABLE;
	else if (slice->kind == JOURNAL_POINTS)
		status = consume_points(pipeline, stream, slice, err);
	else
		status = consume_lines(pipeline, stream, definitions, slice, scratch, found, err);
	watchers_begin(stream, NULL, 0);
	rule_set_unref(rules);
	if (extractor_take_move(stream->extractor)) /* whatever number of lines moved it */
		consume_opened(stream);
	if (status == OK)
		status = consume_follow_axes(stream, err);
	if (control_may_pass(status)) { /* a replay will do better */
		consume_hold_up(stream);
		return status;
	}
	enum status signs = life_signs_end_slice(pipeline, stream, slice->arrival_ms, status == OK ? err : NULL);
	status = status == OK ? signs : status;
	stream->extracted_seq = seq;
	if (!stream->said) /* not before, and under the lock: a flush takes the mark and sees these points, or leaves it */
		atomic_store(&stream->job->is_summary_dirty, true);
	if (slice->first_line + slice->line_count > stream->extracted_lines) { /* points may come to a shadow late */
		stream->extracted_lines = slice->first_line + slice->line_count;
		stream->extracted_bytes = slice->first_byte + slice->sent_bytes;
	}
	if (slice->kind == JOURNAL_POINTS)
		stream->extracted_points = slice->first_point + slice->point_count;
	return status;
}

/* Lines that were committed before a back-fill took its place are extracted by what the stream has now. Counted. */
static struct definitions *newer_definitions(struct stream_state *stream, struct definitions *definitions)
{
	if (definitions->generation >= stream->generation)
		return definitions_ref(definitions);
	pthread_mutex_lock(&stream->job->mutex);
	struct definitions *present = definitions_ref(stream->job->definitions);
	pthread_mutex_unlock(&stream->job->mutex);
	return present;
}

/* What a shadow has not come to yet it gets from the journal (shadow.c). */
static bool is_next(const struct stream_state *shadow, const struct journal_slice *slice)
{
	return slice->first_line == shadow->extracted_lines &&
	       (slice->kind != JOURNAL_POINTS || slice->first_point == shadow->extracted_points);
}

static void note_unextracted(
	struct pipeline *pipeline, const struct stream_state *stream, const struct journal_slice *slice)
{
	if (!stream->said)
		atomic_fetch_add(&pipeline->figures.unextracted_lines, slice->line_count);
}

enum status consume_slice(struct pipeline *pipeline, struct stream_state *stream, struct definitions *definitions,
	uint64_t seq, const struct journal_slice *slice, struct regex_scratch *scratch, struct extracted_list *found,
	struct error *err)
{
	struct stream_state *shadow;

	pthread_mutex_lock(&stream->mutex);
	if (consume_has(stream, slice)) { /* it was held up, and went on with what was in the journal */
		pthread_mutex_unlock(&stream->mutex);
		return OK;
	}
	if (stream->has_hole) {
		note_unextracted(pipeline, stream, slice);
		pthread_mutex_unlock(&stream->mutex);
		return OK;
	}
	struct definitions *present = newer_definitions(stream, definitions);
	enum status status = consume_locked(pipeline, stream, present, seq, slice, scratch, found, err);
	if (status != OK || present->damage)
		note_unextracted(pipeline, stream, slice);
	definitions_unref(present);
	if ((shadow = stream->shadow)) {
		pthread_mutex_lock(&shadow->mutex);
		if (!shadow->has_hole &&
			is_next(shadow, slice)) { /* whatever became of the stream's own: a hole would stay */
			enum status fed = consume_locked(pipeline, shadow, shadow->own_definitions, seq, slice, scratch,
				found, status == OK ? err : NULL);
			status = status == OK ? fed : status;
		}
		pthread_mutex_unlock(&shadow->mutex);
	}
	pthread_mutex_unlock(&stream->mutex);
	return status;
}

bool consume_has(const struct stream_state *stream, const struct journal_slice *slice)
{
	return slice->kind == JOURNAL_POINTS ? slice->first_point < stream->extracted_points
					     : slice->first_line < stream->extracted_lines;
}

void consume_pass_over(struct stream_state *stream, uint64_t seq, const struct journal_slice *slice)
{
	pthread_mutex_lock(&stream->mutex);
	stream->extracted_seq = seq;
	stream->extracted_lines = slice->first_line + slice->line_count;
	stream->extracted_bytes = slice->first_byte + slice->sent_bytes;
	if (slice->kind == JOURNAL_POINTS)
		stream->extracted_points = slice->first_point + slice->point_count;
	pthread_mutex_unlock(&stream->mutex);
}

/* Whoever listens has seen some of it: they are told that there is more, and fetch it. */
static void keep_quiet(struct stream_state *stream)
{
	for (size_t i = 0; i < stream->series_count; i++)
		stream->series[i]->published = stream->series[i]->sealed_points + stream->series[i]->tail_count;
	buf_reset(&stream->live_lines);
	stream->live_count = 0;
	stream->has_skipped_lines = true;
}

enum status consume_again(struct pipeline *pipeline, struct stream_state *stream, struct definitions *definitions,
	uint64_t seq, const struct journal_slice *slice, struct regex_scratch *scratch, struct extracted_list *found,
	struct error *err)
{
	pthread_mutex_lock(&stream->mutex);
	enum status status = consume_locked(pipeline, stream, definitions, seq, slice, scratch, found, err);
	keep_quiet(stream);
	pthread_mutex_unlock(&stream->mutex);
	if (status == OK || control_may_pass(status))
		return status;
	log_line(LOG_ERROR, "extraction_failed", "job=\"%s\" stream=\"%s\" first_line=%llu error=\"%s\"",
		stream->job->name, stream->name, (unsigned long long)slice->first_line, err->text);
	return OK; /* the slice itself: as when it came */
}

bool consume_close_hole(struct stream_state *stream)
{
	pthread_mutex_lock(&stream->mutex);
	bool is_level = stream->extracted_lines == stream->committed_line &&
			stream->extracted_points == stream->committed_point;
	if (is_level)
		stream->has_hole = false;
	pthread_mutex_unlock(&stream->mutex);
	return is_level;
}

/* Of what extraction may be behind (--queue-bytes) a quarter, or what is left of it. */
static size_t room_to_keep(const struct pipeline *pipeline)
{
	size_t most = pipeline->options.queue_bytes, backlog = atomic_load(&pipeline->backlog_bytes);

	if (backlog >= most)
		return 0;
	return most - backlog < most / 4 ? most - backlog : most / 4;
}

/* Once all have extracted it. Slices that are blocks are taken from the journal as they are: their groups are not kept. */
void group_unref(struct pipeline *pipeline, struct group *group)
{
	bool has_blocks = false;

	if (atomic_fetch_sub(&group->refs, 1) != 1)
		return;
	atomic_fetch_sub(&pipeline->backlog_bytes, group->bytes);
	for (size_t i = 0; i < group->count; i++) {
		definitions_unref(group->definitions[i]);
		job_unref(group->streams[i]->job);
		has_blocks = has_blocks || group->slices[i].kind == JOURNAL_BLOCK;
		buf_done(&group->contents[i]);
	}
	atomic_store(&group->refs, 1);
	if (has_blocks)
		kept_group_unref(group);
	else
		kept_groups_put(&pipeline->kept_groups, group, room_to_keep(pipeline));
}

/* With the stream's lock held: what asks for it meanwhile would find no memory either. */
static int wait_for_memory(void *context)
{
	struct extract_worker *worker = context;
	int64_t now_ms = clock_mono_ms();

	if (!worker->waits_since_ms) {
		worker->waits_since_ms = now_ms;
		atomic_fetch_add(&worker->pipeline->figures.memory_waits, 1);
		log_line(LOG_WARNING, "extraction_waits", "for=memory");
	}
	return now_ms - worker->waits_since_ms < MEMORY_WAIT_MS && !control_wait_tick(worker->pipeline, MEMORY_LOOK_MS);
}

static void note_lag(struct pipeline_figures *figures, int64_t arrival_ms)
{
	int64_t lag_ms = clock_wall_ms() - arrival_ms, known_ms = atomic_load(&figures->lag_so_far_ms);

	while (lag_ms > known_ms && !atomic_compare_exchange_weak(&figures->lag_so_far_ms, &known_ms, lag_ms))
		;
}

static void consume_group(struct extract_worker *worker, struct group *group)
{
	struct pipeline *pipeline = worker->pipeline;
	struct error err;

	for (size_t i = 0; i < group->count; i++) {
		struct stream_state *stream = group->streams[i];
		unsigned owner = (unsigned)((stream->job->job_id * 31 + stream->stream_id) % pipeline->extract_count);
		if (owner != worker->number || atomic_load(&stream->job->is_deleted))
			continue;
		worker->waits_since_ms = 0;
		if (consume_slice(pipeline, stream, group->definitions[i], group->seq, &group->slices[i],
			    worker->scratch, &worker->found, &err) != OK)
			log_line(LOG_ERROR, "extraction_failed",
				"job=\"%s\" stream=\"%s\" first_line=%llu error=\"%s\"", stream->job->name,
				stream->name, (unsigned long long)group->slices[i].first_line, err.text);
		directory_mark(pipeline->directory, STREAMS_DIRTY, stream);
		note_lag(&pipeline->figures, group->slices[i].arrival_ms);
	}
	atomic_store(&worker->done_seq, group->seq);
}

/* Two workers may come here at once, the one with the lower number later. */
static void note_extracted(struct pipeline *pipeline)
{
	uint64_t seq = pipeline_extracted_seq(pipeline), known = atomic_load(&pipeline->figures.extracted_seq);

	while (seq > known && !atomic_compare_exchange_weak(&pipeline->figures.extracted_seq, &known, seq))
		;
	hub_set_seq(pipeline->options.hub, seq);
}

void *extract_run(void *context)
{
	struct extract_worker *worker = context;
	struct queue_item *item;

	pthread_setname_np(pthread_self(), "extract");
	mem_wait(wait_for_memory, worker);
	while ((item = queue_pop(worker->queue, -1))) {
		struct group *group = ((struct extract_item *)item)->group;
		consume_group(worker, group);
		note_extracted(worker->pipeline); /* before it counts as done: who waits for that reads the sequence */
		group_unref(worker->pipeline, group);
		mem_free(item);
	}
	return NULL;
}

uint64_t pipeline_extracted_seq(struct pipeline *pipeline)
{
	uint64_t lowest = UINT64_MAX;

	for (unsigned i = 0; i < pipeline->extract_count; i++) {
		uint64_t done = atomic_load(&pipeline->extract[i].done_seq);
		lowest = done < lowest ? done : lowest;
	}
	return lowest;
}
