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
	const int64_t *job_ids; /* of each fault: the job that it came in */
	uint64_t stretches, lines;
	int64_t first_ms, last_ms;
	uint64_t jobs, days; /* different ones */
	bool is_repeated;
};

static bool is_of(const struct node_past *past, size_t at, const struct kind *kind)
{
	return span_equal(past->faults[at].signature, kind->signature) && !past->faults[at].is_told_again;
}

static int by_time(const void *a, const void *b)
{
	const struct break_fault *x = a, *y = b;

	return (x->ts_ms > y->ts_ms) - (x->ts_ms < y->ts_ms);
}

static bool sends(const struct node_past *past, int64_t job_id)
{
	for (size_t i = 0; i < past->stream_count; i++)
		if (past->streams[i].job_id == job_id)
			return true;
	return false;
}

/* The job whose log has it; of a log that the machine does not send to, a central one, the job that broke off beside it. told: by time. */
static int64_t job_of(const struct node_past *past, const struct break_fault *told, const struct node_fault_row *fault)
{
	size_t low = 0, high = past->told_count;

	if (sends(past, fault->job_id))
		return fault->job_id;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (told[middle].ts_ms < fault->ts_ms)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < past->told_count && told[low].ts_ms <= fault->last_ms; low++)
		if (span_equal(told[low].signature, fault->signature))
			return told[low].job_id;
	return fault->job_id;
}

static enum status find_jobs(const struct node_past *past, int64_t **out, struct error *err)
{
	struct break_fault *told = arena_alloc(past->arena, (past->told_count + 1) * sizeof *told);

	*out = arena_alloc(past->arena, (past->fault_count + 1) * sizeof **out);
	if (!told || !*out)
		return error_no_memory(err);
	for (size_t i = 0; i < past->told_count; i++)
		told[i] = past->told[i];
	if (past->told_count)
		qsort(told, past->told_count, sizeof *told, by_time);
	for (size_t i = 0; i < past->fault_count; i++)
		(*out)[i] = job_of(past, told, &past->faults[i]);
	return OK;
}

/* Has an earlier row of the kind the same job? */
static bool has_job(const struct node_past *past, size_t at, const struct kind *kind)
{
	for (size_t i = 0; i < at; i++)
		if (is_of(past, i, kind) && kind->job_ids[i] == kind->job_ids[at])
			return true;
	return false;
}

/* A stretch over midnight is of two days. */
static uint64_t count_days(const struct node_past *past, const struct kind *kind)
{
	int64_t until = INT64_MIN; /* the last day that is counted */
	uint64_t days = 0;

	for (size_t i = past->fault_count; i-- > 0;) { /* the oldest first */
		int64_t first = past->faults[i].ts_ms / day_ms, last = past->faults[i].last_ms / day_ms;
		if (!is_of(past, i, kind) || last <= until)
			continue;
		days += (uint64_t)(last - (first > until ? first - 1 : until));
		until = last;
	}
	return days;
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
	}
	kind->days = count_days(past, kind);
	kind->is_repeated = kind->stretches >= 2 && (kind->jobs >= 2 || kind->days >= 2) &&
			    !known_fault_is_nonfatal(api->options.pipeline, kind->signature);
}

static size_t find_kinds(
	const struct api *api, const struct node_past *past, const int64_t *job_ids, struct kind *kinds)
{
	size_t count = 0;

	for (size_t i = 0; i < past->fault_count && count < KINDS_MAX; i++) {
		size_t k = 0;
		while (k < count && !is_of(past, i, &kinds[k]))
			k++;
		if (k < count || past->faults[i].is_told_again)
			continue;
		kinds[count] = (struct kind){.signature = past->faults[i].signature, .job_ids = job_ids};
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
		"the same fault, said twice, in two jobs, or on two days (UTC), of the last 30 days; not one that is nonfatal");
}

static void write_drains(const struct node_past *past, struct json_writer *w)
{
	json_key(w, "drains");
	json_array(w);
	for (size_t i = 0; i < past->fault_count; i++) {
		const struct node_fault_row *fault = &past->faults[i];
		if (!fault->is_drain || fault->is_told_again)
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
	int64_t *job_ids;

	TRY(find_jobs(past, &job_ids, err));
	size_t count = find_kinds(api, past, job_ids, kinds);

	write_kinds(past, kinds, count, w);
	write_drains(past, w);
	return write_expected(api, past, w, err);
}
