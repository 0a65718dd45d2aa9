/* Job: which points a request asks for; "" is the default. Ownership and threads: as api.h. */
#pragma once

#include "http/http.h"
#include "read/charts/chart_query.h"

enum status api_parse_axis(struct span x, struct chart_query *query, struct error *err) MUST_CHECK;
/* from= and to=, as its axis counts. */
enum status api_read_window(
	const struct http_request *request, struct chart_query *query, struct error *err) MUST_CHECK;
enum status api_parse_attempts(struct span attempts, struct chart_query *query, struct error *err) MUST_CHECK;
