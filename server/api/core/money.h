/* Job: what is not known is null. Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_write.h"
#include "store/store.h"

struct goodput_day;
struct pipeline_figures;
void api_put_known(struct json_writer *w, const char *key, double value); /* NaN: it is not */
/* disk_free_bytes, where the database can say it. */
void api_put_disk_free(struct json_writer *w, const struct pipeline_figures *figures);
void api_put_seconds(struct json_writer *w, const char *key, int64_t ms); /* whole ones; below 0: not known */
void api_put_cost(struct json_writer *w, const char *key, int64_t cost);
/* cost, lost_cost, billed_node_hours, unpriced_node_hours, estimated_node_hours: of a day, or of a sum of days. */
void api_put_day_costs(struct json_writer *w, const struct goodput_day *day, bool has_prices);
/* unpriced_types: those whose hours on these days have no price. */
enum status api_put_unpriced_types(struct store_reader *reader, struct arena *arena, struct span currency,
	int64_t first, int64_t last, struct json_writer *w, struct error *err) MUST_CHECK;
/* other_currencies, where there are any: what deleted jobs cost on these days, in no sum of them. */
enum status api_put_deleted_costs(struct store_reader *reader, struct arena *arena, struct span currency, int64_t first,
	int64_t last, struct json_writer *w, struct error *err) MUST_CHECK;
/* Of so many breaks, some of which are not known in that. */
void api_put_lost_steps(struct json_writer *w, int64_t known, uint64_t unknown, uint64_t breaks);
