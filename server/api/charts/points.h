/* Job: what other ways to a chart share; "" is the default. Ownership and threads: as api.h. */
#pragma once

#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "http/http.h"
#include "read/charts/chart.h"
#include "read/charts/chart_query.h"

enum { CHART_BUCKETS_DEFAULT = 1000, CHART_BUCKETS_MAX = 10000 };
enum status api_parse_axis(struct span x, struct chart_query *query, struct error *err) MUST_CHECK;
/* from= and to=, as its axis counts. */
enum status api_read_window(
	const struct http_request *request, struct chart_query *query, struct error *err) MUST_CHECK;
enum status api_parse_attempts(struct span attempts, struct chart_query *query, struct error *err) MUST_CHECK;
/* A list of names as a set for api_write_chart; NULL: all. */
enum status api_parse_columns(const struct json *names, unsigned *columns, struct error *err) MUST_CHECK;
void api_write_chart(struct json_writer *w, const struct chart *chart, unsigned columns);
