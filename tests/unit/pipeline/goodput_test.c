#include "pipeline/goodput/goodput.h"
#include "test.h"

#include <stdlib.h>

enum { HOUR_MS = 3600000, DAY_MS = 24 * HOUR_MS, PHASES = 6, POINTS = 40 };

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static int64_t below(uint64_t *state, int64_t bound)
{
	return (int64_t)(next_random(state) % (uint64_t)bound);
}

struct made {
	struct goodput_phase phases[PHASES];
	bool is_billed[PHASES];
	struct goodput_point points[POINTS];
	struct job_nodes nodes;
	struct job_goodput job;
};

static void make(struct made *made, uint64_t *random)
{
	int64_t at = 20000LL * DAY_MS + below(random, DAY_MS);

	*made = (struct made){.nodes = {SPAN("a"), 1 + below(random, 9)}};
	for (size_t i = 0; i < PHASES; i++) {
		struct goodput_phase phase =
			goodput_phase_of(i % 2 ? SPAN("Training") : SPAN("Starting"), SPAN(""), i > 1);
		phase.from_ms = at;
		at += below(random, 20LL * HOUR_MS);
		phase.to_ms = at;
		made->phases[i] = phase;
		made->is_billed[i] = i % 2;
	}
	at = made->phases[1].from_ms;
	for (size_t i = 0; i < POINTS; i++) {
		uint32_t attempt = i < POINTS / 2 ? 1 : 2;
		made->points[i] = (struct goodput_point){at, (int64_t)i - (attempt == 2 ? 7 : 0), attempt};
		at += 10 * 60000 + (below(random, 9) ? 0 : below(random, 6 * HOUR_MS));
	}
	made->job = (struct job_goodput){.facts = {.facts = {.phases = made->phases,
							   .phase_count = PHASES,
							   .points = made->points,
							   .point_count = POINTS,
							   .end = GOODPUT_COMPLETED,
							   .end_cause = SPAN(""),
							   .next = {.from_step = INT64_MAX}},
						 .is_billed = made->is_billed,
						 .nodes = &made->nodes,
						 .type_count = 1,
						 .node_count = made->nodes.count,
						 .stated_billable_ms = -1}};
	made->job.row = (struct goodput_row){
		.is_measured = true, .cost = STORE_NO_COST, .lost_cost = STORE_NO_COST, .spot_saving = STORE_NO_COST};
}

/* Minute by minute would be slow over days; second by second over none: an hour's price, day by day, over whole phases. */
static double reference_cost(const struct made *made, const struct price_list *prices)
{
	double cost = 0;

	for (size_t i = 1; i < PHASES; i += 2)
		for (int64_t at = made->phases[i].from_ms; at < made->phases[i].to_ms;) {
			int64_t border = (at / DAY_MS + 1) * DAY_MS;
			int64_t end = border < made->phases[i].to_ms ? border : made->phases[i].to_ms;
			cost += (double)(end - at) / HOUR_MS * (double)made->nodes.count *
				price_find(prices, SPAN("a"), at / DAY_MS)->per_hour;
			at = end;
		}
	return cost;
}

static void check_sums(const struct made *made)
{
	const struct job_goodput *job = &made->job;
	int64_t sums[GOODPUT_BUCKETS] = {0}, measured = 0, cost = 0, lost = 0;

	for (size_t i = 0; i < job->day_count; i++) {
		int64_t day_ms = 0;
		for (size_t j = 0; j < GOODPUT_BUCKETS; j++) {
			sums[j] += job->days[i].node_ms[j];
			day_ms += job->days[i].node_ms[j];
			CHECK(job->days[i].node_ms[j] >= 0);
		}
		CHECK(day_ms <= DAY_MS * made->nodes.count && job->days[i].lost_cost <= job->days[i].cost);
		CHECK(i == 0 || i + 1 == job->day_count || day_ms == DAY_MS * made->nodes.count);
		measured += job->days[i].measured_ms;
		cost += job->days[i].cost;
		lost += job->days[i].lost_cost;
	}
	for (size_t j = 0; j < GOODPUT_BUCKETS; j++)
		CHECK_INT(sums[j], job->derived.ms[j] * made->nodes.count);
	CHECK_INT(measured, job->derived.total_ms * made->nodes.count);
	CHECK(cost == job->row.cost && lost == job->row.lost_cost);
}

TEST(days_add_up_to_the_job_and_are_priced_each_as_of_itself)
{
	struct price prices[] = {{SPAN("a"), SPAN(""), 2, INT64_MIN}, {SPAN("a"), SPAN(""), 5, 20001}};
	struct price_list list = {SPAN("USD"), prices, 2};
	static struct made made;
	uint64_t random = 88172645463325252ULL;

	for (int i = 0; i < 200; i++) {
		AUTO(arena) arena = arena_new();
		make(&made, &random);
		CHECK_OK(goodput_derive(&made.job.facts.facts, arena, &made.job.derived, &err));
		CHECK_OK(goodput_account(&made.job, &list, arena, &err));
		check_sums(&made);
		CHECK(llabs((int64_t)(reference_cost(&made, &list) * 1e6) - made.job.row.cost) <= 8);
		int64_t billed = made.job.row.billable_ms;
		made.job.facts.stated_billable_ms = billed / 3;
		made.job.row.billable_ms = 0;
		CHECK_OK(goodput_account(&made.job, &list, arena, &err));
		check_sums(&made);
		CHECK_INT(made.job.row.billable_ms, billed / 3);
	}
}

TEST(without_a_price_on_one_of_its_days_a_job_has_no_cost)
{
	struct price price = {SPAN("a"), SPAN(""), 2, 20001};
	struct price_list list = {SPAN("USD"), &price, 1};
	static struct made made;
	uint64_t random = 1;
	AUTO(arena) arena = arena_new();

	make(&made, &random);
	made.phases[1].from_ms = made.phases[0].to_ms = 20000LL * DAY_MS + DAY_MS - 5;
	made.phases[0].from_ms = made.phases[0].to_ms - 10;
	made.phases[1].to_ms = made.phases[0].to_ms + HOUR_MS;
	made.job.facts.facts.phase_count = 2;
	CHECK_OK(goodput_derive(&made.job.facts.facts, arena, &made.job.derived, &err));
	CHECK_OK(goodput_account(&made.job, &list, arena, &err));
	CHECK(made.job.row.cost == STORE_NO_COST && made.job.day_count == 2 && made.job.days[1].cost == 0);
	CHECK_SPAN(made.job.row.unpriced, SPAN("a"));
	CHECK_INT(made.job.row.billable_ms, HOUR_MS); /* which is known all the same */
}

TEST(a_job_of_decades_is_split_into_a_bounded_number_of_days)
{
	struct price_list list = {SPAN("USD"), NULL, 0};
	static struct made made;
	uint64_t random = 1;
	AUTO(arena) arena = arena_new();

	make(&made, &random);
	made.phases[0].from_ms = -GOODPUT_LIMIT;
	CHECK_OK(goodput_derive(&made.job.facts.facts, arena, &made.job.derived, &err));
	CHECK_OK(goodput_account(&made.job, &list, arena, &err));
	CHECK_INT(made.job.day_count, 4000);
	CHECK(made.job.days[0].node_ms[GOODPUT_LAUNCH] > 1000LL * 365 * DAY_MS);
}
