/* What was derived of a job, split by days (UTC) and priced. */
#include "pipeline/goodput/goodput.h"
#include "store/jobs.h"

#include <math.h>

enum { DAY_MS = 24 * 60 * 60 * 1000, DAYS_MAX = 4000, UNPRICED_MAX_BYTES = 1 << 20 };

_Static_assert((int)STORE_GOODPUT_BUCKETS == (int)GOODPUT_BUCKETS, "the columns are the buckets");
_Static_assert((int)STORE_GOODPUT_STARTUPS == (int)GOODPUT_FIRST_STEP, "and the first of them the start-up");

struct accounting {
	struct job_goodput *job;
	const struct price_list *prices;
	int64_t first_day, last_day;
	int64_t *billed_ms, *lost_ms, *redone_ms; /* by day, of one node */
};

static int64_t day_of(int64_t ms)
{
	return ms >= 0 ? ms / DAY_MS : -((-ms + DAY_MS - 1) / DAY_MS);
}

/* What lies further back than a job can last is of its first day. */
static int64_t place_of(const struct accounting *a, int64_t ms)
{
	int64_t day = day_of(ms);

	return day < a->first_day ? 0 : day > a->last_day ? a->last_day - a->first_day : day - a->first_day;
}

/* The end of the day that ms lies in, as place_of sees it. */
static int64_t border_of(const struct accounting *a, int64_t ms)
{
	int64_t day = day_of(ms);

	return ((day < a->first_day ? a->first_day : day) + 1) * DAY_MS;
}

static bool is_lost(enum goodput_bucket bucket)
{
	return bucket == GOODPUT_REDONE || bucket == GOODPUT_RESTART || bucket == GOODPUT_STALLED;
}

static void split_segments(const struct accounting *a)
{
	const struct goodput *derived = &a->job->derived;

	for (size_t i = 0; i < derived->segment_count; i++) {
		const struct goodput_segment *segment = &derived->segments[i];
		for (int64_t at = segment->from_ms; at < segment->to_ms;) {
			int64_t border = border_of(a, at), end = border < segment->to_ms ? border : segment->to_ms;
			struct goodput_day *day = &a->job->days[place_of(a, at)];
			day->node_ms[segment->bucket] += (end - at) * a->job->facts.node_count;
			if (a->job->row.is_measured)
				day->measured_ms += (end - at) * a->job->facts.node_count;
			at = end;
		}
	}
}

static void add_days(const struct accounting *a, int64_t *days, int64_t from_ms, int64_t to_ms)
{
	while (from_ms < to_ms) {
		int64_t border = border_of(a, from_ms), end = border < to_ms ? border : to_ms;
		days[place_of(a, from_ms)] += end - from_ms;
		from_ms = end;
	}
}

static void split_lost(
	const struct accounting *a, const struct goodput_segment *segment, const struct goodput_phase *phase)
{
	int64_t from_ms = segment->from_ms > phase->from_ms ? segment->from_ms : phase->from_ms;
	int64_t to_ms = segment->to_ms < phase->to_ms ? segment->to_ms : phase->to_ms;

	if (is_lost(segment->bucket))
		add_days(a, a->lost_ms, from_ms, to_ms);
	if (segment->bucket == GOODPUT_REDONE)
		add_days(a, a->redone_ms, from_ms, to_ms);
}

/* *training_ms: of one node, billed or not, from the first Training on. */
static void split_billed(const struct accounting *a, int64_t *training_ms)
{
	const struct goodput_facts *facts = &a->job->facts.facts;
	const struct goodput *derived = &a->job->derived;
	bool has_begun = false;
	size_t segment = 0;

	*training_ms = 0;
	for (size_t i = 0; i < facts->phase_count; i++) {
		const struct goodput_phase *phase = &facts->phases[i];
		has_begun |= phase->is_training || a->job->facts.is_billed[i];
		*training_ms += has_begun && !phase->is_away ? phase->to_ms - phase->from_ms : 0;
		if (!a->job->facts.is_billed[i])
			continue;
		add_days(a, a->billed_ms, phase->from_ms, phase->to_ms);
		while (segment < derived->segment_count && derived->segments[segment].to_ms <= phase->from_ms)
			segment++;
		for (size_t j = segment; j < derived->segment_count && derived->segments[j].from_ms < phase->to_ms; j++)
			split_lost(a, &derived->segments[j], phase);
	}
}

/* All is of one moment, and nobody stated how long it took: that is not known, which is not 0. */
static bool is_without_times(const struct job_goodput *job)
{
	const struct job_row *row = &job->job;
	bool is_moment = row->started_ms && row->ended_ms && row->ended_ms <= row->started_ms;

	return job->facts.stated_billable_ms < 0 && !job->facts.is_open && (is_moment || !job->derived.segment_count);
}

/* What was stated counts: the days get it in the proportion in which they were worked out. */
static void follow_stated(const struct accounting *a, int64_t stated_ms)
{
	int64_t worked_out_ms = 0, given_ms = 0, seen_ms = 0;
	size_t last = a->job->day_count - 1;

	for (size_t i = 0; i <= last; i++)
		worked_out_ms += a->billed_ms[i];
	if (stated_ms < 0 || worked_out_ms == stated_ms)
		return;
	for (size_t i = 0; i <= last; i++) {
		seen_ms += a->billed_ms[i];
		double share = worked_out_ms ? (double)stated_ms / (double)worked_out_ms : 0;
		int64_t until_ms = i == last ? stated_ms : (int64_t)((double)seen_ms * share);
		a->lost_ms[i] = (int64_t)((double)a->lost_ms[i] * share);
		a->redone_ms[i] = (int64_t)((double)a->redone_ms[i] * share);
		a->billed_ms[i] = until_ms - given_ms;
		given_ms = until_ms;
	}
}

/* Of all nodes for an hour; NaN: one of the types has no price then. */
static double hour_price(const struct accounting *a, int64_t day)
{
	const struct job_goodput *job = a->job;
	double sum = 0;

	if (job->facts.has_price)
		return job->facts.price_per_hour * (double)job->facts.node_count;
	for (size_t i = 0; i < job->facts.type_count; i++) {
		const struct price *price = price_find(a->prices, job->facts.nodes[i].instance, day);
		sum += price ? price->per_hour * (double)job->facts.nodes[i].count : NAN;
	}
	return sum;
}

/* Its price was set in another currency than the list has: it has a cost, in that, which is in no sum. */
static bool is_in_other_currency(const struct accounting *a)
{
	struct span currency = a->job->facts.price_currency;

	return a->job->facts.has_price && currency.len && !span_equal(currency, a->prices->currency);
}

/* Each type that lacks a price on a day of the job: what has one on the first has one on all that follow. */
static enum status name_unpriced(const struct accounting *a, struct arena *arena, struct error *err)
{
	AUTO_DONE(buf) names = BUF_INIT(UNPRICED_MAX_BYTES);
	const struct job_facts *facts = &a->job->facts;

	for (size_t i = 0; !facts->has_price && i < facts->type_count; i++) {
		struct span instance = facts->nodes[i].instance;
		if (price_find(a->prices, instance, a->first_day))
			continue;
		buf_append_text(&names, names.len ? " " : "");
		buf_append_span(&names, instance.len ? instance : SPAN(STORE_NO_TYPE));
	}
	if (is_in_other_currency(a)) {
		a->job->row.currency = facts->price_currency;
		buf_append_text(&names, STORE_IN_CURRENCY);
		buf_append_span(&names, facts->price_currency);
	}
	TRY(buf_status(&names, err));
	a->job->row.unpriced = arena_copy(arena, buf_span(&names));
	return a->job->row.unpriced.ptr ? OK : error_no_memory(err);
}

static int64_t cost_of(double per_hour, int64_t ms)
{
	double millionths = per_hour * (double)ms / 3600000 * 1e6;

	return millionths < 1e15 ? llround(millionths) : (int64_t)1e15; /* DAYS_MAX of them can be added up */
}

/* A job is priced on all of its days, or it has no cost, and its hours are in the fleet's sums of those without a price. */
static void price_days(const struct accounting *a, int64_t training_ms)
{
	struct goodput_row *row = &a->job->row;
	int64_t cost = 0, lost = 0, redone = 0;

	for (size_t i = 0; i < a->job->day_count; i++) {
		row->billable_ms += a->billed_ms[i];
		a->job->days[i].billed_ms = a->billed_ms[i] * a->job->facts.node_count;
		if (row->unpriced.len)
			a->job->days[i].unpriced_ms = a->job->days[i].billed_ms;
		else if (a->job->facts.nodes_from != NODES_STATED)
			a->job->days[i].estimated_ms = a->job->days[i].billed_ms;
	}
	if (is_without_times(a->job))
		row->billable_ms = STORE_NO_TIMES;
	if ((row->unpriced.len && !is_in_other_currency(a)) || row->billable_ms == STORE_NO_TIMES)
		return;
	for (size_t i = 0; i < a->job->day_count; i++) {
		struct goodput_day *day = &a->job->days[i];
		double per_hour = hour_price(a, day->day);
		day->cost = cost_of(per_hour, a->billed_ms[i]);
		day->lost_cost = cost_of(per_hour, a->lost_ms[i]);
		cost += day->cost;
		lost += day->lost_cost;
		redone += cost_of(per_hour, a->redone_ms[i]);
	}
	row->cost = cost;
	row->lost_cost = lost;
	a->job->redone_cost = redone;
	if (a->job->facts.is_spot && training_ms > row->billable_ms)
		row->spot_saving = cost_of(hour_price(a, a->last_day), training_ms - row->billable_ms);
}

/* Of a job whose time has no length the one day on which it was: what it was stated to be billed for is of that. */
static void find_days(struct accounting *a)
{
	const struct goodput *derived = &a->job->derived;
	const struct goodput_facts *facts = &a->job->facts.facts;
	size_t count = derived->segment_count;

	a->first_day = a->last_day = day_of(facts->phase_count ? facts->phases[0].from_ms : 0);
	if (!count)
		return;
	a->first_day = day_of(derived->segments[0].from_ms);
	a->last_day = day_of(derived->segments[count - 1].to_ms - 1);
}

/* What has nothing of it is no day of the job: it was put aside then, or took no time. */
static void drop_empty_days(struct job_goodput *job)
{
	size_t kept = 0;

	for (size_t i = 0; i < job->day_count; i++) {
		bool is_any = job->days[i].billed_ms > 0;
		for (size_t j = 0; j < STORE_GOODPUT_BUCKETS; j++)
			is_any |= job->days[i].node_ms[j] > 0;
		if (is_any)
			job->days[kept++] = job->days[i];
	}
	job->day_count = kept;
}

enum status goodput_account(
	struct job_goodput *job, const struct price_list *prices, struct arena *arena, struct error *err)
{
	struct accounting a = {.job = job, .prices = prices};
	int64_t training_ms;

	job->row.unpriced = SPAN("");
	find_days(&a);
	if (a.last_day - a.first_day >= DAYS_MAX)
		a.first_day = a.last_day - DAYS_MAX + 1;
	job->day_count = (size_t)(a.last_day - a.first_day + 1);
	job->days = arena_alloc(arena, job->day_count * sizeof *job->days);
	a.billed_ms = arena_alloc(arena, job->day_count * sizeof *a.billed_ms);
	a.lost_ms = arena_alloc(arena, job->day_count * sizeof *a.lost_ms);
	a.redone_ms = arena_alloc(arena, job->day_count * sizeof *a.redone_ms);
	if (!job->days || !a.billed_ms || !a.lost_ms || !a.redone_ms)
		return error_no_memory(err);
	for (size_t i = 0; i < job->day_count; i++) {
		job->days[i] = (struct goodput_day){.day = a.first_day + (int64_t)i};
		a.billed_ms[i] = a.lost_ms[i] = a.redone_ms[i] = 0;
	}
	split_segments(&a);
	split_billed(&a, &training_ms);
	follow_stated(&a, job->facts.stated_billable_ms);
	TRY(name_unpriced(&a, arena, err));
	price_days(&a, training_ms);
	drop_empty_days(job);
	return OK;
}
