/* Where time went and what it cost: of a job, of the fleet by days; and the list of prices. */
#include "api/machines/goodput.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "base/clock.h"
#include "base/text/iso8601.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "model/incident.h"
#include "pipeline/goodput/goodput.h"
#include "read/charts/chart.h"
#include "store/jobs.h"
#include "store/nodes.h"
#include "store/run.h"

#include <math.h>

enum { DAYS_DEFAULT = 30, DAYS_MAX = 4000, SECOND_MS = 1000 };

#define UNKNOWN "unknown"

static const double hour_ms = 3600000;

static void put_percent(struct json_writer *w, const char *key, int64_t part, int64_t whole)
{
	json_key(w, key);
	if (whole > 0)
		json_double(w, 100.0 * (double)part / (double)whole);
	else
		json_null(w);
}

/* Seconds of the wall clock, hours of all nodes: both exact, and both add up. */
static void write_buckets(struct json_writer *w, const int64_t ms[GOODPUT_BUCKETS], int64_t nodes)
{
	int64_t total = 0;

	for (size_t i = 0; i < GOODPUT_BUCKETS; i++)
		total += ms[i];
	json_key(w, "buckets");
	json_object(w);
	for (size_t i = 0; i < GOODPUT_BUCKETS; i++) {
		json_key(w, goodput_bucket_name((enum goodput_bucket)i));
		json_object(w);
		if (nodes)
			json_put_double(w, "seconds", (double)ms[i] / SECOND_MS);
		json_put_double(w, "node_hours", (double)ms[i] * (double)(nodes ? nodes : 1) / hour_ms);
		put_percent(w, "percent", ms[i], total);
		json_object_end(w);
	}
	json_object_end(w);
}

static void put_day(struct json_writer *w, const char *key, int64_t day)
{
	char text[ISO8601_BYTES];

	iso8601_format(day * DAY_MS, text);
	json_key(w, key);
	json_span(w, span_of(text, sizeof "2026-01-01" - 1));
}

static void write_days(struct json_writer *w, const struct goodput_day *days, size_t count, bool has_prices)
{
	json_key(w, "days");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		int64_t total = 0;
		for (size_t j = 0; j < GOODPUT_BUCKETS; j++)
			total += days[i].node_ms[j];
		json_object(w);
		put_day(w, "day", days[i].day);
		json_put_double(w, "node_hours", (double)total / hour_ms);
		put_percent(w, "goodput", days[i].node_ms[GOODPUT_PRODUCTIVE], days[i].measured_ms);
		write_buckets(w, days[i].node_ms, 0);
		api_put_day_costs(w, &days[i], has_prices);
		json_object_end(w);
	}
	json_array_end(w);
}

/* ---- one job ---- */

/* All of it is of one moment. Stated seconds have no place in it, either. */
static bool has_no_length(const struct job_goodput *job)
{
	return !job->facts.is_open && !job->derived.total_ms;
}

/* A 0 in these is no word about the job: how it was started, where no status says so; what only the times of steps tell, where there are none. */
static void write_unknown_buckets(struct json_writer *w, const struct job_goodput *job)
{
	json_key(w, "unknown_buckets");
	json_array(w);
	for (size_t i = 0; i < GOODPUT_BUCKETS; i++) {
		bool is_of_start = i <= GOODPUT_DATA, is_of_steps = i >= GOODPUT_FIRST_STEP && i <= GOODPUT_STALLED;
		bool is_unknown = has_no_length(job) || (is_of_start && !job->facts.is_start_stated) ||
				  (is_of_steps && job->derived.step_ms <= 0);
		if (is_unknown && !job->derived.ms[i])
			json_text(w, goodput_bucket_name((enum goodput_bucket)i));
	}
	json_array_end(w);
}

static void write_steps(struct json_writer *w, const struct job_goodput *job)
{
	const struct goodput *derived = &job->derived;

	json_key(w, "steps");
	json_object(w);
	if (job->facts.metric.len) {
		json_put_span(w, "metric", job->facts.metric);
		json_put_span(w, "stream", job->facts.stream);
	}
	if (derived->has_steps) {
		json_put_i64(w, "made", derived->steps);
		json_put_i64(w, "lost", derived->lost_steps);
		json_put_i64(w, "last", derived->last_step);
		json_put_i64(w, "every", derived->stride);
		if (derived->step_ms > 0)
			json_put_double(w, "step_seconds", derived->step_ms / SECOND_MS);
	}
	json_object_end(w);
}

static void write_breaks(struct json_writer *w, const struct job_goodput *job)
{
	const struct goodput *derived = &job->derived;

	json_key(w, "breaks");
	json_array(w);
	for (size_t i = 0; i < derived->break_count; i++) {
		const struct goodput_break *broken = &derived->breaks[i];
		int64_t lost_ms = broken->redone_ms + broken->restart_ms;
		json_object(w);
		json_put_i64(w, "from_ms", broken->from_ms);
		if (broken->to_ms) {
			json_put_i64(w, "to_ms", broken->to_ms);
			json_put_double(w, "repair_seconds", (double)(broken->to_ms - broken->from_ms) / SECOND_MS);
		}
		json_put_span(w, "cause", broken->cause.len ? broken->cause : SPAN(UNKNOWN));
		if (broken->step >= 0)
			json_put_i64(w, "step", broken->step);
		if (broken->from_step >= 0)
			json_put_i64(w, "from_step", broken->from_step);
		if (broken->is_of_next && broken->to_ms)
			json_put_span(w, "went_on_in", job->facts.went_on_in);
		api_put_lost_steps(w, broken->lost_steps, broken->lost_steps < 0, 1);
		json_put_double(w, "redone_seconds", (double)broken->redone_ms / SECOND_MS);
		json_put_double(w, "restart_seconds", (double)broken->restart_ms / SECOND_MS);
		json_put_double(w, "node_hours", (double)lost_ms * (double)job->facts.node_count / hour_ms);
		json_object_end(w);
	}
	json_array_end(w);
}

/* Time in which something could break. */
static int64_t uptime(const int64_t ms[GOODPUT_BUCKETS])
{
	static const enum goodput_bucket up[] = {GOODPUT_FIRST_STEP, GOODPUT_PRODUCTIVE, GOODPUT_EVALUATION,
		GOODPUT_CHECKPOINT, GOODPUT_REDONE, GOODPUT_STALLED, GOODPUT_UNMEASURED};
	int64_t sum = 0;

	for (size_t i = 0; i < sizeof up / sizeof *up; i++)
		sum += ms[up[i]];
	return sum;
}

static void write_cause(struct json_writer *w, const struct goodput_cause *cause, int64_t up_ms, const char *mtbf)
{
	json_object(w);
	json_put_span(w, "cause", cause->cause.len ? cause->cause : SPAN(UNKNOWN));
	json_put_i64(w, "count", (int64_t)cause->count);
	if (cause->count)
		json_put_double(w, mtbf, (double)up_ms / hour_ms / (double)cause->count);
	if (cause->ended)
		json_put_double(w, "mttr_seconds", (double)cause->repair_ms / (double)cause->ended / (double)SECOND_MS);
	api_put_lost_steps(w, cause->lost_steps, cause->unknown_steps, cause->count);
	json_put_double(w, "lost_node_hours", (double)(cause->redone_node_ms + cause->restart_node_ms) / hour_ms);
	json_object_end(w);
}

/* Of one job there are a handful. */
static enum status write_causes(
	struct json_writer *w, struct arena *arena, const struct job_goodput *job, struct error *err)
{
	size_t count = 0;
	struct goodput_cause *causes = arena_alloc(arena, (job->derived.break_count + 1) * sizeof *causes);

	if (!causes)
		return error_no_memory(err);
	for (size_t i = 0; i < job->derived.break_count; i++) {
		const struct goodput_incident *incident = &job->incidents[i];
		size_t at = 0;
		while (at < count && !span_equal(causes[at].cause, incident->cause))
			at++;
		if (at == count)
			causes[count++] = (struct goodput_cause){.cause = incident->cause};
		causes[at].count++;
		causes[at].ended += incident->to_ms > 0;
		causes[at].repair_ms += incident->to_ms ? incident->to_ms - incident->from_ms : 0;
		causes[at].lost_steps += incident->lost_steps > 0 ? incident->lost_steps : 0;
		causes[at].unknown_steps += incident->lost_steps < 0;
		causes[at].redone_node_ms += incident->redone_ms * incident->nodes;
		causes[at].restart_node_ms += incident->restart_ms * incident->nodes;
	}
	json_key(w, "causes");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		write_cause(w, &causes[i], uptime(job->derived.ms), "mtbf_hours");
	json_array_end(w);
	return OK;
}

/* That the log or a person tells of. Where a restart went on from is a guess if neither does. */
static void write_checkpoint(struct json_writer *w, const struct job_goodput *job)
{
	const struct goodput_facts *facts = &job->facts.facts;
	const struct goodput *derived = &job->derived;
	int64_t step = -1;

	for (size_t i = 0; i < facts->mark_count; i++)
		if (facts->marks[i].bucket == GOODPUT_CHECKPOINT && facts->marks[i].step >= 0)
			step = facts->marks[i].step;
	if (step < 0 || step > derived->last_step)
		return;
	json_key(w, "checkpoint");
	json_object(w);
	json_put_i64(w, "step", step);
	json_put_i64(w, "steps_since", derived->last_step - step);
	json_put_double(w, "seconds_since", (double)(derived->last_step - step) * derived->step_ms / SECOND_MS);
	json_object_end(w);
}

static void put_each(struct json_writer *w, const char *key, int64_t cost, double count)
{
	if (cost != STORE_NO_COST && count > 0)
		json_put_double(w, key, (double)cost / 1e6 / count);
}

/* Whatever the nodes go into: nobody stated how many there are. */
static void put_estimated(struct json_writer *w, enum nodes_from from)
{
	if (from != NODES_STATED)
		json_put_bool(w, "estimated", true);
}

static enum status write_cost(struct api *api, struct store_reader *reader, struct arena *arena, struct json_writer *w,
	const struct job_goodput *job, struct error *err)
{
	const struct goodput_row *row = &job->row;
	double tokens_per_step;

	TRY(goodput_read_tokens_per_step(api->options.pipeline, reader, arena, &job->job, &tokens_per_step, err));
	json_key(w, "cost");
	json_object(w);
	json_put_span(w, "currency", row->currency);
	if (row->cost == STORE_NO_COST) {
		json_put_text(w, "reason", row->billable_ms == STORE_NO_TIMES ? "no times" : "no price");
		json_put_span(w, "instance", row->instance);
		goodput_put_unpriced(w, row->unpriced);
	}
	put_estimated(w, row->nodes_from);
	api_put_known(
		w, "billable_seconds", row->billable_ms == STORE_NO_TIMES ? NAN : (double)row->billable_ms / SECOND_MS);
	api_put_cost(w, "total", row->cost);
	api_put_cost(w, "lost", row->lost_cost);
	api_put_cost(w, "redone_steps", job->redone_cost);
	if (job->facts.is_spot)
		api_put_cost(w, "spot_saving", row->spot_saving);
	put_each(w, "per_step", row->cost, (double)row->steps);
	put_each(w, "per_million_tokens", row->cost, tokens_per_step * (double)row->steps / 1e6);
	json_object_end(w);
	return OK;
}

enum status api_job_goodput(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct price_list prices;
	struct job_goodput job;

	TRY(api_arena(&arena, err));
	TRY(goodput_read_prices(api->options.pipeline, own->reader, arena, &prices, err));
	TRY(goodput_read_job(api->options.pipeline, own->reader, arena, http_request_segment(request, 0), &prices,
		clock_wall_ms(), &job, err));
	json_object(&w);
	json_put_span(&w, "job", job.job.name);
	json_put_i64(&w, "as_of_ms", job.row.as_of_ms);
	json_put_i64(&w, "nodes", job.row.nodes);
	put_estimated(&w, job.row.nodes_from);
	json_put_span(&w, "instance", job.row.instance);
	json_put_span(&w, "currency", job.row.currency); /* of its days, too */
	api_put_known(&w, "wall_seconds", has_no_length(&job) ? NAN : (double)job.derived.total_ms / SECOND_MS);
	if (job.row.paused_ms)
		json_put_double(&w, "paused_seconds", (double)job.row.paused_ms / SECOND_MS);
	if (job.row.odd_times)
		json_put_i64(&w, "odd_times", (int64_t)job.row.odd_times);
	put_percent(
		&w, "goodput", job.derived.ms[GOODPUT_PRODUCTIVE], isnan(job.row.goodput) ? 0 : job.derived.total_ms);
	write_buckets(&w, job.derived.ms, job.row.nodes);
	write_unknown_buckets(&w, &job);
	write_steps(&w, &job);
	write_checkpoint(&w, &job);
	write_breaks(&w, &job);
	TRY(write_causes(&w, arena, &job, err));
	TRY(write_cost(api, own->reader, arena, &w, &job, err));
	write_days(&w, job.days, job.day_count, job.row.cost != STORE_NO_COST);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- a chain of jobs ---- */

struct link_sum {
	struct goodput_row row;
	struct job_row job;
	int64_t node_ms[GOODPUT_BUCKETS];
	int64_t measured_ms;
	bool is_continued; /* by another job of the chain */
	uint64_t breaks, unknown_losses; /* of how many of them nobody knows what they lost */
	struct goodput_day *days;
	size_t day_count;
};

static enum status read_link(
	struct store_reader *reader, struct arena *arena, int64_t job_id, struct link_sum *out, struct error *err)
{
	*out = (struct link_sum){0};
	TRY(store_read_job_by_id(reader, arena, job_id, &out->job, err));
	TRY(store_read_goodput(reader, arena, job_id, &out->row, err));
	TRY(store_read_goodput_days(reader, arena, job_id, INT64_MIN, INT64_MAX, &out->days, &out->day_count, err));
	TRY(store_count_breaks(reader, job_id, &out->breaks, &out->unknown_losses, err));
	for (size_t i = 0; i < out->day_count; i++) {
		out->measured_ms += out->days[i].measured_ms;
		for (size_t j = 0; j < GOODPUT_BUCKETS; j++)
			out->node_ms[j] += out->days[i].node_ms[j];
	}
	return OK;
}

static bool has_steps(const struct link_sum *sum)
{
	return sum->row.steps > 0 || sum->row.step_ms > 0;
}

static void find_continued(const struct run_link *links, struct link_sum *sums, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count && !sums[i].is_continued; j++)
			sums[i].is_continued = span_equal(links[j].continues, links[i].job);
}

/* At the moment ms, and behind it. A job whose end nobody knows is, until another one goes on with it. */
static bool is_at_work(const struct link_sum *sum, int64_t ms)
{
	bool has_ended = sum->job.ended_ms ? sum->job.ended_ms <= ms : sum->is_continued;

	return sum->job.created_ms <= ms && !has_ended;
}

/* What was made again each job has lost by itself; but from a job's end until the next one of the run began, in whatever order they
 * were announced, it is nobody's time: nothing was done. Of two that ended at once the wait is the last one's. */
static int64_t wait_behind(const struct link_sum *sums, size_t count, size_t at)
{
	int64_t end_ms = sums[at].job.ended_ms, next_ms = INT64_MAX;

	for (size_t i = 0; i < count && end_ms; i++) {
		const struct job_row *other = &sums[i].job;
		if (is_at_work(&sums[i], end_ms) || (i > at && other->ended_ms == end_ms))
			return 0;
		if (other->created_ms > end_ms && other->created_ms < next_ms)
			next_ms = other->created_ms;
	}
	return next_ms == INT64_MAX ? 0 : next_ms - end_ms;
}

static bool is_pending(const struct link_sum *sum)
{
	return !sum->row.as_of_ms;
}

/* Of a job without a step nobody knows what it lost, unless its breaks say so, nor of one whose every break is open. */
static bool is_loss_known(const struct link_sum *sum)
{
	return sum->breaks ? sum->unknown_losses < sum->breaks : has_steps(sum);
}

static bool is_named_before(const struct link_sum *sums, size_t at, struct span type)
{
	for (size_t i = 0; i < at; i++)
		for (struct span rest = sums[i].row.unpriced, other; rest.len && span_next(&rest, ' ', &other);)
			if (span_equal(other, type))
				return true;
	return false;
}

static void write_run_cost(struct json_writer *w, const struct link_sum *sums, size_t count)
{
	int64_t cost = 0, lost = 0;
	bool is_known = true;
	enum nodes_from from = NODES_STATED;

	for (size_t i = 0; i < count; i++) {
		from = sums[i].row.nodes_from > from ? sums[i].row.nodes_from : from;
		is_known &= sums[i].row.cost != STORE_NO_COST && span_equal(sums[i].row.currency, sums[0].row.currency);
		cost += is_known ? sums[i].row.cost : 0;
		lost += is_known ? sums[i].row.lost_cost : 0;
	}
	api_put_cost(w, "cost", is_known ? cost : STORE_NO_COST);
	api_put_cost(w, "lost_cost", is_known ? lost : STORE_NO_COST);
	json_put_span(w, "currency", sums[0].row.currency);
	json_key(w, "unpriced_types");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		for (struct span rest = sums[i].row.unpriced, type; rest.len && span_next(&rest, ' ', &type);)
			if (!is_named_before(sums, i, type))
				json_span(w, type);
	json_array_end(w);
	put_estimated(w, from);
}

enum status api_write_run_goodput(struct store_reader *reader, struct arena *arena, const struct run_link *links,
	size_t count, struct json_writer *w, struct error *err)
{
	struct link_sum *sums = arena_alloc(arena, count * sizeof *sums);
	int64_t node_ms[GOODPUT_BUCKETS] = {0}, measured_ms = 0, lost_steps = 0, pending = 0;
	uint64_t unknown = 0;
	bool is_known = false;

	if (!sums)
		return error_no_memory(err);
	for (size_t i = 0; i < count; i++)
		TRY(read_link(reader, arena, links[i].job_id, &sums[i], err));
	find_continued(links, sums, count);
	for (size_t i = 0; i < count; i++) {
		int64_t wait_ms = wait_behind(sums, count, i) * sums[i].row.nodes;
		node_ms[GOODPUT_IDLE] += wait_ms;
		measured_ms += sums[i].measured_ms ? wait_ms : 0;
		for (size_t j = 0; j < GOODPUT_BUCKETS; j++)
			node_ms[j] += sums[i].node_ms[j];
		measured_ms += sums[i].measured_ms;
		lost_steps += sums[i].row.lost_steps;
		unknown += sums[i].unknown_losses;
		is_known |= is_loss_known(&sums[i]);
		pending += is_pending(&sums[i]);
	}
	json_key(w, "goodput");
	json_object(w);
	put_percent(w, "goodput", node_ms[GOODPUT_PRODUCTIVE], measured_ms);
	write_buckets(w, node_ms, 0);
	api_put_known(w, "lost_steps", is_known ? (double)lost_steps : NAN);
	json_put_i64(w, "lost_steps_unknown", (int64_t)unknown);
	write_run_cost(w, sums, count);
	if (pending)
		json_put_i64(w, "pending_jobs", pending);
	json_object_end(w);
	return OK;
}

/* ---- the fleet ---- */

static enum status parse_day(const struct http_request *request, const char *key, int64_t *day, struct error *err)
{
	struct span text;
	int64_t ms;

	if (!http_request_query(request, key, &text))
		return OK;
	if (text.len != sizeof "2026-01-01" - 1 || !iso8601_parse(text, &ms))
		return error_set_field(
			err, ERR_INVALID, key, "%s '%.*s' is no day as 2026-01-01 (UTC)", key, SPAN_ARGS(text));
	*day = ms >= 0 ? ms / DAY_MS : -((-ms + DAY_MS - 1) / DAY_MS);
	return OK;
}

static void write_totals(
	struct json_writer *w, const struct goodput_day *days, size_t count, bool has_prices, int64_t *up_ms)
{
	struct goodput_day sum = {.day = 0};
	int64_t total = 0;

	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < GOODPUT_BUCKETS; j++) {
			sum.node_ms[j] += days[i].node_ms[j];
			total += days[i].node_ms[j];
		}
		sum.measured_ms += days[i].measured_ms;
		sum.cost += days[i].cost;
		sum.lost_cost += days[i].lost_cost;
		sum.unpriced_ms += days[i].unpriced_ms;
		sum.billed_ms += days[i].billed_ms;
		sum.estimated_ms += days[i].estimated_ms;
	}
	put_percent(w, "goodput", sum.node_ms[GOODPUT_PRODUCTIVE], sum.measured_ms);
	json_put_double(w, "node_hours", (double)total / hour_ms);
	write_buckets(w, sum.node_ms, 0);
	api_put_day_costs(w, &sum, has_prices);
	*up_ms = uptime(sum.node_ms);
}

static enum status write_fleet(struct api *api, struct store_reader *reader, struct arena *arena, int64_t first,
	int64_t last, struct json_writer *w, struct error *err)
{
	struct price_list prices;
	struct goodput_day *days;
	struct goodput_cause *causes;
	size_t day_count, cause_count;
	int64_t up_ms;

	TRY(goodput_read_prices(api->options.pipeline, reader, arena, &prices, err));
	TRY(store_read_fleet_days(reader, arena, prices.currency, first, last, &days, &day_count, err));
	TRY(store_read_goodput_causes(reader, arena, first * DAY_MS, (last + 1) * DAY_MS, &causes, &cause_count, err));
	json_object(w);
	put_day(w, "from", first);
	put_day(w, "to", last);
	json_put_span(w, "currency", prices.currency);
	write_totals(w, days, day_count, prices.count > 0, &up_ms);
	TRY(api_put_deleted_costs(reader, arena, prices.currency, first, last, w, err));
	TRY(api_put_unpriced_types(reader, arena, prices.currency, first, last, w, err));
	json_key(w, "causes");
	json_array(w);
	for (size_t i = 0; i < cause_count; i++)
		write_cause(w, &causes[i], up_ms, "mtbf_node_hours");
	json_array_end(w);
	write_days(w, days, day_count, prices.count > 0);
	json_object_end(w);
	return OK;
}

enum status api_goodput(void *context, void *worker, const struct http_request *request, struct http_response *response,
	struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	int64_t last = clock_wall_ms() / DAY_MS, first = INT64_MIN;

	TRY(api_arena(&arena, err));
	TRY(parse_day(request, "to", &last, err));
	TRY(parse_day(request, "from", &first, err));
	if (first == INT64_MIN)
		first = last - DAYS_DEFAULT + 1;
	if (first > last || last - first >= DAYS_MAX)
		return error_set_field(
			err, ERR_INVALID, "from", "from is behind to, or more than %d days before it", DAYS_MAX);
	TRY(store_reader_begin(own->reader, err));
	enum status status = write_fleet(context, own->reader, arena, first, last, &w, err);
	store_reader_end(own->reader);
	TRY(status);
	return buf_status(&response->body, err);
}

/* ---- prices ---- */

static enum status write_prices(
	struct api *api, struct store_reader *reader, struct arena *arena, struct json_writer *w, struct error *err)
{
	struct price_list list;
	uint64_t others;

	TRY(goodput_read_prices(api->options.pipeline, reader, arena, &list, err));
	TRY(goodput_count_other_currencies(reader, &list, &others, err));
	json_object(w);
	json_put_span(w, "currency", list.currency);
	if (others)
		json_put_i64(w, "jobs_in_other_currencies", (int64_t)others);
	json_key(w, "prices");
	json_array(w);
	for (size_t i = 0; i < list.count; i++) {
		const struct price *price = &list.prices[i];
		json_object(w);
		json_put_span(w, "instance", price->instance);
		json_put_double(w, "per_hour", price->per_hour);
		if (price->from_day != INT64_MIN)
			put_day(w, "from", price->from_day);
		if (price->source.len)
			json_put_span(w, "source", price->source);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
	return OK;
}

enum status api_prices_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);

	(void)request;
	TRY(api_arena(&arena, err));
	TRY(write_prices(context, ((struct api_worker *)worker)->reader, arena, &w, err));
	return buf_status(&response->body, err);
}

enum status api_prices_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(json) body = NULL;

	TRY(api_all_teams(request, "prices are those", err));
	TRY(api_body_object(request, &body, err));
	TRY(goodput_put_prices(api->options.pipeline, body, err));
	return api_prices_get(context, worker, request, response, err);
}
