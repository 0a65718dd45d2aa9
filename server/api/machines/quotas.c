/* Quotas, as SageMaker has them: configured, used now, highest seen; and whether a job would stay within them. */
#include "api/machines/quotas.h"

#include "api/core/api_state.h"
#include "api/core/handlers.h"
#include "api/core/request.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "fleet/pool_shape.h"
#include "state/execute.h"
#include "state/heard.h"
#include "store/pools.h"

#include <stdio.h>

enum { TYPE_MAX_BYTES = 128, QUOTAS_MAX = 1000, SHAPES_MAX = 10000, RUNTIME_DEFAULT_S = 86400, SILENT_SHOWN = 10 };

enum quota { QUOTA_RUN, QUOTA_ALL, QUOTA_JOB, QUOTA_TYPE, QUOTA_POOL, QUOTA_COUNT };

static const struct quota_kind {
	const char *name;
	const char *total; /* whose highest value counts, and whose value is what is used */
	bool is_by_type;
} kinds[QUOTA_COUNT] = {
	[QUOTA_RUN] = {"longest_run_seconds", "run_ms", false},
	[QUOTA_ALL] = {"instances", "held_nodes", false},
	[QUOTA_JOB] = {"instances_per_job", "nodes_of_a_job", false},
	[QUOTA_TYPE] = {"instances_per_type", "held_nodes", true},
	[QUOTA_POOL] = {"warm_pool_instances", "pool_nodes", true},
};

const struct fleet_total *fleet_total_find(const struct fleet_state *fleet, const char *name, struct span type)
{
	for (size_t i = 0; i < fleet->count; i++)
		if (span_equal(fleet->totals[i].name, span_from(name)) &&
			span_equal(fleet->totals[i].instance_type, type))
			return &fleet->totals[i];
	return NULL;
}

enum status fleet_state_read(const struct api *api, struct store_reader *reader, struct arena *arena, int64_t now_ms,
	struct fleet_state *out, struct error *err)
{
	int64_t silent_ms = heard_silent_before(api->options.pipeline, now_ms);

	TRY(store_reader_begin(reader, err));
	enum status status = store_read_fleet_totals(reader, arena, &out->totals, &out->count, err);
	if (status == OK)
		status = store_read_quotas(reader, arena, &out->quotas, &out->quota_count, err);
	if (status == OK)
		status = store_read_fleet_now(reader, silent_ms, &out->now, err);
	if (status == OK)
		status = store_read_silent_jobs(
			reader, arena, silent_ms, SILENT_SHOWN, &out->silent, &out->silent_count, err);
	store_reader_end(reader);
	return status;
}

/* ---- GET ---- */

static int64_t longest_run_s(const struct fleet_state *fleet, int64_t now_ms)
{
	int64_t since_ms = fleet->now.oldest_started_ms;
	int64_t longest_ms = since_ms && since_ms < now_ms ? now_ms - since_ms : 0;

	return (longest_ms > fleet->now.longest_over_ms ? longest_ms : fleet->now.longest_over_ms) / 1000;
}

static int64_t used_now(const struct fleet_state *fleet, enum quota quota, struct span type, int64_t now_ms)
{
	const struct fleet_total *total = fleet_total_find(fleet, kinds[quota].total, type);

	if (quota == QUOTA_RUN)
		return longest_run_s(fleet, now_ms);
	if (quota == QUOTA_JOB)
		return fleet->now.most_nodes;
	return total ? total->value : 0;
}

/* Negative: none. */
static int64_t configured(const struct fleet_state *fleet, enum quota quota, struct span type)
{
	for (size_t i = 0; i < fleet->quota_count; i++)
		if (span_equal(fleet->quotas[i].name, span_from(kinds[quota].name)) &&
			span_equal(fleet->quotas[i].instance_type, type))
			return fleet->quotas[i].configured;
	return -1;
}

static void write_figures(
	const struct fleet_state *fleet, enum quota quota, struct span type, int64_t now_ms, struct json_writer *w)
{
	const struct fleet_total *total = fleet_total_find(fleet, kinds[quota].total, type);
	int64_t limit = configured(fleet, quota, type), used = used_now(fleet, quota, type, now_ms);
	int64_t highest = total ? total->highest / (quota == QUOTA_RUN ? 1000 : 1) : 0;
	bool is_now = used > highest;

	json_put_text(w, "quota", kinds[quota].name);
	if (type.len)
		json_put_span(w, "instance_type", type);
	if (limit >= 0)
		json_put_i64(w, "configured", limit);
	json_put_i64(w, "used", used);
	json_put_i64(w, "highest", is_now ? used : highest);
	if (is_now || (total && total->highest_ms))
		json_put_i64(w, "highest_ms", is_now ? now_ms : total->highest_ms);
}

static void write_one(
	const struct fleet_state *fleet, enum quota quota, struct span type, int64_t now_ms, struct json_writer *w)
{
	json_object(w);
	write_figures(fleet, quota, type, now_ms, w);
	json_object_end(w);
}

/* Types that were ever used, and those that only a quota names. */
static void write_by_type(const struct fleet_state *fleet, enum quota quota, int64_t now_ms, struct json_writer *w)
{
	for (size_t i = 0; i < fleet->count; i++)
		if (span_equal(fleet->totals[i].name, span_from(kinds[quota].total)) &&
			fleet->totals[i].instance_type.len)
			write_one(fleet, quota, fleet->totals[i].instance_type, now_ms, w);
	for (size_t i = 0; i < fleet->quota_count; i++)
		if (span_equal(fleet->quotas[i].name, span_from(kinds[quota].name)) &&
			!fleet_total_find(fleet, kinds[quota].total, fleet->quotas[i].instance_type))
			write_one(fleet, quota, fleet->quotas[i].instance_type, now_ms, w);
}

void quotas_write(const struct fleet_state *fleet, int64_t now_ms, struct json_writer *w)
{
	json_key(w, "quotas");
	json_array(w);
	for (int i = 0; i < QUOTA_COUNT; i++) {
		if (kinds[i].is_by_type)
			write_by_type(fleet, (enum quota)i, now_ms, w);
		else
			write_one(fleet, (enum quota)i, SPAN(""), now_ms, w);
	}
	json_array_end(w);
}

enum status api_quotas_get(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api_worker *own = worker;
	AUTO(arena) arena = NULL;
	struct json_writer w = api_reply(response);
	int64_t now_ms = http_request_arrival_ms(request);
	struct fleet_state fleet;

	TRY(api_arena(&arena, err));
	TRY(fleet_state_read(context, own->reader, arena, now_ms, &fleet, err));
	json_object(&w);
	quotas_write(&fleet, now_ms, &w);
	json_object_end(&w);
	return buf_status(&response->body, err);
}

/* ---- PUT ---- */

struct quota_change {
	struct quota_row *rows;
	size_t count;
};

static enum status write_change(void *context, struct store_tx *tx, struct error *err)
{
	const struct quota_change *change = context;

	for (size_t i = 0; i < change->count; i++)
		TRY(store_put_quota(tx, &change->rows[i], err));
	return OK;
}

static enum status find_kind(struct span name, const char *field, enum quota *quota, struct error *err)
{
	for (int i = 0; i < QUOTA_COUNT; i++)
		if (span_equal(name, span_from(kinds[i].name))) {
			*quota = (enum quota)i;
			return OK;
		}
	return error_set_field(err, ERR_SEMANTIC, field,
		"quota '%.*s' is none of longest_run_seconds, instances, instances_per_job, instances_per_type,"
		" warm_pool_instances",
		(int)(name.len < 80 ? name.len : 80), name.ptr);
}

static enum status read_configured(const struct json *item, const char *field, int64_t *out, struct error *err)
{
	const struct json *node = json_get(item, "configured");
	double value;

	*out = -1;
	if (node && json_kind(node) == JSON_NULL)
		return OK;
	if (!json_number_of(node, &value) || !(value >= 0 && value <= INT32_MAX) || value != (double)(int64_t)value)
		return error_set_field(err, ERR_SEMANTIC, field,
			"configured must be a whole number from 0 to %d, or null to take the quota away", INT32_MAX);
	*out = (int64_t)value;
	return OK;
}

static enum status read_quota(const struct json *item, size_t number, struct quota_row *row, struct error *err)
{
	struct span name = SPAN("");
	char field[48];
	enum quota quota = QUOTA_ALL;

	snprintf(field, sizeof field, "quotas[%zu]", number);
	if (json_kind(item) != JSON_OBJECT)
		return error_set_field(err, ERR_SEMANTIC, field,
			"%s must be an object, {\"quota\": \"instances\", \"configured\": 64}", field);
	*row = (struct quota_row){.instance_type = SPAN("")};
	TRY(json_want_string(item, "quota", &name, err));
	TRY(json_want_string(item, "instance_type", &row->instance_type, err));
	snprintf(field, sizeof field, "quotas[%zu].quota", number);
	TRY(find_kind(name, field, &quota, err));
	row->name = span_from(kinds[quota].name);
	snprintf(field, sizeof field, "quotas[%zu].instance_type", number);
	if (kinds[quota].is_by_type != (row->instance_type.len > 0))
		return error_set_field(err, ERR_SEMANTIC, field, "%s is %s", kinds[quota].name,
			kinds[quota].is_by_type ? "by instance_type, which is missing" : "of all instance types");
	if (row->instance_type.len > TYPE_MAX_BYTES)
		return error_set_field(err, ERR_SEMANTIC, field, "instance_type has %zu bytes; it takes %d",
			row->instance_type.len, TYPE_MAX_BYTES);
	snprintf(field, sizeof field, "quotas[%zu].configured", number);
	return read_configured(item, field, &row->configured, err);
}

/* {"quotas":[{"quota","instance_type"?,"configured"}]}: those it names. */
enum status api_quotas_put(void *context, void *worker, const struct http_request *request,
	struct http_response *response, struct error *err)
{
	struct api *api = context;
	AUTO(arena) arena = NULL;
	AUTO(json) body = NULL;
	struct quota_change change = {0};

	TRY(api_all_teams(request, "quotas are those", err));
	TRY(api_arena(&arena, err));
	TRY(api_body_object(request, &body, err));
	const struct json *list = json_get(body, "quotas");
	size_t count = list ? json_count(list) : 0;
	if (!list || json_kind(list) != JSON_ARRAY || !count || count > QUOTAS_MAX || json_count(body) != 1)
		return error_set_field(err, ERR_SEMANTIC, "quotas",
			"the body is {\"quotas\": [{\"quota\": \"instances\", \"configured\": 64}, …]}, at most %d",
			QUOTAS_MAX);
	change.rows = arena_alloc(arena, count * sizeof *change.rows);
	if (!change.rows)
		return error_no_memory(err);
	for (const struct json *item = json_first(list); item; item = json_next(item), change.count++)
		TRY(read_quota(item, change.count, &change.rows[change.count], err));
	TRY(writer_execute(api->options.pipeline, write_change, &change, err));
	return api_quotas_get(context, worker, request, response, err);
}

/* ---- would a job stay within them ---- */

struct need {
	int64_t instances;
	int64_t reused; /* of them, those of a cluster that waits for it */
	int64_t kept; /* after its end */
	int64_t run_s;
	struct span type;
};

static int64_t number_at(const struct json *document, const char *path, int64_t fallback)
{
	double value;

	return json_number_of(json_get_path(document, path), &value) && value >= 0 && value < INT32_MAX ? (int64_t)value
													: fallback;
}

static enum status read_need(struct store_reader *reader, struct arena *arena, const struct json *document,
	int64_t now_ms, struct need *need, struct error *err)
{
	struct pool_waiting *pools;
	struct pool_shape shape;
	size_t count;

	*need = (struct need){.instances = number_at(document, "ResourceConfig.InstanceCount", 0),
		.run_s = number_at(document, "StoppingCondition.MaxRuntimeInSeconds", RUNTIME_DEFAULT_S),
		.type = json_string_of(json_get_path(document, "ResourceConfig.InstanceType"))};
	TRY(pool_shape_read(&shape, document, arena, err));
	if (!shape.is_whole)
		return OK;
	need->kept = shape.keep_alive_ms > 0 ? need->instances : 0;
	TRY(store_read_pools_waiting(reader, arena, now_ms, SHAPES_MAX, &pools, &count, err));
	for (size_t i = 0; i < count; i++)
		if (pools[i].shape == shape.hash)
			need->reused = need->instances;
	return OK;
}

static void write_need(const struct fleet_state *fleet, enum quota quota, struct span type, int64_t needed,
	int64_t now_ms, struct json_writer *w)
{
	int64_t limit = configured(fleet, quota, type);
	/* those of one run or job do not add up over the fleet */
	int64_t used = quota == QUOTA_RUN || quota == QUOTA_JOB ? 0 : used_now(fleet, quota, type, now_ms);
	int64_t left = limit > used ? limit - used : 0;
	char text[160];

	if (limit < 0)
		return;
	snprintf(text, sizeof text, "this job needs %lld, %lld %s left", (long long)needed, (long long)left,
		left == 1 ? "is" : "are");
	json_object(w);
	write_figures(fleet, quota, type, now_ms, w);
	json_put_i64(w, "needed", needed);
	json_put_i64(w, "left", left);
	json_put_bool(w, "fits", needed <= left);
	json_put_text(w, "text", text);
	json_object_end(w);
}

enum status quotas_write_check(const struct api *api, struct store_reader *reader, struct arena *arena,
	const struct json *document, int64_t now_ms, struct json_writer *w, struct error *err)
{
	struct fleet_state fleet;
	struct need need;

	TRY(fleet_state_read(api, reader, arena, now_ms, &fleet, err));
	TRY(read_need(reader, arena, document, now_ms, &need, err));
	int64_t more = need.instances - need.reused;
	json_key(w, "quotas");
	json_array(w);
	write_need(&fleet, QUOTA_RUN, SPAN(""), need.run_s, now_ms, w);
	write_need(&fleet, QUOTA_ALL, SPAN(""), more, now_ms, w);
	write_need(&fleet, QUOTA_JOB, SPAN(""), need.instances, now_ms, w);
	write_need(&fleet, QUOTA_TYPE, need.type, more, now_ms, w);
	write_need(&fleet, QUOTA_POOL, need.type, need.kept, now_ms, w);
	json_array_end(w);
	return OK;
}
