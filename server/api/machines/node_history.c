#include "api/machines/node_history.h"

#include "api/core/money.h"
#include "fleet/goodput.h"
#include "fleet/interruptions.h"
#include "read/logs/lines.h"
#include "read/view.h"
#include "state/heard.h"
#include "state/known_fault.h"
#include "store/fleet_rows.h"
#include "store/goodput.h"
#include "store/jobs.h"
#include "store/nodes.h"

#include <stdlib.h>

enum {
	KINDS_MAX = 64,
	TIMES_SHOWN = 20, /* of a kind, the newest */
	TURNS_MAX = 10000,
	AHEAD_DAYS = 7
};

static const int64_t day_ms = 24LL * 3600 * 1000;

/* ---- faults by kind ---- */

struct kind {
	struct span signature;
	uint64_t stretches, lines;
	int64_t first_ms, last_ms;
	uint64_t jobs, days; /* different ones */
	bool is_repeated;
};

static bool is_of(const struct node_past *past, size_t at, const struct kind *kind)
{
	return span_equal(past->faults[at].signature, kind->signature);
}

/* Has an earlier row of the kind the same job, or day? */
static bool has_job(const struct node_past *past, size_t at, const struct kind *kind)
{
	for (size_t i = 0; i < at; i++)
		if (is_of(past, i, kind) && past->faults[i].job_id == past->faults[at].job_id)
			return true;
	return false;
}

static bool has_day(const struct node_past *past, size_t at, const struct kind *kind)
{
	for (size_t i = 0; i < at; i++)
		if (is_of(past, i, kind) && past->faults[i].ts_ms / day_ms == past->faults[at].ts_ms / day_ms)
			return true;
	return false;
}

static void sum_up(const struct api *api, const struct node_past *past, struct kind *kind)
{
	for (size_t i = 0; i < past->fault_count; i++) {
		const struct node_fault_row *fault = &past->faults[i];
		if (!is_of(past, i, kind))
			continue;
		kind->first_ms = fault->ts_ms; /* the newest first */
		kind->last_ms = fault->last_ms > kind->last_ms ? fault->last_ms : kind->last_ms;
		kind->stretches++;
		kind->lines += fault->count;
		kind->jobs += !has_job(past, i, kind);
		kind->days += !has_day(past, i, kind);
	}
	kind->is_repeated = (kind->jobs >= 2 || kind->days >= 2) &&
			    !known_fault_is_nonfatal(api->options.pipeline, kind->signature);
}

static size_t find_kinds(const struct api *api, const struct node_past *past, struct kind *kinds)
{
	size_t count = 0;

	for (size_t i = 0; i < past->fault_count && count < KINDS_MAX; i++) {
		size_t k = 0;
		while (k < count && !is_of(past, i, &kinds[k]))
			k++;
		if (k < count)
			continue;
		kinds[count] = (struct kind){.signature = past->faults[i].signature};
		sum_up(api, past, &kinds[count++]);
	}
	return count;
}

/* "": it was deleted since. */
static struct span job_name(const struct node_past *past, int64_t job_id)
{
	struct job_row job;

	return store_read_job_by_id(past->reader, past->arena, job_id, &job, NULL) == OK ? job.name : SPAN("");
}

static void write_kind(const struct node_past *past, const struct kind *kind, struct json_writer *w)
{
	size_t shown = 0;

	json_object(w);
	json_put_span(w, "signature", kind->signature);
	json_put_i64(w, "times", (int64_t)kind->stretches);
	json_put_i64(w, "lines", (int64_t)kind->lines);
	json_put_i64(w, "first_ms", kind->first_ms);
	json_put_i64(w, "last_ms", kind->last_ms);
	json_put_i64(w, "job_count", (int64_t)kind->jobs);
	json_put_i64(w, "days", (int64_t)kind->days);
	json_put_bool(w, "repeated", kind->is_repeated);
	json_key(w, "newest");
	json_array(w);
	for (size_t i = 0; i < past->fault_count && shown < TIMES_SHOWN; i++) {
		if (!is_of(past, i, kind))
			continue;
		shown++;
		json_object(w);
		json_put_i64(w, "ts_ms", past->faults[i].ts_ms);
		json_put_span(w, "job", job_name(past, past->faults[i].job_id));
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

static void write_kinds(const struct node_past *past, const struct kind *kinds, size_t count, struct json_writer *w)
{
	bool is_repeated = false;

	json_key(w, "fault_kinds");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		write_kind(past, &kinds[i], w);
		is_repeated |= kinds[i].is_repeated;
	}
	json_array_end(w);
	json_put_bool(w, "repeat_offender", is_repeated);
	json_put_text(w, "repeat_rule",
		"the same fault in two jobs, or on two days (UTC), of the last 30 days; not one that is nonfatal");
}

static void write_drains(const struct node_past *past, struct json_writer *w)
{
	json_key(w, "drains");
	json_array(w);
	for (size_t i = 0; i < past->fault_count; i++) {
		const struct node_fault_row *fault = &past->faults[i];
		if (!fault->is_drain)
			continue;
		json_object(w);
		json_put_span(w, "signature", fault->signature);
		json_put_i64(w, "from_ms", fault->ts_ms);
		json_put_i64(w, "until_ms", fault->last_ms + past->drain_ms);
		json_put_span(w, "job", job_name(past, fault->job_id));
		json_object_end(w);
	}
	json_array_end(w);
}

/* ---- what is to be expected ---- */

struct fleet_past {
	uint64_t breaks;
	double machine_days;
	int64_t days_at_work; /* with any */
	int64_t nodes_now;
};

static enum status read_fleet(
	const struct api *api, const struct node_past *past, struct fleet_past *out, struct error *err)
{
	struct goodput_cause *causes;
	struct goodput_day *days;
	size_t count;
	int64_t first = past->window_ms / day_ms;

	*out = (struct fleet_past){0};
	TRY(store_read_goodput_causes(
		past->reader, past->arena, past->window_ms, past->now_ms + 1, &causes, &count, err));
	for (size_t i = 0; i < count; i++)
		out->breaks += causes[i].count;
	TRY(store_read_fleet_days(
		past->reader, past->arena, SPAN(""), first, past->now_ms / day_ms, &days, &count, err));
	for (size_t i = 0; i < count; i++) {
		double day = 0;
		for (size_t j = 0; j < GOODPUT_BUCKETS; j++)
			day += j == GOODPUT_CAPACITY ? 0 : (double)days[i].node_ms[j]; /* no machine was there */
		out->machine_days += day / (double)day_ms;
		out->days_at_work += day > 0;
	}
	return store_count_nodes_at_work(
		past->reader, heard_silent_before(api->options.pipeline, past->now_ms), &out->nodes_now, err);
}

static int by_begin(const void *a, const void *b)
{
	const struct node_turn *x = a, *y = b;

	return (x->from_ms > y->from_ms) - (x->from_ms < y->from_ms);
}

/* Until its last line, not the next machine's first: of a log of the past that is read, as when it came says nothing. */
static enum status end_turn(
	const struct api *api, const struct node_past *past, struct node_turn *turn, struct error *err)
{
	int64_t line_ms = 0;

	if (!turn->to_ms) {
		turn->to_ms = turn->last_ms;
		return OK;
	}
	if (turn->until_ms && turn->until_ms < turn->to_ms) {
		turn->to_ms = turn->until_ms;
		return OK;
	}
	if (!turn->next_line || turn->to_ms <= past->window_ms)
		return OK;
	TRY(lines_read_time(api->options.pipeline, past->reader, past->arena, turn->job, turn->stream,
		turn->next_line - 1, &line_ms, err));
	TRY(store_reader_begin(past->reader, err)); /* what reads lines ends the view */
	if (line_ms && line_ms < turn->to_ms)
		turn->to_ms = line_ms;
	return OK;
}

/* In days. Turns overlap where it sends several streams. */
static enum status read_machine_days(
	const struct api *api, const struct node_past *past, double *out, struct error *err)
{
	struct node_turn *turns;
	size_t count;
	int64_t ms = 0, until_ms = past->window_ms;

	TRY(store_read_node_turns(past->reader, past->arena, past->host, TURNS_MAX, &turns, &count, err));
	for (size_t i = 0; i < count; i++) {
		struct node_turn *turn = &turns[i];
		if (!turn->from_ms || !turn->to_ms)
			view_stream_times(
				api->options.pipeline, turn->job, turn->stream, &turn->first_ms, &turn->last_ms);
		turn->from_ms = turn->from_ms ? turn->from_ms : turn->first_ms;
		TRY(end_turn(api, past, turn, err));
	}
	if (count)
		qsort(turns, count, sizeof *turns, by_begin);
	for (size_t i = 0; i < count; i++) {
		int64_t from_ms = turns[i].from_ms > until_ms ? turns[i].from_ms : until_ms;
		int64_t to_ms = turns[i].to_ms < past->now_ms ? turns[i].to_ms : past->now_ms;
		if (to_ms <= from_ms || !turns[i].from_ms)
			continue;
		ms += to_ms - from_ms;
		until_ms = to_ms;
	}
	*out = (double)ms / (double)day_ms;
	return OK;
}

struct forecast {
	const char *name;
	uint64_t events; /* seen in all, of which the least is asked */
	double shape, exposure, ahead;
	uint64_t own;
	double machine_days;
	const char *ahead_from;
};

static void write_forecast(const struct forecast *f, struct json_writer *w)
{
	struct interruptions got;
	bool is_known = f->events >= INTERRUPTIONS_LEAST;

	json_key(w, f->name);
	json_object(w);
	json_put_i64(w, "events", (int64_t)f->own);
	json_put_double(w, "machine_days", f->machine_days);
	if (is_known && interruptions_expect(f->shape, f->exposure, f->ahead, &got)) {
		json_put_double(w, "shape", got.shape);
		json_put_double(w, "exposure", got.exposure);
		json_put_double(w, "ahead", got.ahead);
		json_put_text(w, "ahead_from", f->ahead_from);
		json_put_double(w, "expected", got.expected);
		json_put_i64(w, "low", got.low);
		json_put_i64(w, "high", got.high);
	} else {
		json_key(w, "expected");
		json_null(w);
		json_put_text(w, "why", is_known ? "not known how long machines worked" : "too few");
	}
	json_object_end(w);
}

static enum status write_expected(
	const struct api *api, const struct node_past *past, struct json_writer *w, struct error *err)
{
	struct fleet_past fleet;
	double own_days;

	TRY(read_fleet(api, past, &fleet, err));
	TRY(read_machine_days(api, past, &own_days, err));
	double usual = fleet.days_at_work ? fleet.machine_days / (double)fleet.days_at_work : 0;
	json_key(w, "expected_interruptions");
	json_object(w);
	json_put_i64(w, "days", AHEAD_DAYS);
	json_put_i64(w, "from_ms", past->window_ms);
	json_put_i64(w, "to_ms", past->now_ms);
	json_put_text(w, "formula",
		"rate ~ Gamma(shape, exposure) a machine-day; expected = shape / exposure * ahead; low and high: 5 % and 95 % of "
		"NegativeBinomial(shape, exposure / (exposure + ahead)). Fleet: shape = events + 0.5, exposure = machine_days. "
		"Host: shape = events + 1, exposure = machine_days + the fleet's machine_days / charged");
	json_put_i64(w, "charged", (int64_t)past->charged);
	write_forecast(&(struct forecast){"fleet", fleet.breaks, (double)fleet.breaks + 0.5, fleet.machine_days,
			       AHEAD_DAYS * (fleet.nodes_now > 0 ? (double)fleet.nodes_now : usual), fleet.breaks,
			       fleet.machine_days,
			       fleet.nodes_now > 0 ? "machines of jobs that run" : "machines a day with work"},
		w);
	double prior_days = past->charged ? fleet.machine_days / (double)past->charged : 0;
	write_forecast(&(struct forecast){"host", past->charged, (double)past->own + 1,
			       fleet.machine_days > 0 ? own_days + prior_days : 0, AHEAD_DAYS, past->own, own_days,
			       "the machine works all week"},
		w);
	json_object_end(w);
	return OK;
}

enum status node_history_write(
	const struct api *api, const struct node_past *past, struct json_writer *w, struct error *err)
{
	struct kind kinds[KINDS_MAX];
	size_t count = find_kinds(api, past, kinds);

	write_kinds(past, kinds, count, w);
	write_drains(past, w);
	return write_expected(api, past, w, err);
}
