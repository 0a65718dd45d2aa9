/* Costs and lost steps as members of an answer: what is not known is null, and a sum says what it leaves out. */
#include "api/core/money.h"

#include "base/json/json_write.h"
#include "pipeline/goodput/goodput.h"
#include "state/figures.h"
#include "store/admin.h"

#include <math.h>

enum { TYPES_MAX = 1000 };

static const double hour_ms = 3600000;

void api_put_known(struct json_writer *w, const char *key, double value)
{
	json_key(w, key);
	if (isnan(value))
		json_null(w);
	else
		json_double(w, value);
}

void api_put_disk_free(struct json_writer *w, const struct pipeline_figures *figures)
{
	uint64_t free_bytes = atomic_load(&figures->disk_free_bytes);

	json_key(w, "disk_free_bytes");
	if (free_bytes == STORE_FREE_UNKNOWN)
		json_null(w);
	else
		json_i64(w, (int64_t)free_bytes);
}

void api_put_seconds(struct json_writer *w, const char *key, int64_t ms)
{
	json_key(w, key);
	if (ms < 0)
		json_null(w);
	else
		json_i64(w, ms / 1000);
}

void api_put_cost(struct json_writer *w, const char *key, int64_t cost)
{
	json_key(w, key);
	if (cost == STORE_NO_COST)
		json_null(w);
	else
		json_double(w, (double)cost / 1e6);
}

void api_put_day_costs(struct json_writer *w, const struct goodput_day *day, bool has_prices)
{
	bool is_known = day->cost || (has_prices && !day->unpriced_ms);

	api_put_cost(w, "cost", is_known ? day->cost : STORE_NO_COST);
	api_put_cost(w, "lost_cost", is_known ? day->lost_cost : STORE_NO_COST);
	json_put_double(w, "billed_node_hours", (double)day->billed_ms / hour_ms);
	json_put_double(w, "unpriced_node_hours", (double)day->unpriced_ms / hour_ms);
	json_put_double(w, "estimated_node_hours", (double)day->estimated_ms / hour_ms);
}

enum status api_put_deleted_costs(struct store_reader *reader, struct arena *arena, struct span currency, int64_t first,
	int64_t last, struct json_writer *w, struct error *err)
{
	struct deleted_cost *rows;
	size_t count;

	TRY(store_read_deleted_costs(reader, arena, currency, first, last, &rows, &count, err));
	if (!count)
		return OK;
	json_key(w, "other_currencies");
	json_array(w);
	for (size_t i = 0; i < count; i++) {
		json_object(w);
		json_put_span(w, "currency", rows[i].currency);
		api_put_cost(w, "cost", rows[i].cost);
		api_put_cost(w, "lost_cost", rows[i].lost_cost);
		json_object_end(w);
	}
	json_array_end(w);
	return OK;
}

static bool was_before(const struct span *types, size_t at, struct span type)
{
	for (size_t i = 0; i < at; i++)
		for (struct span rest = types[i], other; rest.len && span_next(&rest, ' ', &other);)
			if (span_equal(other, type))
				return true;
	return false;
}

enum status api_put_unpriced_types(struct store_reader *reader, struct arena *arena, struct span currency,
	int64_t first, int64_t last, struct json_writer *w, struct error *err)
{
	struct span *types;
	size_t count;

	TRY(store_read_unpriced_types(reader, arena, currency, first, last, TYPES_MAX, &types, &count, err));
	json_key(w, "unpriced_types");
	json_array(w);
	for (size_t i = 0; i < count; i++)
		for (struct span rest = types[i], type; rest.len && span_next(&rest, ' ', &type);)
			if (!was_before(types, i, type))
				json_span(w, type);
	json_array_end(w);
	return OK;
}

void api_put_lost_steps(struct json_writer *w, int64_t known, uint64_t unknown, uint64_t breaks)
{
	json_key(w, "lost_steps");
	if (breaks && unknown == breaks)
		json_null(w);
	else
		json_i64(w, known);
	if (unknown)
		json_put_i64(w, "lost_steps_unknown", (int64_t)unknown);
}
