/* Job: the sums of the fleet as they are read for a reply, and the quotas over them. Internal to api/. Threads: workers. */
#pragma once

#include "api/core/api_state.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "store/fleet_rows.h"

struct fleet_state {
	struct fleet_total *totals;
	size_t count;
	struct quota_row *quotas;
	size_t quota_count;
	struct fleet_now now;
	struct silent_job *silent; /* some of them */
	size_t silent_count;
};
enum status fleet_state_read(const struct api *api, struct store_reader *reader, struct arena *arena, int64_t now_ms,
	struct fleet_state *out, struct error *err) MUST_CHECK;
/* NULL: nothing was ever counted there. */
const struct fleet_total *fleet_total_find(const struct fleet_state *fleet, const char *name, struct span type);
/* "quotas":[…] into an object that is open. */
void quotas_write(const struct fleet_state *fleet, int64_t now_ms, struct json_writer *w);
/* The same of those that a job's document would touch, with what it needs and what is left. */
enum status quotas_write_check(const struct api *api, struct store_reader *reader, struct arena *arena,
	const struct json *document, int64_t now_ms, struct json_writer *w, struct error *err) MUST_CHECK;
