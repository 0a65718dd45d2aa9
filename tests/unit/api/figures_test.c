#include "api/core/csv.h"
#include "api/core/money.h"
#include "api/machines/pool_near.h"
#include "store/goodput.h"
#include "test.h"

#include <float.h>
#include <math.h>

static void check_number(double value, const char *want)
{
	AUTO_DONE(buf) out = BUF_INIT(256);

	api_csv_double(&out, value);
	CHECK_SPAN(buf_span(&out), span_from(want));
}

TEST(csv_of_numbers)
{
	check_number(0.1, "0.1");
	check_number(-3, "-3");
	check_number(NAN, "NaN");
	check_number(INFINITY, "Infinity");
	check_number(-INFINITY, "-Infinity");
	check_number(DBL_MAX, "1.7976931348623157e+308");
}

/* The members that the call puts into an object. */
#define CHECK_MEMBERS(call, want)                                                                                      \
	do {                                                                                                           \
		AUTO_DONE(buf) out_ = BUF_INIT(1024);                                                                  \
		struct json_writer w = json_writer_on(&out_);                                                          \
		json_object(&w);                                                                                       \
		call;                                                                                                  \
		json_object_end(&w);                                                                                   \
		CHECK_SPAN(buf_span(&out_), span_from(want));                                                          \
	} while (0)

TEST(what_is_not_known_is_null)
{
	CHECK_MEMBERS(api_put_known(&w, "k", 0), "{\"k\":0}");
	CHECK_MEMBERS(api_put_known(&w, "k", NAN), "{\"k\":null}");
	CHECK_MEMBERS(api_put_seconds(&w, "k", -1), "{\"k\":null}");
	CHECK_MEMBERS(api_put_seconds(&w, "k", 0), "{\"k\":0}");
	CHECK_MEMBERS(api_put_seconds(&w, "k", 999), "{\"k\":0}");
	CHECK_MEMBERS(api_put_seconds(&w, "k", 1000), "{\"k\":1}");
	CHECK_MEMBERS(api_put_cost(&w, "k", STORE_NO_COST), "{\"k\":null}");
	CHECK_MEMBERS(api_put_cost(&w, "k", 0), "{\"k\":0}");
	CHECK_MEMBERS(api_put_cost(&w, "k", 1), "{\"k\":0.000001}");
	CHECK_MEMBERS(api_put_cost(&w, "k", 12345678), "{\"k\":12.345678}");
}

TEST(a_days_costs_are_known_when_all_of_it_has_a_price)
{
	struct goodput_day none = {0}, priced = {.cost = 2500000, .lost_cost = 500000, .billed_ms = 5400000},
			   unpriced = {.billed_ms = 3600000, .unpriced_ms = 1800000},
			   both = {.cost = 1000000,
				   .billed_ms = 7200000,
				   .unpriced_ms = 3600000,
				   .estimated_ms = 1800000};

	CHECK_MEMBERS(api_put_day_costs(&w, &none, true),
		"{\"cost\":0,\"lost_cost\":0,\"billed_node_hours\":0,\"unpriced_node_hours\":0,\"estimated_node_hours\":0}");
	CHECK_MEMBERS(api_put_day_costs(&w, &none, false),
		"{\"cost\":null,\"lost_cost\":null,\"billed_node_hours\":0,\"unpriced_node_hours\":0,\"estimated_node_hours\":0}");
	CHECK_MEMBERS(api_put_day_costs(&w, &priced, false),
		"{\"cost\":2.5,\"lost_cost\":0.5,\"billed_node_hours\":1.5,\"unpriced_node_hours\":0,\"estimated_node_hours\":0}");
	CHECK_MEMBERS(api_put_day_costs(&w, &unpriced, true),
		"{\"cost\":null,\"lost_cost\":null,\"billed_node_hours\":1,\"unpriced_node_hours\":0.5,\"estimated_node_hours\":0}");
	CHECK_MEMBERS(api_put_day_costs(&w, &both, true), /* what has none is beside it */
		"{\"cost\":1,\"lost_cost\":0,\"billed_node_hours\":2,\"unpriced_node_hours\":1,\"estimated_node_hours\":0.5}");
}

TEST(lost_steps_are_not_known_when_none_of_the_breaks_is)
{
	CHECK_MEMBERS(api_put_lost_steps(&w, 0, 0, 0), "{\"lost_steps\":0}");
	CHECK_MEMBERS(api_put_lost_steps(&w, 70, 0, 2), "{\"lost_steps\":70}");
	CHECK_MEMBERS(api_put_lost_steps(&w, 70, 1, 2), "{\"lost_steps\":70,\"lost_steps_unknown\":1}");
	CHECK_MEMBERS(api_put_lost_steps(&w, 0, 2, 2), "{\"lost_steps\":null,\"lost_steps_unknown\":2}");
}

/* ---- pools that a job nearly got ---- */

TEST(the_nearest_pools_are_kept_in_order)
{
	static const size_t differences[] = {5, 3, 9, 3, 1, 7, 7, 8, 2, 6, 4, 9, 0, 10};
	static const size_t want[POOL_NEAR_MAX] = {0, 1, 2, 3, 3, 4, 5, 6, 7, 7};
	struct pool_near nearest[POOL_NEAR_MAX] = {0};
	size_t count = 0;

	for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
		struct pool_near candidate = {.pool_id = (int64_t)i, .differences = differences[i]};
		pool_near_keep(nearest, &count, &candidate);
		CHECK_INT(count, i < POOL_NEAR_MAX ? i + 1 : POOL_NEAR_MAX);
	}
	for (size_t i = 0; i < POOL_NEAR_MAX; i++)
		CHECK_INT(nearest[i].differences, want[i]);
	/* of two that are as near the first one comes first */
	CHECK_INT(nearest[3].pool_id, 1);
	CHECK_INT(nearest[4].pool_id, 3);
	CHECK_INT(nearest[8].pool_id, 5);
	CHECK_INT(nearest[9].pool_id, 6);
}

TEST(a_pool_says_each_field_that_stops_it)
{
	AUTO_DONE(buf) out = BUF_INIT(4096);
	struct json_writer w = json_writer_on(&out);
	struct pool_near near = {.pool_id = 4, .job = SPAN("j"), .until_ms = 9};
	struct pool_shape wanted = {0};

	for (size_t i = 0; i < POOL_SHAPE_FIELDS; i++)
		near.shape.fields[i] = wanted.fields[i] = SPAN("same");
	wanted.fields[1] = SPAN("a");
	near.shape.fields[1] = SPAN("b");
	wanted.fields[POOL_SHAPE_FIELDS - 1] = SPAN("");
	json_array(&w);
	pool_near_write(&w, &near, &wanted);
	json_array_end(&w);
	AUTO(json) list = NULL;
	CHECK_OK(json_parse(&list, buf_span(&out), &err));
	CHECK_INT(json_count(list), 2);
	const struct json *first = json_first(list), *last = json_next(first);
	CHECK_SPAN(json_string_of(json_get(first, "field")), span_from(pool_shape_field(1)));
	CHECK_SPAN(json_string_of(json_get(first, "wanted")), SPAN("a"));
	CHECK_SPAN(json_string_of(json_get(first, "has")), SPAN("b"));
	CHECK_SPAN(json_string_of(json_get(last, "field")), span_from(pool_shape_field(POOL_SHAPE_FIELDS - 1)));
	CHECK_SPAN(json_string_of(json_get(last, "wanted")), SPAN(""));
	CHECK_SPAN(json_string_of(json_get(last, "has")), SPAN("same"));
}
