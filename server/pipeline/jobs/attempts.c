/* A job's attempts: those that its statuses tell of, and those that show in its log alone, where steps went back. */
#include "pipeline/goodput/goodput.h"
#include "pipeline/jobs/job_record.h"
#include "state/pipeline_state.h"
#include "store/jobs.h"
#include "store/transitions.h"

#include <stdio.h>
#include <stdlib.h>

enum { MESSAGE_BYTES = 80 };

/* After it has trained, each of these begins a new attempt: cluster repair, spot interruption, RetryStrategy. */
static bool begins_attempt(const struct transition_row *row)
{
	return span_equal(row->status, SPAN("Restarting")) || span_equal(row->status, SPAN("Interrupted")) ||
	       span_equal(row->status, SPAN("Starting")) || span_equal(row->status, SPAN("Pending"));
}

int64_t attempts_until_ms(const struct transition_row *rows, size_t count)
{
	const struct transition_row *last = count ? &rows[count - 1] : NULL;

	return last && last->source == SOURCE_BY_HAND && !span_equal(last->status, SPAN("Training")) ? last->start_ms
												     : INT64_MAX;
}

static size_t take_told(const struct transition_row *rows, size_t count, struct attempt *out)
{
	int64_t until_ms = attempts_until_ms(rows, count);
	bool has_trained = false;
	size_t used = 0;

	for (size_t i = 0; i < count; i++) {
		if (!i)
			out[used++] = (struct attempt){rows[i].start_ms, 0, SPAN(""), SPAN("")};
		if (has_trained && begins_attempt(&rows[i]) && rows[i].start_ms < until_ms) {
			out[used++] = (struct attempt){rows[i].start_ms, 0, rows[i].status, rows[i].message};
			has_trained = false;
		}
		has_trained |= span_equal(rows[i].status, SPAN("Training"));
	}
	return used;
}

unsigned attempts_told(const struct transition_row *rows, size_t count)
{
	int64_t until_ms = attempts_until_ms(rows, count);
	bool has_trained = false;
	unsigned number = 1;

	for (size_t i = 0; i < count; i++) {
		bool begins = has_trained && begins_attempt(&rows[i]) && rows[i].start_ms < until_ms;
		number += begins;
		has_trained = (has_trained && !begins) || span_equal(rows[i].status, SPAN("Training"));
	}
	return number;
}

/* Is it the first that the log shows of an attempt that a status tells of? */
static bool is_told(const struct attempt *told, size_t count, bool *is_seen, int64_t start_ms)
{
	size_t at = count;

	while (at > 0 && told[at - 1].start_ms > start_ms)
		at--;
	if (at < 2 || is_seen[at - 1])
		return false;
	is_seen[at - 1] = true;
	return true;
}

/* Or is it that of the next status, which lags behind its first steps? It began with these. */
static bool is_told_late(struct attempt *told, size_t count, bool *is_seen, const struct attempt_points *points,
	size_t first, double step_ms)
{
	size_t at = 1;

	while (at < count && told[at].start_ms <= points->items[first].ts_ms)
		at++;
	if (at >= count || is_seen[at] ||
		!goodput_status_lags(points->items, points->count, first, told[at].start_ms, step_ms))
		return false;
	is_seen[at] = true;
	told[at].start_ms = points->items[first].ts_ms;
	return true;
}

static enum status describe(struct arena *arena, const struct attempt_points *points, size_t at, int64_t first_step,
	struct attempt *out, struct error *err)
{
	char text[MESSAGE_BYTES];
	int len = at && at < points->count ? snprintf(text, sizeof text, "step %lld after step %lld",
						     (long long)first_step, (long long)points->items[at - 1].step)
					   : snprintf(text, sizeof text, "step %lld", (long long)first_step);

	out->reason = SPAN("log");
	out->message = arena_copy(arena, span_of(text, (size_t)len));
	return out->message.ptr ? OK : error_no_memory(err);
}

static int by_start(const void *a, const void *b)
{
	const struct attempt *x = a, *y = b;

	return (x->start_ms > y->start_ms) - (x->start_ms < y->start_ms);
}

/* Behind the told ones; one of which no point is left began when the one before it did, as far as is known. */
static enum status add_logged(struct arena *arena, const struct attempt_points *points, bool *is_seen, int64_t until_ms,
	struct attempt *out, size_t told_count, size_t *count, struct error *err)
{
	int64_t start_ms = points->count ? points->items[0].ts_ms : 0;
	double step_ms;
	size_t at = 0;

	TRY(goodput_find_step_ms(points->items, points->count, arena, &step_ms, err));
	if (!told_count)
		out[(*count)++] = (struct attempt){start_ms, 0, SPAN(""), SPAN("")};
	for (uint32_t number = 2; number <= points->attempts; number++) {
		while (at < points->count && points->items[at].attempt < number)
			at++;
		start_ms = at < points->count ? points->items[at].ts_ms : start_ms;
		if (told_count && start_ms < out[0].start_ms)
			start_ms = out[0].start_ms;
		if (start_ms >= until_ms || is_told(out, told_count, is_seen, start_ms) ||
			(at < points->count && is_told_late(out, told_count, is_seen, points, at, step_ms)))
			continue;
		struct attempt *one = &out[(*count)++];
		*one = (struct attempt){.start_ms = start_ms};
		TRY(describe(arena, points, at, points->starts[number - 1], one, err));
	}
	return OK;
}

enum status attempts_read(struct pipeline *pipeline, struct store_reader *reader, struct arena *arena,
	const struct job_row *job, uint32_t logged, const struct transition_row *rows, size_t row_count,
	struct attempt **out, size_t *count, struct error *err)
{
	struct attempt_points points = {.attempts = 1};

	if (logged > 1)
		TRY(goodput_read_attempts(pipeline, reader, arena, job->name, &points, err));
	size_t most = row_count + points.attempts + 2;
	*out = arena_alloc(arena, most * sizeof **out);
	bool *is_seen = arena_alloc(arena, most * sizeof *is_seen);
	if (!*out || !is_seen)
		return error_no_memory(err);
	memset(is_seen, 0, most * sizeof *is_seen);
	size_t told_count = *count = take_told(rows, row_count, *out);
	if (points.attempts > 1)
		TRY(add_logged(
			arena, &points, is_seen, attempts_until_ms(rows, row_count), *out, told_count, count, err));
	if (*count)
		qsort(*out, *count, sizeof **out, by_start);
	for (size_t i = 0; i < *count; i++)
		(*out)[i].end_ms = i + 1 < *count ? (*out)[i + 1].start_ms : job->ended_ms;
	return OK;
}

void job_record_write_attempts(const struct attempt *rows, size_t count, struct json_writer *w)
{
	json_key(w, "attempt_list");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_i64(w, "attempt", (int64_t)i + 1);
		json_put_i64(w, "start_ms", rows[i].start_ms);
		if (rows[i].end_ms)
			json_put_i64(w, "end_ms", rows[i].end_ms);
		if (i) {
			json_put_span(w, "reason", rows[i].reason);
			json_put_span(w, "message", rows[i].message);
		}
		json_object_end(w);
	}
	json_array_end(w);
}
