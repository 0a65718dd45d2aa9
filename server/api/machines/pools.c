/* Warm pools: which there are, each job's turn, and which one a job would get. */
#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/money.h"
#include "api/core/request.h"
#include "api/machines/pool_near.h"
#include "base/clock.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "fleet/pool.h"
#include "fleet/pool_shape.h"
#include "model/jobs/by_hand.h"
#include "pipeline/goodput/goodput.h"
#include "pipeline/life/pools.h"
#include "store/jobs.h"
#include "store/pools.h"

#include <math.h>
#include <stdio.h>

enum { LIMIT_DEFAULT = 50, LIMIT_MAX = 1000, SHAPES_MAX = 10000 };

/* ---- what a pool is worth ---- */

struct worth {
	int64_t idle_ms;
	int64_t saved_ms;
	int64_t warm, unknown; /* jobs that got a waiting cluster; of these it is not known what that saved */
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
	if (row->position && (row->startup_ms < 0 || cold_ms < 0))
		worth->unknown++;
	else if (row->position && cold_ms > row->startup_ms)
		worth->saved_ms += cold_ms - row->startup_ms;
	worth->warm += row->position > 0;
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
	api_put_seconds(w, "startup_seconds", row->startup_ms);
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
	TRY(pool_cold_startup_ms(worker->reader, rows[0].shape, &cold_ms, err));
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
	bool is_saving_known = !worth.warm || worth.unknown < worth.warm;
	api_put_seconds(w, "saved_seconds", is_saving_known ? worth.saved_ms : -1);
	api_put_known(w, "idle_cost", worth.idle_cost);
	json_put_span(w, "currency", prices->list.currency);
	if (isnan(worth.idle_cost))
		goodput_put_unpriced(w, prices->instance.len ? prices->instance : SPAN(STORE_NO_TYPE));
	api_put_seconds(w, "cold_startup_seconds", cold_ms);
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

/* What else a job runs: SageMaker gives it the cluster all the same. */
static struct span image_of(const struct json *document)
{
	struct span image = json_string_of(json_get_path(document, "AlgorithmSpecification.TrainingImage"));

	return image.len ? image : json_string_of(json_get_path(document, "AlgorithmSpecification.AlgorithmName"));
}

static enum status write_differences(struct api_worker *worker, struct arena *arena, struct span job,
	const struct json *wanted, struct json_writer *w, struct error *err)
{
	AUTO(json) document = NULL;
	struct job_row row;

	enum status status = store_read_job(worker->reader, arena, job, &row, err);
	if (status == ERR_NOT_FOUND) /* it was deleted since */
		return OK;
	TRY(status);
	TRY(json_parse(&document, row.document, err));
	if (span_equal(image_of(document), image_of(wanted)))
		return OK;
	json_key(w, "differs");
	json_array(w);
	json_object(w);
	json_put_text(w, "field", "AlgorithmSpecification.TrainingImage");
	json_put_span(w, "wanted", image_of(wanted));
	json_put_span(w, "has", image_of(document));
	json_put_bool(w, "blocking", false);
	json_put_text(w, "text", "differs, not blocking");
	json_object_end(w);
	json_array_end(w);
	return OK;
}

static enum status write_match(struct api_worker *worker, struct arena *arena, const struct json *document,
	struct json_writer *w, const struct pool_waiting *pools, size_t count, const struct pool_shape *wanted,
	struct error *err)
{
	struct pool_near nearest[POOL_NEAR_MAX];
	const struct pool_waiting *match = NULL;
	size_t near_count = 0;

	for (size_t i = 0; i < count; i++) {
		struct pool_near near = {
			.pool_id = pools[i].pool_id, .job = pools[i].job, .until_ms = pools[i].until_ms};
		if (!pool_shape_parse(&near.shape, pools[i].fields))
			continue;
		near.differences = pool_shape_count_differences(&near.shape, wanted);
		if (!near.differences)
			match = &pools[i];
		else
			pool_near_keep(nearest, &near_count, &near);
	}
	json_key(w, "match");
	if (match) {
		json_object(w);
		json_put_i64(w, "pool", match->pool_id);
		json_put_span(w, "job", match->job);
		json_put_i64(w, "expires_ms", match->until_ms);
		TRY(write_differences(worker, arena, match->job, document, w, err));
		json_object_end(w);
	} else {
		json_null(w);
	}
	json_key(w, "near");
	json_array(w);
	for (size_t i = 0; !match && i < near_count; i++)
		pool_near_write(w, &nearest[i], wanted);
	json_array_end(w);
	return OK;
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
	TRY(by_hand_settle(document, err));
	TRY(pool_shape_read(&wanted, document, arena, err));
	if (!wanted.is_whole)
		return error_set_field(err, ERR_SEMANTIC, "ResourceConfig",
			"ResourceConfig must say InstanceType and InstanceCount; mixed clusters (InstanceGroups) and spot"
			" instances (EnableManagedSpotTraining) have no warm pools");
	TRY(store_read_pools_waiting(own->reader, arena, clock_wall_ms(), SHAPES_MAX, &pools, &count, err));
	json_object(&w);
	TRY(write_match(own, arena, document, &w, pools, count, &wanted, err));
	json_object_end(&w);
	return buf_status(&response->body, err);
}
