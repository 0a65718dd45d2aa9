/* Job: raw=true, or CSV of points. Ownership and threads: as api.h. */
#pragma once

#include "api/core/api_state.h"
#include "read/charts/chart_query.h"

enum status api_points_raw(struct api *api, struct api_worker *worker, const struct http_request *request,
	const struct chart_query *query, bool is_csv, struct http_response *response, struct error *err) MUST_CHECK;
