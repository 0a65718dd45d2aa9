#include "state/jobs/history_by_hand.h"

#include "store/jobs.h"
#include "store/transitions.h"

static bool is_training(const struct transition_row *row)
{
	return span_equal(row->status, SPAN("Training"));
}

static size_t find_training(const struct history *history)
{
	size_t at = 0;

	while (at < history->count && !is_training(&history->rows[at]))
		at++;
	return at;
}

static enum status copy(struct arena *arena, const struct history *from, struct history *out, struct error *err)
{
	*out = *from;
	out->rows =
		arena_alloc(arena, (from->count + 1) * sizeof *out->rows); /* and one for a start that nobody knew */
	if (!out->rows)
		return error_no_memory(err);
	if (from->count)
		memcpy(out->rows, from->rows, from->count * sizeof *out->rows);
	return OK;
}

/* ---- an end that is later than the facts have it ---- */

/* When the present run began that goes on with an end. */
static int64_t run_ms(const struct history *history)
{
	for (size_t i = history->count - 1; i > 0; i--)
		if (phase_is_final(history->rows[i - 1].status) && !phase_is_final(history->rows[i].status))
			return history->rows[i].start_ms;
	return INT64_MIN;
}

/*
 * As if who told of the end had said that time: what came behind the end that they told, as all of its log where that is of before the
 * first line, is of the run then.
 */
static enum status decide_moved(struct arena *arena, const struct history_facts *facts, const struct history *known,
	int64_t end_ms, struct history *out, struct error *err)
{
	const struct transition_row *last = &known->rows[known->count - 1];
	struct told_row *told = arena_alloc(arena, (facts->told_count + 1) * sizeof *told);
	struct history_facts moved = *facts;
	int64_t from_ms = run_ms(known);
	struct history found;

	if (!told)
		return error_no_memory(err);
	for (size_t i = 0; i < facts->told_count; i++) {
		told[i] = facts->told[i];
		if (!span_equal(told[i].status, last->status) || told[i].start_ms < from_ms)
			continue;
		told[i].start_ms = end_ms;
		told[i].is_undated &= told_is_imported_end(&told[i]);
	}
	moved.told = told;
	TRY(history_decide(arena, &moved, &found, err));
	bool is_same_end = found.count && span_equal(found.rows[found.count - 1].status, last->status);
	return copy(arena, is_same_end ? &found : known, out, err);
}

/* ---- what is shown ---- */

static void clip(struct history *history, size_t until, int64_t at_ms)
{
	for (size_t i = 0; i < until; i++) {
		if (history->rows[i].start_ms > at_ms)
			history->rows[i].start_ms = at_ms;
		if (history->rows[i].end_ms > at_ms || i + 1 == until)
			history->rows[i].end_ms = at_ms;
	}
}

static void raise(struct history *history, size_t from, int64_t at_ms)
{
	for (size_t i = from; i < history->count; i++) {
		if (history->rows[i].start_ms < at_ms)
			history->rows[i].start_ms = at_ms;
		if (history->rows[i].end_ms && history->rows[i].end_ms < at_ms)
			history->rows[i].end_ms = at_ms;
	}
}

/* Of a job that has ended, of whose training nobody told: in front of what comes behind that in a job's life. */
static size_t insert_training(struct history *history, int64_t start_ms)
{
	size_t at = 0;

	while (!phase_is_before(SPAN("Training"), history->rows[at].status))
		at++; /* at most to the end */
	memmove(&history->rows[at + 1], &history->rows[at], (history->count - at) * sizeof *history->rows);
	history->rows[at] = (struct transition_row){.status = SPAN("Training"),
		.message = SPAN("its start was set by hand"),
		.start_ms = start_ms,
		.end_ms = history->rows[at + 1].start_ms,
		.source = SOURCE_ASSUMED};
	history->count++;
	return at;
}

/* What was before the start was before the training, whatever it was: but for the status that the job has now. */
static size_t move_training(struct history *history, size_t at, int64_t start_ms)
{
	struct transition_row *rows = history->rows, training = rows[at];
	size_t next = at + 1, used = at;

	for (; next + 1 < history->count && (rows[next].start_ms < start_ms || is_training(&rows[next])); next++) {
		if (!is_training(&rows[next]))
			rows[used++] = rows[next];
		else if (rows[next].start_ms < start_ms)
			training = rows[next];
	}
	training.end_ms = next < history->count ? rows[next].start_ms : 0;
	rows[used] = training;
	memmove(&rows[used + 1], &rows[next], (history->count - next) * sizeof *rows);
	history->count -= next - used - 1;
	return used;
}

static void set_start(struct history *history, int64_t start_ms, struct job_row *row)
{
	size_t at = find_training(history);

	at = at == history->count ? insert_training(history, start_ms) : move_training(history, at, start_ms);
	/* whoever says when it began says nothing of how it went on */
	history->rows[at].source = transition_is_assumed(&history->rows[at]) ? SOURCE_ASSUMED_BY_HAND : SOURCE_BY_HAND;
	history->rows[at].start_ms = row->started_ms = start_ms;
	clip(history, at, start_ms);
	raise(history, at, start_ms);
}

static void set_end(struct history *history, int64_t end_ms, struct job_row *row)
{
	size_t last = history->count - 1;

	history->rows[last].start_ms = row->ended_ms = end_ms;
	if (row->started_ms > end_ms)
		row->started_ms = end_ms;
	clip(history, last, end_ms);
}

/* What is set wins; what is worked out, and cannot be so, gives way. */
static void place(const struct by_hand *by, bool has_ended, struct job_row *row, struct history_by_hand *out)
{
	bool has_trained = find_training(&out->shown) < out->shown.count;
	int64_t start_ms = has_trained || has_ended ? by->start_ms : 0, end_ms = has_ended ? by->end_ms : 0;

	if (start_ms && !end_ms && has_ended && row->ended_ms < start_ms) {
		out->has_given_way = true;
		row->ended_ms = start_ms;
	}
	out->has_given_way |= end_ms && !start_ms && row->started_ms > end_ms;
	if (start_ms)
		set_start(&out->shown, start_ms, row);
	if (!end_ms)
		return;
	set_end(&out->shown, end_ms, row);
	out->shown.rows[out->shown.count - 1].source = SOURCE_BY_HAND;
}

enum status history_set_by_hand(struct arena *arena, const struct history_facts *facts, const struct history *known,
	const struct by_hand *by, struct job_row *row, struct history_by_hand *out, struct error *err)
{
	const struct transition_row *last = known->count ? &known->rows[known->count - 1] : NULL;
	bool has_ended = last && row->ended_ms && phase_is_final(last->status);

	*out = (struct history_by_hand){.shown = *known, .base = *known};
	if (!last || (!by->start_ms && !by->end_ms))
		return OK;
	if (!has_ended || by->end_ms <= row->ended_ms) {
		TRY(copy(arena, known, &out->shown, err));
	} else {
		TRY(decide_moved(arena, facts, known, by->end_ms, &out->shown, err));
		TRY(copy(arena, &out->shown, &out->base, err));
		out->base.rows[out->base.count - 1].start_ms = last->start_ms;
		out->base.rows[out->base.count - 1].source = last->source;
		size_t at = find_training(&out->shown);
		if (!row->started_ms && at < out->shown.count)
			row->started_ms = out->shown.rows[at].start_ms;
	}
	place(by, has_ended, row, out);
	return OK;
}
