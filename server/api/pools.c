/* Warm pools: which there are, each job's turn, and which one a job would get. */
#include "api/internal.h"
#include "fleet/pool.h"
#include "fleet/pool_shape.h"
#include "pipeline/goodput.h"
#include "pipeline/pools.h"

#include <math.h>
#include <stdio.h>

enum { LIMIT_DEFAULT = 50, LIMIT_MAX = 1000, COLD_JOBS = 101, SHAPES_MAX = 10000, NEAR_MAX = 10 };

/* ---- what a pool is worth ---- */

/* Seconds until training began on a cluster that had to be started; -1: none is known. */
static enum status cold_startup_ms(struct store_reader *reader, uint64_t shape, int64_t *out_ms, struct error *err)
{
	int64_t starts_ms[COLD_JOBS];
	size_t count;

	TRY(store_read_cold_startups(reader, shape, starts_ms, COLD_JOBS, &count, err));
	*out_ms = count ? starts_ms[count / 2] : -1;
	return OK;
}

struct worth {
	int64_t idle_ms;
	int64_t saved_ms;
	double idle_cost; /* NaN: there is no price of the type then */
};

/* What idle time is priced by. */
struct pool_prices {
	struct price_list list;
	struct span instance;
	int64_t nodes;
};

static double idle_cost(const struct pool_prices *prices, int64_t ended_ms, int64_t idle_ms)
{
	const struct price *price =
		idle_ms ? price_find(&prices->list, prices->instance, ended_ms / (24LL * 3600 * 1000)) : NULL;

	if (!idle_ms)
		return 0;
	return price ? price->per_hour * (double)prices->nodes * (double)idle_ms / 3600000 : NAN;
}

static int64_t idle_ms(const struct pool_job_row *row, int64_t now_ms)
{
	if (row->state != POOL_AVAILABLE)
		return row->retained_ms;
	return now_ms > row->ended_ms ? now_ms - row->ended_ms : 0;
}

static void add_worth(struct worth *worth, const struct pool_job_row *row, const struct pool_prices *prices,
	int64_t cold_ms, int64_t now_ms)
{
	int64_t waited_ms = idle_ms(row, now_ms);

	worth->idle_ms += waited_ms;
	worth->idle_cost += idle_cost(prices, row->ended_ms, waited_ms);
	if (row->position && row->startup_ms >= 0 && cold_ms > row->startup_ms)
		worth->saved_ms += cold_ms - row->startup_ms;
}

/* ---- writing ---- */

static void find_pool_type(struct span fields, struct pool_prices *prices)
{
	struct pool_shape shape;

	prices->nodes = 1;
	prices->instance = SPAN("");
	if (!pool_shape_parse(&shape, fields))
		return;
	prices->instance = shape.fields[0];
	if (!span_parse_i64(shape.fields[1], &prices->nodes))
		prices->nodes = 1;
}

static void write_shape(struct json_writer *w, struct span fields)
{
	struct pool_shape shape;

	if (!pool_shape_parse(&shape, fields))
		return;
	json_put_span(w, "InstanceType", shape.fields[0]);
	json_put_span(w, "InstanceCount", shape.fields[1]);
}

static void write_turn(struct json_writer *w, const struct pool_job_row *row)
{
	json_object(w);
	json_put_span(w, "job", row->name);
	json_put_text(w, "state", pool_state_name((enum pool_state)row->state));
	json_put_i64(w, "begun_ms", row->begun_ms);
	if (row->ended_ms)
		json_put_i64(w, "ended_ms", row->ended_ms);
	json_put_i64(w, "keep_alive_seconds", row->keep_alive_ms / 1000);
	if (row->startup_ms >= 0)
		json_put_i64(w, "startup_seconds", row->startup_ms / 1000);
	json_put_i64(w, "retained_seconds", row->retained_ms / 1000);
	json_object_end(w);
}

static enum status write_pool(struct api_worker *worker, struct arena *arena, int64_t pool_id, bool has_turns,
	struct pool_prices *prices, int64_t now_ms, struct json_writer *w, struct error *err)
{
	struct pool_job_row *rows;
	struct worth worth = {0};
	int64_t cold_ms;
	struct span fields;
	size_t count;

	TRY(store_read_pool(worker->reader, arena, pool_id, &rows, &count, err));
	if (!count)
		return error_set_field(
			err, ERR_NOT_FOUND, "id", "there is no warm pool with number %lld", (long long)pool_id);
	TRY(cold_startup_ms(worker->reader, rows[0].shape, &cold_ms, err));
	TRY(store_read_pool_shape(worker->reader, arena, rows[0].shape, &fields, err));
	find_pool_type(fields, prices);
	struct pool_job_row *last = &rows[count - 1];
	pools_age(last, now_ms);
	json_object(w);
	json_put_i64(w, "id", pool_id);
	json_put_text(w, "state", pool_state_name((enum pool_state)last->state));
	write_shape(w, fields);
	json_key(w, "jobs");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		add_worth(&worth, &rows[i], prices, cold_ms, now_ms);
		if (has_turns)
			write_turn(w, &rows[i]);
		else
			json_span(w, rows[i].name);
	}
	json_array_end(w);
	json_put_i64(w, "begun_ms", rows[0].begun_ms);
	if (last->state == POOL_AVAILABLE) {
		json_put_i64(w, "expires_ms", last->until_ms);
		json_put_i64(w, "left_seconds", (last->until_ms - now_ms) / 1000);
	}
	json_put_i64(w, "idle_seconds", worth.idle_ms / 1000);
	json_put_i64(w, "saved_seconds", worth.saved_ms / 1000);
	if (!isnan(worth.idle_cost)) {
		json_put_double(w, "idle_cost", worth.idle_cost);
		json_put_span(w, "currency", prices->list.currency);
	}
	if (cold_ms >= 0)
		json_put_i64(w, "cold_startup_seconds", cold_ms / 1000);
	json_object_end(w);
	return OK;
}

/* ---- lists ---- */

static enum status parse_state(struct span text, int *state, struct error *err)
{
	static const enum pool_state states[] = {POOL_IN_USE, POOL_AVAILABLE, POOL_TERMINATED};

	for (size_t i = 0; i < sizeof states / sizeof *states; i++)
		if (span_equal_fold(text, span_from(pool_state_name(states[i])))) {
			*state = (int)states[i];
			return OK;
		}
	return error_set_field(
		err, ERR_INVALID, "state", "state '%.*s' is none of InUse, Available, Terminated", SPAN_ARGS(text));
}

static enum status write_list(struct api_worker *worker, struct arena *arena, int state, int64_t before_id,
	size_t limit, struct json_writer *w, struct error *err)
{
	int64_t now_ms = clock_wall_ms();
	struct pool_prices prices = {.nodes = 1};
	struct pool_job_row *rows;
	size_t count;

	TRY(goodput_read_prices(worker->api->options.pipeline, worker->reader, arena, &prices.list, err));
	TRY(store_read_pools(worker->reader, arena, state, before_id, limit + 1, &rows, &count, err));
	json_object(w);
	json_key(w, "pools");
	json_array(w);
	for (size_t i = 0; i < count && i < limit; i++)
		TRY(write_pool(worker, arena, rows[i].pool_id, false, &prices, now_ms, w, err));
	json_array_end(w);
	if (count > limit) {
		char cursor[24];
		snprintf(cursor, sizeof cursor, "%lld", (long long)rows[limit - 1].pool_id);
		json_put_text(w, "next_cursor", cursor);
	}
	json_object_end(w);
	return OK;
}

enum status api_pools_list(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span text;
	int64_t before_id = INT64_MAX;
	size_t limit;
	int state = 0;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(api_limit(request, LIMIT_DEFAULT, LIMIT_MAX, &limit, err));
	if (http_request_query(request, "state", &text))
		TRY(parse_state(text, &state, err));
	if (http_request_query(request, "cursor", &text) && !(span_parse_i64(text, &before_id) && before_id > 0))
		return error_set_field(err, ERR_INVALID, "cursor", "cursor '%.*s' is none of ours", SPAN_ARGS(text));
	TRY(store_reader_begin(own->reader, err));
	enum status status = write_list(own, arena, state, before_id, limit, &w, err);
	store_reader_end(own->reader);
	TRY(status);
	return buf_status(&response->body, err);
}

enum status api_pool_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	struct span text = http_request_segment(request, 0);
	struct pool_prices prices = {.nodes = 1};
	int64_t pool_id;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(goodput_read_prices(own->api->options.pipeline, own->reader, arena, &prices.list, err));
	if (!span_parse_i64(text, &pool_id))
		return error_set_field(
			err, ERR_NOT_FOUND, "id", "there is no warm pool '%.*s': pools have numbers", SPAN_ARGS(text));
	TRY(store_reader_begin(own->reader, err));
	enum status status = write_pool(own, arena, pool_id, true, &prices, clock_wall_ms(), &w, err);
	store_reader_end(own->reader);
	TRY(status);
	return buf_status(&response->body, err);
}

/* ---- which pool would a job get ---- */

struct near {
	const struct pool_waiting *pool;
	struct pool_shape shape;
	size_t differences;
};

/* Keeps the nearest, in order. */
static void keep_near(struct near nearest[NEAR_MAX], size_t *count, const struct near *candidate)
{
	size_t at = *count < NEAR_MAX ? (*count)++ : NEAR_MAX;

	for (; at > 0 && nearest[at - 1].differences > candidate->differences; at--)
		if (at < NEAR_MAX)
			nearest[at] = nearest[at - 1];
	if (at < NEAR_MAX)
		nearest[at] = *candidate;
}

static void write_near(struct json_writer *w, const struct near *near, const struct pool_shape *wanted)
{
	for (size_t i = 0; i < POOL_SHAPE_FIELDS; i++) {
		if (span_equal(near->shape.fields[i], wanted->fields[i]))
			continue;
		json_object(w);
		json_put_i64(w, "pool", near->pool->pool_id);
		json_put_span(w, "job", near->pool->job);
		json_put_text(w, "field", pool_shape_field(i));
		json_put_span(w, "wanted", wanted->fields[i]);
		json_put_span(w, "has", near->shape.fields[i]);
		json_put_i64(w, "expires_ms", near->pool->until_ms);
		json_object_end(w);
	}
}

static void write_match(
	struct json_writer *w, const struct pool_waiting *pools, size_t count, const struct pool_shape *wanted)
{
	struct near nearest[NEAR_MAX];
	const struct pool_waiting *match = NULL;
	size_t near_count = 0;

	for (size_t i = 0; i < count; i++) {
		struct near near = {.pool = &pools[i]};
		if (!pool_shape_parse(&near.shape, pools[i].fields))
			continue;
		near.differences = pool_shape_count_differences(&near.shape, wanted);
		if (!near.differences)
			match = &pools[i];
		else
			keep_near(nearest, &near_count, &near);
	}
	json_key(w, "match");
	if (match) {
		json_object(w);
		json_put_i64(w, "pool", match->pool_id);
		json_put_span(w, "job", match->job);
		json_put_i64(w, "expires_ms", match->until_ms);
		json_object_end(w);
	} else {
		json_null(w);
	}
	json_key(w, "near");
	json_array(w);
	for (size_t i = 0; !match && i < near_count; i++)
		write_near(w, &nearest[i], wanted);
	json_array_end(w);
}

enum status api_pool_match(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	AUTO(json) document = NULL;
	struct json_writer w = api_reply(response);
	struct pool_waiting *pools;
	struct pool_shape wanted;
	size_t count;

	(void)context;
	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &document, err));
	TRY(pool_shape_read(&wanted, document, arena, err));
	if (!wanted.is_whole)
		return error_set_field(err, ERR_SEMANTIC, "ResourceConfig",
			"ResourceConfig must say InstanceType and InstanceCount; mixed clusters (InstanceGroups) and spot"
			" instances (EnableManagedSpotTraining) have no warm pools");
	TRY(store_read_pools_waiting(own->reader, arena, clock_wall_ms(), SHAPES_MAX, &pools, &count, err));
	json_object(&w);
	write_match(&w, pools, count, &wanted);
	json_object_end(&w);
	return buf_status(&response->body, err);
}
