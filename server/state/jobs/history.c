#include "state/jobs/history.h"

#include "state/jobs/exits.h"
#include "store/jobs.h"
#include "store/transitions.h"

#include <stdlib.h>

/* In the order of a job's life. https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_SecondaryStatusTransition.html */
static const struct phase phases[] = {
	{"Starting", "InProgress", false},
	{"Pending", "InProgress", false},
	{"LaunchingMLInstances", "InProgress", false},
	{"PreparingTrainingStack", "InProgress", false},
	{"Downloading", "InProgress", false},
	{"DownloadingTrainingImage", "InProgress", false},
	{"Training", "InProgress", false},
	{"Restarting", "InProgress", false},
	{"Updating", "InProgress", false},
	{"Uploading", "InProgress", false},
	{"Interrupted", "InProgress", false},
	{"Stopping", "Stopping", false},
	{"Stopped", "Stopped", true},
	{"MaxRuntimeExceeded", "Stopped", true},
	{"MaxWaitTimeExceeded", "Stopped", true},
	{"Completed", "Completed", true},
	{"Failed", "Failed", true},
};

const struct phase *phase_find(struct span secondary)
{
	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
		if (span_equal(span_from(phases[i].secondary), secondary))
			return &phases[i];
	return NULL;
}

bool phase_is_final(struct span secondary)
{
	const struct phase *phase = phase_find(secondary);

	return phase && phase->is_final;
}

bool phase_is_before(struct span secondary, struct span other)
{
	const struct phase *a = phase_find(secondary), *b = phase_find(other);

	return a && b && a < b;
}

static bool is_training(struct span secondary)
{
	return span_equal(secondary, SPAN("Training"));
}

bool phase_is_resume(struct span secondary)
{
	return is_training(secondary) || span_equal(secondary, SPAN("Starting")) ||
	       span_equal(secondary, SPAN("Restarting"));
}

bool phase_is_waiting(struct span secondary)
{
	return phase_is_before(secondary, SPAN("Training")) || span_equal(secondary, SPAN("Restarting")) ||
	       span_equal(secondary, SPAN("Updating")) || span_equal(secondary, SPAN("Interrupted"));
}

/* ---- what counts at all ---- */

static bool is_before(const struct told_row *a, const struct told_row *b)
{
	if (a->start_ms != b->start_ms)
		return a->start_ms < b->start_ms;
	if (!span_equal(a->status, b->status))
		return phase_is_before(a->status, b->status);
	return a->source < b->source;
}

static int by_time(const void *a, const void *b)
{
	const struct told_row *x = a, *y = b;

	return is_before(y, x) - is_before(x, y);
}

struct deciding {
	struct told_row *rows; /* that count, in order */
	size_t count;
	struct told_row *shown;
	size_t shown_count;
	int64_t run_ms; /* when the present run began that goes on with an end; 0: the first one is the present one */
};

static bool is_known(const struct told_row *row) /* by somebody, not by us */
{
	return row->source == SOURCE_STATED || row->source == SOURCE_LOG;
}

/* The log tells what was before the first thing that is stated; nothing of the end, and nothing beside a whole history. */
static bool does_log_count(const struct told_row *row, const struct told_row *first_stated, bool has_whole)
{
	if (!first_stated)
		return true;
	return !has_whole && !phase_is_final(row->status) && row->start_ms <= first_stated->start_ms &&
	       !phase_is_before(first_stated->status, row->status);
}

/* That it was announced says when it was asked for, where nobody else does. */
static bool does_start_count(const struct deciding *d, const struct told_row *row)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct told_row *other = &d->rows[i];
		if (is_known(other) && span_equal(other->status, row->status))
			return false;
		if (other->source != SOURCE_ASSUMED && other->start_ms <= row->start_ms)
			return false;
		if (other->source == SOURCE_ASSUMED && is_training(other->status) && other->start_ms < row->start_ms)
			return false;
	}
	return true;
}

static bool is_assumed_start(const struct told_row *row)
{
	return row->source == SOURCE_ASSUMED && span_equal(row->status, SPAN("Starting"));
}

bool told_goes_on_after(const struct told_row *rows, size_t count, int64_t at_ms)
{
	for (size_t i = 0; i < count; i++) {
		const struct told_row *row = &rows[i];
		bool is_stated = row->source == SOURCE_STATED && !row->is_undated && !row->lifts_ms;
		bool is_other = row->source == SOURCE_SESSION || is_stated;
		if (is_other && !phase_is_final(row->status) && row->start_ms > at_ms)
			return true;
	}
	return false;
}

/* Who posts the log of last week and then says that it is completed means that it ended when its log did; unless somebody said that it
 * went on since. */
static int64_t past_end_of(const struct history_facts *facts)
{
	return told_goes_on_after(facts->told, facts->told_count, facts->past_ms) ? 0 : facts->past_ms;
}

bool told_is_imported_end(const struct told_row *row)
{
	return row->source == SOURCE_ASSUMED && span_equal(row->status, SPAN("Completed"));
}

bool told_goes_on_from(const struct told_row *row, const struct told_row *end)
{
	return !row->is_undated && (row->source == SOURCE_STATED || row->source == SOURCE_SESSION) &&
	       row->start_ms > end->start_ms;
}

/* What was imported ended where its log does, and moves with that until somebody goes on with it. */
static int64_t imported_end_of(const struct history_facts *facts, const struct told_row *end)
{
	for (size_t i = 0; i < facts->told_count; i++)
		if (told_goes_on_from(&facts->told[i], end))
			return end->start_ms;
	return facts->log_ms > end->start_ms ? facts->log_ms : end->start_ms;
}

/* Of the rows that count: nobody said when they were. */
static struct told_row date(const struct history_facts *facts, const struct told_row *told, int64_t past_ms)
{
	struct told_row row = *told;

	if (told_is_imported_end(told)) {
		row.start_ms = imported_end_of(facts, told);
		return row;
	}
	row.is_undated = told->is_undated && told->source != SOURCE_SESSION && past_ms;
	if (row.is_undated && row.start_ms > past_ms)
		row.start_ms = past_ms;
	return row;
}

static void take_told(struct deciding *d, const struct history_facts *facts)
{
	const struct told_row *first_stated = NULL;
	int64_t past_ms = past_end_of(facts);
	bool has_whole = false;

	for (size_t i = 0; i < facts->told_count; i++) {
		const struct told_row *row = &facts->told[i];
		has_whole |= row->is_whole;
		if (row->source == SOURCE_STATED && (!first_stated || is_before(row, first_stated)))
			first_stated = row;
	}
	for (size_t i = 0; i < facts->told_count; i++) {
		const struct told_row *row = &facts->told[i];
		if (!is_assumed_start(row) &&
			(row->source != SOURCE_LOG || does_log_count(row, first_stated, has_whole)))
			d->rows[d->count++] = date(facts, row, past_ms);
	}
	for (size_t i = 0; i < facts->told_count; i++)
		if (is_assumed_start(&facts->told[i]) && !has_whole && does_start_count(d, &facts->told[i]))
			d->rows[d->count++] = facts->told[i];
	if (d->count)
		qsort(d->rows, d->count, sizeof *d->rows, by_time);
}

/* ---- one after the other ---- */

static const struct told_row *next_known(const struct deciding *d, size_t at)
{
	for (size_t i = at + 1; i < d->count; i++)
		if (is_known(&d->rows[i]))
			return &d->rows[i];
	return NULL;
}

/* An end that nobody stated: whoever says how it ended, in the run that it is the end of, knows better. */
static bool does_inferred_end_count(const struct deciding *d, size_t at)
{
	for (size_t i = at + 1; i < d->count; i++) {
		const struct told_row *row = &d->rows[i];
		if (is_known(row) && phase_is_final(row->status))
			return false;
		if (row->source == SOURCE_STATED && phase_is_resume(row->status))
			return true;
	}
	return true;
}

/* Told rows of exits are ends from which somebody went on. */
static bool is_inferred_end(const struct told_row *row)
{
	return told_is_imported_end(row) || row->source == SOURCE_EXIT;
}

/* Where somebody says when it trained, or that it did not yet, nothing is assumed; what comes behind an end is of another run. */
static bool may_train(const struct deciding *d, size_t at)
{
	const struct told_row *next = next_known(d, at);

	for (size_t i = at + 1; i < d->count && &d->rows[i] != next; i++)
		if (is_inferred_end(&d->rows[i]) && does_inferred_end_count(d, i))
			return true;
	return !next || phase_is_before(SPAN("Training"), next->status);
}

/* Told again, of a later time and behind an end of another status: it had ended so before. */
static bool has_ended_so(const struct deciding *d, struct span status)
{
	if (span_equal(d->shown[d->shown_count - 1].status, status))
		return false; /* its words may be news */
	for (size_t i = d->shown_count; i-- > 0 && phase_is_final(d->shown[i].status);)
		if (span_equal(d->shown[i].status, status))
			return true;
	return false;
}

static bool follows_end(const struct deciding *d, size_t at, const struct told_row *end)
{
	const struct told_row *row = &d->rows[at];

	if (phase_is_final(row->status))
		return is_known(row) && !has_ended_so(d, row->status);
	if (row->source == SOURCE_SESSION)
		return end->start_ms <= row->lifts_ms && may_train(d, at);
	return row->source == SOURCE_STATED && phase_is_resume(row->status);
}

static bool follows(const struct deciding *d, size_t at, const struct told_row *last)
{
	const struct told_row *row = &d->rows[at];

	if (last && phase_is_final(last->status))
		return follows_end(d, at, last);
	if (is_inferred_end(row))
		return does_inferred_end_count(d, at);
	if (is_known(row))
		return true;
	if (is_training(row->status))
		return (!last || phase_is_waiting(last->status)) && may_train(d, at);
	if (phase_is_final(row->status))
		return last && span_equal(last->status, SPAN("Stopping")) && !next_known(d, at);
	return true;
}

static void walk(struct deciding *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct told_row *last = d->shown_count ? &d->shown[d->shown_count - 1] : NULL;
		if (!follows(d, i, last))
			continue;
		if (last && phase_is_final(last->status) && !phase_is_final(d->rows[i].status))
			d->run_ms = d->rows[i].start_ms;
		d->shown[d->shown_count++] = d->rows[i];
	}
}

/* What a session opened behind an end that was stated: of the past, of a process that was at work then, or by a clock that is behind. */
static bool opens_end(const struct told_row *row)
{
	return row->source == SOURCE_SESSION && row->start_ms == row->lifts_ms + 1;
}

static bool was_long_away(const struct told_row *row)
{
	return row->source == SOURCE_SESSION && span_equal(row->message, SPAN(HISTORY_LONG_AWAY));
}

/* The end is when the last process was known to live; what it says of the time before that is believed for no more than a day. */
static void go_on_until(struct told_row *session, int64_t end_ms)
{
	int64_t from_ms = end_ms - HISTORY_WAITED_MAX_MS;

	session->start_ms = from_ms > session->lifts_ms ? from_ms : session->lifts_ms + 1;
}

/* How its processes ended ends the job where nobody says that it has; it is better known than assumed. */
static void add_exit(struct deciding *d, const struct history_facts *facts)
{
	size_t kept = d->shown_count;
	struct told_row end;

	if (kept && phase_is_final(d->shown[kept - 1].status) && d->shown[--kept].source != SOURCE_ASSUMED)
		return;
	const struct told_row *last = kept ? &d->shown[kept - 1] : NULL;
	bool is_stop = last && span_equal(last->status, SPAN("Stopping"));
	if (!exits_decide(facts->held, facts->held_count, d->run_ms, is_stop, &end))
		return;
	bool is_earlier = last && was_long_away(last) && end.start_ms < last->start_ms;
	if (last && (opens_end(last) || is_earlier) && end.start_ms <= last->lifts_ms) {
		d->shown_count = kept - 1; /* nothing came behind the end that was opened: it stands */
		return;
	}
	if (is_earlier)
		go_on_until(&d->shown[kept - 1], end.start_ms);
	if (last && end.start_ms < last->start_ms)
		end.start_ms = last->start_ms; /* a sender's clock */
	d->shown_count = kept;
	d->shown[d->shown_count++] = end;
}

/* ---- what is shown ---- */

static void join_neighbours(const struct deciding *d, struct history *out)
{
	for (size_t i = 0; i < d->shown_count; i++) {
		struct transition_row *before = out->count ? &out->rows[out->count - 1] : NULL;
		const struct told_row *row = &d->shown[i];
		bool is_same = before && span_equal(before->status, row->status);
		bool is_dated = row->is_undated && row->source == SOURCE_STATED;
		if (!is_same) {
			out->rows[out->count++] = (struct transition_row){
				row->status, row->message, row->start_ms, 0, is_dated ? SOURCE_DATED : row->source, 0};
			out->failure_reason = phase_is_final(row->status) ? row->reason : SPAN("");
			continue;
		}
		/* An end of which the log says when it was gives way to one that somebody dates. */
		if (before->source == SOURCE_DATED && row->source == SOURCE_STATED && !row->is_undated &&
			phase_is_final(row->status))
			before->start_ms = row->start_ms;
		before->message = row->message.len ? row->message : before->message;
		before->source = row->source < before->source ? row->source : before->source;
		before->again_ms = row->source == SOURCE_STATED ? row->start_ms : before->again_ms;
		if (row->reason.len)
			out->failure_reason = row->reason;
	}
	for (size_t i = 0; i + 1 < out->count; i++)
		out->rows[i].end_ms = out->rows[i + 1].start_ms;
}

/* sm-ship says how its process ended before it closes the session of it: who is told at once is told the fault, too. */
static bool is_shipped_end(const struct history_facts *facts, struct span reason)
{
	if (!exits_is_how_one_ended(reason))
		return false;
	for (size_t i = 0; i < facts->told_count; i++)
		if (span_starts_with(facts->told[i].message, SPAN(HISTORY_SHIPPED_BEGAN)))
			return true;
	return false;
}

enum status history_decide(
	struct arena *arena, const struct history_facts *facts, struct history *out, struct error *err)
{
	size_t most = facts->told_count + 1; /* and the end that exits make */
	struct deciding d = {
		.rows = arena_alloc(arena, most * sizeof *d.rows), .shown = arena_alloc(arena, most * sizeof *d.shown)};

	*out = (struct history){.rows = arena_alloc(arena, most * sizeof *out->rows), .failure_reason = SPAN("")};
	if (!d.rows || !d.shown || !out->rows)
		return error_no_memory(err);
	take_told(&d, facts);
	walk(&d);
	add_exit(&d, facts);
	join_neighbours(&d, out);
	out->is_reason_stated = out->failure_reason.len && out->rows[out->count - 1].source != SOURCE_EXIT &&
				!exits_say(facts->held, facts->held_count, out->failure_reason) &&
				!is_shipped_end(facts, out->failure_reason) &&
				!span_starts_with(out->failure_reason, SPAN(HISTORY_RUN_ENDED));
	return OK;
}

bool transition_is_assumed(const struct transition_row *row)
{
	return row->source == SOURCE_ASSUMED || row->source == SOURCE_ASSUMED_BY_HAND;
}

bool history_is_same(const struct history *a, const struct history *b)
{
	bool is_same = a->count == b->count;

	for (size_t i = 0; is_same && i < a->count; i++) {
		const struct transition_row *x = &a->rows[i], *y = &b->rows[i];
		is_same = span_equal(x->status, y->status) && span_equal(x->message, y->message) &&
			  x->start_ms == y->start_ms && x->end_ms == y->end_ms && x->source == y->source;
	}
	return is_same;
}

/* What an event says outright counts more than what follows from the rows; not of an end that the job has left behind. */
static int64_t end_of(const struct history *history, const struct event_times *times)
{
	const struct transition_row *last = &history->rows[history->count - 1];
	int64_t begun_ms = history->count > 1 ? last[-1].start_ms : 0;

	if (!phase_is_final(last->status))
		return 0;
	return times->ended_ms && times->ended_ms >= begun_ms && last->source == SOURCE_STATED ? times->ended_ms
											       : last->start_ms;
}

void history_to_row(const struct history *history, const struct event_times *times, struct job_row *row)
{
	if (!history->count)
		return;
	const struct transition_row *last = &history->rows[history->count - 1];
	const struct phase *phase = phase_find(last->status);

	row->started_ms = times->started_ms;
	for (size_t i = 0; i < history->count && !row->started_ms; i++)
		if (is_training(history->rows[i].status))
			row->started_ms = history->rows[i].start_ms;
	row->secondary = last->status;
	row->status = phase ? span_from(phase->status) : row->status;
	row->ended_ms = end_of(history, times);
	row->failure_reason = history->failure_reason;
}

static int64_t earlier_of(int64_t a_ms, int64_t b_ms)
{
	return b_ms && b_ms < a_ms ? b_ms : a_ms;
}

int64_t history_created_ms(const struct history *history, const struct job_row *row)
{
	bool is_told = history->count && history->rows[0].source != SOURCE_ASSUMED;
	int64_t first_ms = earlier_of(row->announced_ms, is_told ? history->rows[0].start_ms : 0);

	return earlier_of(earlier_of(first_ms, row->started_ms), row->ended_ms);
}

uint32_t history_count_lives(const struct transition_row *rows, size_t count, bool *is_over)
{
	uint32_t lives = 0;

	*is_over = false;
	for (size_t i = 0; i < count; i++) {
		bool is_final = phase_is_final(rows[i].status);
		lives += *is_over && !is_final;
		*is_over = is_final;
	}
	return lives;
}

int64_t history_began_again_ms(const struct history *history)
{
	for (size_t i = history->count; i-- > 1;)
		if (!phase_is_final(history->rows[i].status) && phase_is_final(history->rows[i - 1].status))
			return history->rows[i].start_ms;
	return 0;
}

int64_t history_taken_up_ms(const struct history *history, int64_t until_ms)
{
	bool has_trained = false, is_broken = false;
	int64_t taken_up_ms = INT64_MIN;

	for (size_t i = 0; i < history->count && history->rows[i].start_ms <= until_ms; i++) {
		struct span status = history->rows[i].status;
		if (is_training(status)) {
			taken_up_ms = is_broken ? history->rows[i].start_ms : taken_up_ms;
			has_trained = true;
			is_broken = false;
		} else {
			is_broken |=
				span_equal(status, SPAN("Restarting")) || span_equal(status, SPAN("Interrupted")) ||
				(has_trained && (phase_is_final(status) || phase_is_before(status, SPAN("Training"))));
		}
	}
	return taken_up_ms;
}

/* Lines that are read by it must not have made it. */
static bool is_said_beside_lines(const struct transition_row *row)
{
	return row->source != SOURCE_LOG && row->source != SOURCE_ASSUMED && row->source != SOURCE_ASSUMED_BY_HAND;
}

size_t history_find_breaks(const struct history *history, int64_t *at_ms, size_t cap)
{
	bool is_broken = false;
	size_t count = 0;

	for (size_t i = 0; i < history->count; i++) {
		const struct transition_row *row = &history->rows[i];
		bool is_break = phase_is_final(row->status) || span_equal(row->status, SPAN("Restarting")) ||
				span_equal(row->status, SPAN("Interrupted"));
		bool is_return = is_broken && is_training(row->status);
		bool is_one = (is_break || is_return) && is_said_beside_lines(row);
		if (is_one && count == cap) { /* half of them at once: a loop of crashes has thousands */
			count = cap / 2;
			memmove(at_ms, at_ms + cap - count, count * sizeof *at_ms);
		}
		if (is_one)
			at_ms[count++] = row->start_ms;
		is_broken = is_break || (is_broken && !is_return);
	}
	return count;
}
